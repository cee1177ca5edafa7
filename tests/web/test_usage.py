"""What a provider counted moves the budgets for its model, within bounds, and those of no one else."""

from typing import Any

import pytest
from httpx import AsyncClient, Response

from memsrv.web import answers
from tests.web.test_answers import conforms

BUDGET = 1200
LONG = "The wheels of the red bicycle were trued on a rainy morning in the workshop by the canal. " * 3


async def talk(http: AsyncClient, session: str, count: int = 40) -> str:
    """A session of more than fits into the budget, in mode full; its path."""
    messages = [{"role": ("user", "assistant")[n % 2], "content": f"{n}: {LONG}"} for n in range(count)]
    await http.put(f"/context/{session}", json={"mode": "full"})
    assert (await http.post(f"/context/{session}/messages", json={"messages": messages})).status_code == 201
    return f"/context/{session}"


async def prompt(http: AsyncClient, path: str, model: str | None, budget: int = BUDGET) -> dict[str, Any]:
    answer = await http.get(f"{path}/prompt", params={"budget": budget} | ({"model": model} if model else {}))
    assert answer.status_code == 200, answer.text
    return answer.json()


async def report(http: AsyncClient, path: str, **body: Any) -> Response:
    return await http.post(f"{path}/usage", json=body)


async def test_a_budget_holds_in_the_count_of_a_provider_that_counts_more(http):
    path = await talk(http, "usage-more")
    first = await prompt(http, path, "counts-more")
    assert first["receipt"]["factor"] == 1.0
    told = await report(http, path, receipt=first["receipt"]["id"], prompt_tokens=2 * first["total_tokens"])
    assert told.status_code == 200
    conforms(told.json(), answers.UsageOut)
    assert (told.json()["model"], told.json()["factor"], told.json()["counted"]) == ("counts-more", 2.0, True)
    second = await prompt(http, path, "counts-more")
    assert second["receipt"]["factor"] == 2.0
    assert second["budget_tokens"] == BUDGET
    assert BUDGET // 4 < second["total_tokens"] <= BUDGET // 2
    assert (await prompt(http, path, "another-model"))["total_tokens"] == first["total_tokens"]


