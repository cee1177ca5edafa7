"""One summary out of what was said: parts, summarizers in turn, the guard."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from memsrv.core.prompt.policy import Defaults, resolve
from memsrv.core.summary.summary import Count, Heading, Line, Source, Summary, Task
from memsrv.errors import SummarizerDown
from memsrv.services.writing import SummaryWriter
from tests.fakes_prompt import START, LetterCounter
from tests.fakes_summary import Listing, down


async def trusting(summary: Summary, task: Task, count: Count) -> tuple[Summary | None, Sequence[dict[str, Any]]]:
    """A guard that lets everything through that is not blank."""
    return (summary if any(line.text.strip() for line in summary.lines) else None), ()


async def strict(summary: Summary, task: Task, count: Count) -> tuple[Summary | None, Sequence[dict[str, Any]]]:
    """A guard that refuses a summary with a line that says `lie`."""
    faults = [{"kind": "unsupported", "line": line.text} for line in summary.lines if "lie" in line.text]
    return (None if faults else summary), faults


def said(*texts: str) -> list[Source]:
    return [Source(at, "user", "Ada", START + timedelta(minutes=at), text) for at, text in enumerate(texts, 1)]


def policy(**summary: Any):
    return resolve(Defaults(), {"summary": {"max_tokens": 5000} | summary})


async def test_every_message_goes_in_once_in_parts_that_fit() -> None:
    listing = Listing()
    writer = SummaryWriter(listing, trusting, LetterCounter())
    texts = [f"message {n} " + "w" * 200 for n in range(20)]
    made = await writer.write(None, said(*texts), keep=(), policy=policy(max_tokens=2000, max_input_tokens=2400))
    assert [line.text for line in made.summary.lines] == texts
    assert len(listing.tasks) > 1
    assert [source.text for task in listing.tasks for source in task.said] == texts
    assert all(sum(len(source.text) // 4 for source in task.said) <= 400 for task in listing.tasks)
    assert (made.made_by, made.findings) == ("listing", ())


async def test_the_previous_summary_is_folded_in() -> None:
    made = await SummaryWriter(Listing(), trusting, LetterCounter()).write(
        Summary((Line(Heading.DECISIONS, "first"),)), said("second"), keep=(), policy=policy()
    )
    assert [line.text for line in made.summary.lines] == ["first", "second"]


async def test_input_that_proves_too_long_is_halved_and_none_of_it_lost() -> None:
    listing = Listing()

    def fail(task: Task) -> None:
        if len(task.said) > 2:
            raise SummarizerDown("too much", too_long=True)

    listing.fail = fail
    texts = [f"message {n}" for n in range(9)]
    made = await SummaryWriter(listing, trusting, LetterCounter()).write(None, said(*texts), keep=(), policy=policy())
    assert [line.text for line in made.summary.lines] == texts


async def test_one_message_that_is_too_long_for_the_summarizer_fails() -> None:
    listing = Listing()

    def fail(task: Task) -> None:
        raise SummarizerDown("too much", too_long=True)

    listing.fail = fail
    with pytest.raises(SummarizerDown):
        await SummaryWriter(listing, trusting, LetterCounter()).write(None, said("a", "b"), keep=(), policy=policy())
    assert len(listing.tasks) == 2  # both, then the first alone


async def test_a_session_without_a_provider_never_asks_one() -> None:
    model = Listing("model")
    writer = SummaryWriter(Listing(), trusting, LetterCounter(), providers=model)
    assert (await writer.write(None, said("a"), keep=(), policy=policy())).made_by == "listing"
    assert (await writer.write(None, said("a"), keep=(), policy=policy(provider="p"))).made_by == "model"
    assert model.tasks[0].options["provider"] == "p"


async def test_the_built_in_one_takes_the_place_of_one_that_is_down() -> None:
    model = Listing("model")
    model.fail = down
    writer = SummaryWriter(Listing(), trusting, LetterCounter(), providers=model)
    made = await writer.write(None, said("a"), keep=(), policy=policy(provider="p"))
    assert made.made_by == "listing"
    assert made.findings == ({"kind": "down", "text": "It is down.", "made_by": "model"},)
    assert writer.counted == {"down": 1}


async def test_the_built_in_one_takes_the_place_of_one_that_the_guard_refuses() -> None:
    class Liar(Listing):
        async def summarise(self, task: Task) -> Summary:
            return Summary((Line(Heading.FACTS, "a lie"),))

    writer = SummaryWriter(Listing(), strict, LetterCounter(), providers=Liar("model"))
    made = await writer.write(None, said("a"), keep=(), policy=policy(provider="p"))
    assert (made.made_by, [line.text for line in made.summary.lines]) == ("listing", ["a"])
    assert [finding["kind"] for finding in made.findings] == ["unsupported", "refused"]


async def test_of_the_built_in_one_the_lines_without_a_fault_stand() -> None:
    made = await SummaryWriter(Listing(), strict, LetterCounter()).write(None, said("a", "lie", "b"), keep=(), policy=policy())
    assert [line.text for line in made.summary.lines] == ["a", "b"]


async def test_without_any_that_holds_there_is_none() -> None:
    writer = SummaryWriter(Listing(), strict, LetterCounter())
    with pytest.raises(SummarizerDown):
        await writer.write(Summary((Line(Heading.FACTS, "lie"),)), said("lie"), keep=(), policy=policy())
    assert writer.counted["refused"] == 1


async def test_a_blank_summary_is_none() -> None:
    class Blank(Listing):
        async def summarise(self, task: Task) -> Summary:
            return Summary((Line(Heading.FACTS, " \n"),))

    with pytest.raises(SummarizerDown):
        await SummaryWriter(Blank(), strict, LetterCounter()).write(None, said("a"), keep=(), policy=policy())


async def test_a_summary_is_never_longer_than_it_may_be() -> None:
    texts = [f"message {n} " + "w" * 100 for n in range(30)]
    writer = SummaryWriter(Listing(), trusting, LetterCounter())
    made = await writer.write(None, said(*texts), keep=(), policy=policy(max_tokens=100))
    assert LetterCounter().count(made.text, None) <= 100
    assert made.summary.lines[-1].text == texts[-1]


async def test_the_language_is_that_of_the_talk() -> None:
    listing = Listing()
    await SummaryWriter(listing, trusting, LetterCounter()).write(
        None, said("我们周一坐火车去北京"), keep=("p",), policy=policy()
    )
    assert (listing.tasks[0].language, listing.tasks[0].keep) == ("zh", ("p",))


@pytest.mark.parametrize("mute", ["😀" * 400, "哈" * 300, "ha " * 200, "ha" * 200, "!?" * 100])
async def test_a_message_in_which_nothing_is_said_is_shown_to_no_summarizer_and_named(mute: str) -> None:
    listing = Listing()
    made = await SummaryWriter(listing, trusting, LetterCounter()).write(
        None, said("we meet at nine", mute, "fine"), keep=(), policy=policy()
    )
    assert [source.position for task in listing.tasks for source in task.said] == [1, 3]
    assert [(finding["kind"], finding["positions"]) for finding in made.findings] == [("passed_over", [2])]


async def test_where_nothing_is_said_at_all_the_summary_stays_as_it_is() -> None:
    listing, before = Listing(), Summary((Line(Heading.DECISIONS, "first"),))
    writer = SummaryWriter(listing, trusting, LetterCounter())
    assert (await writer.write(before, said("😀" * 400), keep=(), policy=policy())).summary == before
    assert (await writer.write(None, said("😀" * 400), keep=(), policy=policy())).text == ""
    assert listing.tasks == []


@pytest.mark.parametrize("text", ["👍", "好", "no no no", "Donaudampfschifffahrtsgesellschaft", "https://example.com/aaaa"])
async def test_a_short_answer_and_a_long_word_say_something(text: str) -> None:
    listing = Listing()
    await SummaryWriter(listing, trusting, LetterCounter()).write(None, said(text), keep=(), policy=policy())
    assert len(listing.tasks) == 1
