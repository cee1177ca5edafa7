"""The converted model against the engine that the weights come with."""

import sys
from pathlib import Path

import numpy as np
import pytest

from memsrv.adapters.e5 import engine as e5
from memsrv.adapters.e5.tokenizer import Tokenizer
from memsrv.adapters.e5.weights import Weights, decode
from memsrv.adapters.embedder_bundled import NanoEngine
from tests.adapters.e5.texts import SCRIPTS


@pytest.fixture(scope="module")
def engine(weights: Weights, tokenizer: Tokenizer, models: Path) -> e5.OnnxEngine:
    model, _, was_kept = e5.load_or_convert(weights, models)
    assert was_kept
    return e5.OnnxEngine(weights, tokenizer, model)


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_vectors_agree_with_the_original_engine(text: str, engine: e5.OnnxEngine, original: NanoEngine) -> None:
    for prefix in ("query: ", "passage: "):
        assert engine.vector(prefix + text) @ original.vector(prefix + text) > 0.995


def test_no_pair_of_products_overflows_16_bits() -> None:
    largest_activation = e5.ACTIVATION_ZERO + e5.ACTIVATION_MAX
    assert largest_activation * e5.NARROW * 2 < 2**15


def test_narrow_weights_agree_with_the_original_engine_too(weights: Weights, tokenizer: Tokenizer, original: NanoEngine) -> None:
    engine = e5.OnnxEngine(weights, tokenizer, e5.convert(weights, e5.NARROW))
    for text in list(SCRIPTS.values())[::4]:
        assert engine.vector("passage: " + text) @ original.vector("passage: " + text) > 0.995


def test_a_block_decodes_as_it_does_by_hand() -> None:
    block = np.zeros((1, 18), np.uint8)
    block[0, :2] = np.array([0.5], "<f2").view(np.uint8)
    block[0, 2] = 0x1F  # weight 0 is 15 - 8, weight 16 is 1 - 8
    row = decode(block)
    assert row.shape == (32,)
    assert (row[0], row[1], row[16]) == (3.5, -4, -3.5)


@pytest.mark.parametrize(
    "content", [b"", b"E5S1", b"E5S1" + b"\1" * 60, b"nonsense" * 100], ids=["empty", "magic", "filled", "other"]
)
def test_a_file_of_another_layout_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"weights|empty"):
        Weights(path)


def test_a_weights_file_cut_short_is_refused(tmp_path: Path, weights: Weights) -> None:
    path = tmp_path / "weights.bin"
    with weights.path.open("rb") as file:
        path.write_bytes(file.read(weights.path.stat().st_size // 2))
    with pytest.raises(ValueError, match=r"lies outside the file|cut short"):
        Weights(path)


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    e5.keep(b"a model", tmp_path / "new" / "model.onnx")
    assert e5.kept_model(tmp_path / "new" / "model.onnx") == b"a model"


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    taken = tmp_path / "model.onnx"
    taken.mkdir()
    with pytest.raises(OSError, match=r"."):
        e5.keep(b"a model", taken)
    assert list(tmp_path.iterdir()) == [taken]


def test_a_model_that_onnx_runtime_refuses_is_a_runtime_error(weights: Weights, tokenizer: Tokenizer) -> None:
    with pytest.raises(RuntimeError, match="ONNX Runtime"):
        e5.OnnxEngine(weights, tokenizer, b"not a model")


def test_the_model_is_not_held_beside_what_is_made_of_it(weights: Weights) -> None:
    model = e5.convert(weights)
    before = sys.getrefcount(model)
    session = e5.new_session(model)
    assert sys.getrefcount(model) == before
    assert session.get_outputs()
