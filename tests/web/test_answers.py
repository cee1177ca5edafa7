"""What the page /docs tells of the answers is what they are."""

import pytest
from pydantic import BaseModel

from memsrv.web import answers


def conforms(body: object, model: type[BaseModel]) -> None:
    """Every field that is told is there with its type, and none that is not told (but where the client's own are)."""
    model.model_validate(body)
    if model.model_config.get("extra") != "allow":
        assert set(body) == set(model.model_fields)


@pytest.fixture(scope="module")
async def talk(http) -> str:
    messages = [{"role": "user", "content": f"The bell of bike {n} is in drawer {n}.", "id": f"m{n}"} for n in range(30)]
    await http.put("/context/told", json={"owner": "ada", "window": {"size": 4}})
    await http.put("/context/told/meta", json={"goal": "Sell bikes", "colour": "red"})
    await http.post("/context/told/messages", json={"messages": messages}, params={"wait_ms": 30000})
    return "/context/told"


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("", answers.SessionStateOut),
        ("/messages?limit=3", answers.MessagesOut),
        ("/messages/m3", answers.MessageWithChunksOut),
        ("/recall?query=bell", answers.RecallsOut),
        ("/prompt?query=bell", answers.PromptOut),
        ("/summaries", answers.SummariesOut),
        ("/meta", answers.MetaOut),
        ("/pins", answers.PinsOut),
    ],
)
async def test_an_answer_is_what_the_page_tells(http, talk, path, model):
    answer = await http.get(talk + path)
    assert answer.status_code == 200
    conforms(answer.json(), model)


async def test_the_parts_of_answers_are_what_the_page_tells(http, talk):
    receipt = (await http.get(f"{talk}/prompt?query=bell&mode=retrieval")).json()["receipt"]
    conforms(receipt, answers.ReceiptOut)
    assert receipt["recall"]
    for hit in receipt["recall"]:
        conforms(hit, answers.RecallOut)
    for region in receipt["regions"]:
        conforms(region, answers.RegionOut)
    usage = {"receipt": receipt["id"], "prompt_tokens": sum(region["tokens"] for region in receipt["regions"]) + 3}
    conforms((await http.post(f"{talk}/usage", json=usage)).json(), answers.UsageOut)
    conforms((await http.get("/context?owner=ada")).json(), answers.SessionsOut)
    conforms((await http.post(f"{talk}/pins", json={"text": "A bell costs 9 euro."})).json(), answers.PinOut)
    for kept in (await http.get(f"{talk}/receipts")).json()["receipts"]:
        answers.ReceiptOut.model_validate(kept)


async def test_every_route_tells_the_shape_of_its_answer(http):
    for path, methods in (await http.get("/openapi.json")).json()["paths"].items():
        for method, operation in methods.items():
            good = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
            if path.startswith("/context") and not path.endswith("/export"):  # lines, each a message
                assert "$ref" in good["content"]["application/json"]["schema"], (method, path)