async def test_a_given_budget_is_no_larger_for_a_provider_that_counts_less(http):
    path = await talk(http, "usage-less")
    first = await prompt(http, path, "counts-less")
    told = await report(http, path, receipt=first["receipt"]["id"], prompt_tokens=first["total_tokens"] * 6 // 10)
    assert told.json()["factor"] == pytest.approx(0.6, abs=0.02)
    second = await prompt(http, path, "counts-less")
    assert second["messages"] == first["messages"]
    assert second["total_tokens"] <= BUDGET


async def test_a_window_is_in_the_tokens_of_its_provider(http):
    path = await talk(http, "usage-window", 400)
    first = (await http.get(f"{path}/prompt", params={"model": "gpt-4-of-usage"})).json()
    assert first["budget_tokens"] == round(8192 * 0.95)
    await report(http, path, receipt=first["receipt"]["id"], prompt_tokens=first["total_tokens"] // 2)
    second = (await http.get(f"{path}/prompt", params={"model": "gpt-4-of-usage"})).json()
    assert second["total_tokens"] <= second["budget_tokens"] == 2 * first["budget_tokens"]
    assert second["total_tokens"] > 1.8 * first["total_tokens"]


async def test_a_budget_that_is_too_small_names_one_that_works_by_the_providers_count(http):
    path = await talk(http, "usage-small")
    first = await prompt(http, path, "counts-thrice")
    await report(http, path, receipt=first["receipt"]["id"], prompt_tokens=3 * first["total_tokens"])
    refused = await http.get(f"{path}/prompt", params={"budget": 20, "model": "counts-thrice"})
    assert (refused.status_code, refused.json()["code"]) == (422, "budget_too_small")
    assert "20 tokens" in refused.json()["message"]
    least = int("".join(filter(str.isdigit, refused.json()["hint"])))
    assert (await prompt(http, path, "counts-thrice", least))["total_tokens"] * 3 <= least
    smaller = await http.get(f"{path}/prompt", params={"budget": least - 1, "model": "counts-thrice"})
    assert smaller.status_code == 422


async def test_the_newest_prompt_for_a_model_is_meant_when_only_the_model_is_named(http):
    path = await talk(http, "usage-model")
    await prompt(http, path, "named-model", 800)
    newest = await prompt(http, path, "named-model")
    await prompt(http, path, "another-model", 800)
    told = (await report(http, path, model="named-model", prompt_tokens=newest["total_tokens"])).json()
    assert (told["receipt"], told["total_tokens"], told["factor"]) == (newest["receipt"]["id"], newest["total_tokens"], 1.0)


@pytest.mark.parametrize("named", [{"receipt": "r123"}, {"model": "gpt-4-that-nothing-was-asked-for"}])
async def test_a_prompt_that_is_not_on_record_is_refused(http, named):
    path = await talk(http, "usage-unknown", 2)
    refused = await report(http, path, prompt_tokens=100, **named)
    assert (refused.status_code, refused.json()["code"]) == (404, "receipt_not_found")


async def test_a_session_that_is_not_there_is_refused(http):
    refused = await report(http, "/context/usage-nowhere", receipt="r", prompt_tokens=100)
    assert (refused.status_code, refused.json()["code"]) == (404, "session_not_found")


@pytest.mark.parametrize(
    "body",
    [
        {"receipt": "r", "prompt_tokens": 0},
        {"receipt": "r", "prompt_tokens": -5},
        {"receipt": "r", "prompt_tokens": 1.5},
        {"receipt": "r", "prompt_tokens": "many"},
        {"receipt": "r", "prompt_tokens": 10**9},
        {"receipt": "r"},
        {"prompt_tokens": 100},
        {"receipt": "r", "model": "m", "prompt_tokens": 100},
        {"model": "", "prompt_tokens": 100},
        {"receipt": "r", "prompt_tokens": 100, "completion_tokens": 5},
    ],
)
async def test_a_report_that_makes_no_sense_is_refused(http, body):
    path = await talk(http, "usage-nonsense", 2)
    assert (await report(http, path, **body)).status_code == 422


async def test_a_report_that_cannot_be_about_the_prompt_changes_nothing(http):
    path = await talk(http, "usage-absurd")
    made = await prompt(http, path, "absurd-model")
    told = await report(http, path, receipt=made["receipt"]["id"], prompt_tokens=made["total_tokens"] * 1000)
    assert (told.status_code, told.json()["counted"], told.json()["factor"]) == (200, False, 1.0)
    assert (await prompt(http, path, "absurd-model"))["messages"] == made["messages"]


async def test_a_tenants_reports_move_no_factor_of_another(tenants):
    paths = {name: await talk(tenants[name], "usage-of-both") for name in ("red", "blue")}
    before = {name: await prompt(tenants[name], paths[name], "gpt-4o") for name in ("red", "blue")}
    receipt = before["red"]["receipt"]["id"]
    assert (await report(tenants["red"], paths["red"], receipt=receipt, prompt_tokens=5 * BUDGET)).status_code == 200
    after = {name: await prompt(tenants[name], paths[name], "gpt-4o") for name in ("red", "blue")}
    assert after["red"]["total_tokens"] < before["red"]["total_tokens"]
    assert after["blue"]["messages"] == before["blue"]["messages"]


async def test_a_receipt_belongs_to_its_session(http):
    path, other = await talk(http, "usage-own"), await talk(http, "usage-other", 2)
    receipt = (await prompt(http, path, "own-model"))["receipt"]["id"]
    assert (await report(http, other, receipt=receipt, prompt_tokens=100)).status_code == 404


async def test_advice_stands_in_the_receipt_and_is_counted(http):
    path = await talk(http, "usage-advice")
    receipt = (await prompt(http, path, None))["receipt"]
    [said] = receipt["advice"]
    conforms(said, answers.AdviceOut)
    assert (said["region"], said["setting"]) == ("window", "mode")
    kept = (await http.get(f"{path}/receipts")).json()["receipts"][0]
    assert (kept["advice"], kept["factor"]) == (receipt["advice"], receipt["factor"])
    assert 'memsrv_prompt_advice_total{region="window"}' in (await http.get("/metrics")).text


async def test_nothing_is_advised_where_all_had_room(http):
    path = await talk(http, "usage-calm", 4)
    assert (await prompt(http, path, None, 8000))["receipt"]["advice"] == []


async def test_the_settings_tell_the_window_of_a_model(http):
    path = await talk(http, "usage-settings", 2)
    made = (await http.get(f"{path}/prompt", params={"model": "acme/workshop-2"})).json()
    assert made["budget_tokens"] == round(5000 * 0.95)
