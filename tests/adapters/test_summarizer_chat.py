"""Summaries by a model on loopback that does as it is told: well, badly, or not at all."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memsrv.adapters.chat_openai import OpenAIChat
from memsrv.adapters.summarizer_chat import LEAST_INPUT_TOKENS, ChatSummarizer
from memsrv.core.relay.providers import Provider
from memsrv.core.summary.asking import Usage
from memsrv.core.summary.summary import rendered
from memsrv.errors import SummarizerDown
from memsrv.model import Heading, Language, Line, Source, Summary, Task
from tests.adapters.chat_server import ChatServer

KEY = "sk-secret-of-this-test"
AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
TRIP = "Goal: see Rome [#1]\nDecided:\n- fly in May [#2]\nConstraints and exclusions:\n- no cars [#3]"
LONG = "Goal: see Rome\nFacts:\n" + "\n".join(f"- fact number {number} about the trip" for number in range(60))
HAN = "目标: 去罗马旅行\n已确认:\n- 五月坐飞机出发\n约束与排除:\n- 绝对不租汽车也不住青年旅舍"
EARLIER = Summary(
    (Line(Heading.GOAL, "see Rome", 1, AT), Line(Heading.CONSTRAINTS, "no cars", 3, AT), Line(Heading.FACTS, "two"))
)


def by_four(text: str) -> int:
    return -(-len(text) // 4)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    server = ChatServer()
    server.otherwise = TRIP
    yield server
    server.close()


class Asked:
    """A summarizer over the server, and what it said that it used."""

    def __init__(self, server: ChatServer, *, defaults: dict[str, Any] | None = None):
        self.used: list[Usage] = []
        self.server = server
        self.defaults = defaults

    async def __call__(self, task: Task) -> Summary:
        chat = OpenAIChat(Provider("main", self.server.url, KEY, model="m1"), wait_s=0.001)
        summarizer = ChatSummarizer({"main": chat}, count=by_four, defaults=self.defaults, on_usage=self.used.append)
        try:
            return await summarizer.summarise(task)
        finally:
            await summarizer.close()
            await chat.close()


@pytest.fixture
def summarise(server: ChatServer) -> Asked:
    return Asked(server)


def said(*texts: str, first: int = 1) -> tuple[Source, ...]:
    return tuple(Source(number, "user", "Anna", AT + timedelta(minutes=number), text) for number, text in enumerate(texts, first))


def task(*texts: str, **fields: Any) -> Task:
    sources = said(*(texts or ("let us see Rome", "we fly in May", "no cars, please")))
    return Task(**({"previous": None, "said": sources, "max_tokens": 200} | fields))


def texts(summary: Summary) -> list[tuple[Heading, str]]:
    return [(line.heading, line.text) for line in summary.lines]


ROME = [(Heading.GOAL, "see Rome"), (Heading.DECISIONS, "fly in May"), (Heading.CONSTRAINTS, "no cars")]


# --- one question -----------------------------------------------------------------------------------------------------


async def test_the_models_lines_become_the_summary_and_know_their_messages(summarise: Asked) -> None:
    summary = await summarise(task())
    assert texts(summary) == ROME
    assert [(line.position, line.sent_at) for line in summary.lines] == [(n, AT + timedelta(minutes=n)) for n in (1, 2, 3)]


async def test_a_number_of_no_message_is_not_believed(server: ChatServer, summarise: Asked) -> None:
    server.script = ["Goal: see Rome [#77]"]
    (line,) = (await summarise(task())).lines
    assert (line.text, line.position, line.sent_at) == ("see Rome", 0, None)


async def test_a_number_of_a_message_that_says_nothing_of_it_is_not_believed(server: ChatServer, summarise: Asked) -> None:
    server.script = ["Goal: see Rome [#2]\nDecided:\n- fly in 2027 [#3]"]
    assert [line.position for line in (await summarise(task())).lines] == [0, 0]


async def test_a_line_that_stays_keeps_its_message(server: ChatServer, summarise: Asked) -> None:
    server.script = ["Goal: see Rome\nDecided:\n- fly in May [#8]\nConstraints:\n- no cars [#3]"]
    summary = await summarise(task(previous=EARLIER, said=said("we fly in May", first=8)))
    assert [(line.position, line.sent_at is not None) for line in summary.lines] == [(1, True), (8, True), (3, True)]


async def test_the_model_is_told_the_summary_so_far_what_was_said_and_what_must_stay(
    server: ChatServer, summarise: Asked
) -> None:
    await summarise(task("we fly in May", previous=EARLIER, keep=("never by night",)))
    assert len(server.requests) == 1
    for text in ("no cars [#3]", "we fly in May", "never by night"):
        assert text in server.said()


async def test_a_chinese_talk_is_asked_about_in_chinese(server: ChatServer, summarise: Asked) -> None:
    server.script = [HAN]
    summary = await summarise(task("我们去罗马", language=Language.CHINESE))
    assert "约束与排除" in server.said()
    assert summary.language is Language.CHINESE
    assert rendered(summary).startswith("目标: 去罗马旅行")


async def test_nothing_to_summarise_asks_nobody(server: ChatServer, summarise: Asked) -> None:
    assert (await summarise(task(said=()))).lines == ()
    assert server.requests == []


async def test_a_summary_alone_can_be_made_shorter(server: ChatServer, summarise: Asked) -> None:
    assert texts(await summarise(task(previous=EARLIER, said=()))) == ROME
    assert "no cars [#3]" in server.said()


async def test_what_a_model_thinks_never_becomes_summary(server: ChatServer, summarise: Asked) -> None:
    server.script = [{"content": f"<think>\nGoal: wrong\n</think>\n{TRIP}", "reasoning_content": "Goal: wrong too"}]
    assert texts(await summarise(task())) == ROME


# --- settings ---------------------------------------------------------------------------------------------------------


async def test_settings_of_the_session_go_before_those_of_the_server(server: ChatServer) -> None:
    defaults = {"model": "big", "parameters": {"temperature": 0.9, "top_p": 0.5}, "prompt": "Mine."}
    options = {"model": "small", "parameters": {"top_p": 0.7}, "prompt": None}
    await Asked(server, defaults=defaults)(task(options=options))
    request = server.requests[0]
    assert (request["model"], request["temperature"], request["top_p"]) == ("small", 0.9, 0.7)
    assert request["messages"][0]["content"] == "Mine."


async def test_an_update_takes_the_update_prompt_and_without_one_the_users_own(server: ChatServer, summarise: Asked) -> None:
    await summarise(task(previous=EARLIER, options={"prompt": "First.", "update_prompt": "Update."}))
    await summarise(task(previous=EARLIER, options={"prompt": "First."}))
    await summarise(task(options={"update_prompt": "Update."}))
    first = [request["messages"][0]["content"] for request in server.requests]
    assert first[:2] == ["Update.", "First."]
    assert first[2].startswith("You keep the memory")


async def test_a_provider_that_is_not_there_is_said(server: ChatServer, summarise: Asked) -> None:
    with pytest.raises(SummarizerDown, match="no provider"):
        await summarise(task(options={"provider": "other"}))
    assert server.requests == []


# --- more than one question can hold ----------------------------------------------------------------------------------


async def test_no_message_is_left_out_of_a_talk_longer_than_one_question(server: ChatServer, summarise: Asked) -> None:
    talk = [f"message-{number} " + "word " * 60 for number in range(40)]
    await summarise(task(*talk, options={"max_input_tokens": 1500}))
    assert len(server.requests) > 2
    sizes = [sum(by_four(message["content"]) for message in request["messages"]) for request in server.requests]
    assert max(sizes) <= 1500
    told = [[text for text in talk if text.strip() in server.said(number)] for number in range(len(server.requests))]
    assert [text for step in told for text in step] == talk


async def test_each_question_folds_into_what_came_of_the_one_before(server: ChatServer, summarise: Asked) -> None:
    server.script = [f"Goal: step {number}" for number in range(50)]
    summary = await summarise(task(*["word " * 300] * 5, previous=EARLIER, options={"max_input_tokens": 1500}))
    assert "no cars [#3]" in server.said(0)
    assert all(f"- step {number}" in server.said(number + 1) for number in range(len(server.requests) - 1))
    assert texts(summary) == [(Heading.GOAL, f"step {len(server.requests) - 1}")]


async def test_one_message_too_long_for_a_question_is_cut_visibly(server: ChatServer, summarise: Asked) -> None:
    await summarise(task("the head " + "x" * 40_000 + " the tail", "and then", options={"max_input_tokens": 1500}))
    everything = "".join(server.said(number) for number in range(len(server.requests)))
    for text in ("the head", "the tail", "characters left out", "and then"):
        assert text in everything
    assert max(sum(by_four(message["content"]) for message in request["messages"]) for request in server.requests) <= 1500


async def test_a_question_that_the_model_finds_too_long_is_put_in_shorter_ones(server: ChatServer, summarise: Asked) -> None:
    def narrow(request: dict[str, Any]) -> Any:
        long = sum(by_four(message["content"]) for message in request["messages"]) > 2500
        return {"status": 400, "said": "maximum context length exceeded"} if long else TRIP

    server.otherwise = narrow
    talk = [f"message-{number} " + "word " * 100 for number in range(30)]
    assert texts(await summarise(task(*talk))) == ROME
    assert "message-0 " in "".join(server.said(number) for number in range(1, len(server.requests)))
    assert "message-29 " in server.said()


async def test_a_model_that_finds_everything_too_long_is_given_up(server: ChatServer, summarise: Asked) -> None:
    server.otherwise = {"status": 413, "said": "too large"}
    with pytest.raises(SummarizerDown, match="413"):
        await summarise(task(options={"max_input_tokens": 4 * LEAST_INPUT_TOKENS}))
    assert len(server.requests) == 3


# --- answers that are no good -----------------------------------------------------------------------------------------

BAD = {
    "blank": ("", "was empty"),
    "only a thought": ({"content": None, "reasoning_content": TRIP}, "was empty"),
    "off-shape": ("They want to see Rome and fly in May.", "did not have the shape"),
    "a refusal": ("I'm sorry, but I can't help with that.", "did not have the shape"),
    "nothing under its headings": ("Goal: none\nDecided:\n- none", "did not have the shape"),
    "in another language": (HAN, "in the wrong language"),
    "cut off in its first line": ({"content": "Goal: see Ro", "finish_reason": "length"}, "was cut off"),
    "cut off while thinking": ({"content": "<think>hm", "finish_reason": "length"}, "was cut off"),
}


@pytest.mark.parametrize(("reply", "word"), BAD.values(), ids=BAD.keys())
async def test_an_answer_that_is_no_good_is_asked_for_again_with_a_word_about_it(
    server: ChatServer, summarise: Asked, reply: Any, word: str
) -> None:
    server.script = [reply]
    assert texts(await summarise(task())) == ROME
    assert len(server.requests) == 2
    assert word not in server.said(0)
    assert word in server.said(1)


@pytest.mark.parametrize("reply", [reply for reply, _ in BAD.values()], ids=BAD.keys())
async def test_a_model_that_is_no_good_twice_is_given_up(server: ChatServer, summarise: Asked, reply: Any) -> None:
    server.otherwise = reply
    with pytest.raises(SummarizerDown, match="answered twice"):
        await summarise(task())
    assert len(server.requests) == 2


async def test_an_english_answer_about_a_chinese_talk_is_asked_for_again_in_chinese(server: ChatServer, summarise: Asked) -> None:
    server.script = [TRIP, HAN]
    summary = await summarise(task("我们去罗马", language=Language.CHINESE))
    assert summary.language is Language.CHINESE
    assert "每一行都必须用中文" in server.said(1)


async def test_an_answer_too_long_is_asked_for_shorter(server: ChatServer, summarise: Asked) -> None:
    server.script = [LONG]
    assert texts(await summarise(task())) == ROME
    assert "was too long" in server.said(1)


async def test_an_answer_too_long_twice_is_left_to_the_guard(server: ChatServer, summarise: Asked) -> None:
    server.otherwise = LONG
    assert len((await summarise(task())).lines) == 61
    assert len(server.requests) == 2


@pytest.mark.parametrize("second", ["", "off-shape", 500, 401, {"content": "Goal: a", "finish_reason": "length"}])
async def test_an_answer_that_is_only_too_long_beats_a_second_one_that_is_worse(
    server: ChatServer, summarise: Asked, second: Any
) -> None:
    server.script, server.otherwise = [LONG], second
    assert len((await summarise(task())).lines) == 61


async def test_a_thought_that_was_cut_off_gets_more_room(server: ChatServer, summarise: Asked) -> None:
    server.script = [{"content": None, "reasoning": "hm", "finish_reason": "length"}]
    await summarise(task())
    assert server.requests[0]["max_tokens"] >= 400
    assert server.requests[1]["max_tokens"] > 4 * server.requests[0]["max_tokens"]


async def test_the_last_row_of_an_answer_that_was_cut_off_is_not_trusted(server: ChatServer, summarise: Asked) -> None:
    server.otherwise = {"content": "Goal: see Rome\nDecided:\n- fly in May\n- take the car", "finish_reason": "length"}
    assert texts(await summarise(task())) == ROME[:2]


@pytest.mark.parametrize("status", [401, 404, 503])
async def test_a_model_that_does_not_answer_is_down(server: ChatServer, summarise: Asked, status: int) -> None:
    server.otherwise = status
    with pytest.raises(SummarizerDown, match=str(status)) as caught:
        await summarise(task("a very private text"))
    assert not [secret for secret in (KEY, "private") if secret in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"]


# --- what it cost -----------------------------------------------------------------------------------------------------


async def test_what_each_call_cost_is_told_also_of_one_that_was_of_no_use(server: ChatServer, summarise: Asked) -> None:
    server.script = [{"content": "", "usage": {"prompt_tokens": 500, "completion_tokens": 7}}]
    await summarise(task())
    assert summarise.used == [Usage("main", "m1", 500, 7), Usage("main", "m1", 120, 30)]


async def test_where_the_provider_counts_nothing_we_do(server: ChatServer, summarise: Asked) -> None:
    server.script = [{"content": TRIP, "usage": None}]
    await summarise(task(options={"model": "m2"}))
    (used,) = summarise.used
    assert (used.provider, used.model, used.completion_tokens) == ("main", "m2", by_four(TRIP))
    assert used.prompt_tokens >= by_four(server.said())


# --- a real model -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif("MEMSRV_TEST_CHAT_URL" not in os.environ, reason="MEMSRV_TEST_CHAT_URL names no endpoint to try")
@pytest.mark.parametrize("language", Language)
async def test_a_real_model_gives_a_summary_or_is_given_up(language: Language) -> None:
    """MEMSRV_TEST_CHAT_URL (with `/v1`), MEMSRV_TEST_CHAT_MODEL and MEMSRV_TEST_CHAT_KEY say which one."""
    provider = Provider(
        "real",
        os.environ["MEMSRV_TEST_CHAT_URL"],
        os.environ.get("MEMSRV_TEST_CHAT_KEY", ""),
        model=os.environ.get("MEMSRV_TEST_CHAT_MODEL", "default"),
        timeout_s=600,
    )
    talk = {
        Language.ENGLISH: ("Let us plan a week in Rome.", "We fly on 3 May.", "No rental car, please.", "Shall we book museums?"),
        Language.CHINESE: ("我们计划去罗马玩一周。", "五月三日坐飞机出发。", "不要租车。", "要不要先订博物馆的票？"),
    }[language]
    chat = OpenAIChat(provider)
    try:
        summary = await ChatSummarizer({"real": chat}, count=by_four).summarise(task(*talk, language=language))
        assert summary.language is language
        assert summary.lines
    except SummarizerDown as error:
        pytest.skip(f"the model is not up to it: {error.message}")
    finally:
        await chat.close()
