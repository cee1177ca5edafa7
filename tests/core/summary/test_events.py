"""The summary of log events: what is told, what is counted, what fits."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.summary.events import Log, events
from memsrv.core.summary.summary import Heading, Language, Line, Source, Summary, Task, rendered

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
WIDE = 100_000
KINDS = (
    "INFO heartbeat of worker-{n} in {n} ms",
    "INFO user {n} logged in",
    "WARN disk {n}% full",
    "ERROR db-{n}: connection refused",
    '{{"level": "error", "msg": "payment failed", "order": {n}}}',
    "FATAL out of memory",
    "用户 {n} 登录失败",
    "备份完成，无错误",
    "deployed",
)


def letters(text: str) -> int:
    return -(-len(text) // 4)


def said(*texts: str, first: int = 1) -> tuple[Source, ...]:
    return tuple(Source(at, "user", "user", AT + timedelta(minutes=at), text) for at, text in enumerate(texts, first))


def told(
    texts: Sequence[str], *, max_tokens: int = WIDE, previous: Summary | None = None, first: int = 1, **task: object
) -> Summary:
    return events(Task(previous, said(*texts, first=first), max_tokens, **task), count=letters)  # type: ignore[arg-type]


def lines(summary: Summary, heading: Heading) -> list[str]:
    return [line.text for line in summary.under(heading)]


def counted(summary: Summary) -> dict[Heading, int]:
    """How many events a summary tells of, by heading, as it is read back."""
    log = Log()
    for line in summary.lines:
        log.remember(line)
    own = {heading: sum(group.count for key, group in log.groups.items() if key[0] is heading) for heading in log.untold}
    return {heading: number + own[heading] for heading, number in log.untold.items()}


batches = st.lists(st.builds(str.format, st.sampled_from(KINDS), n=st.integers(0, 9)), min_size=1, max_size=30)
any_texts = st.lists(st.text(max_size=60).filter(lambda text: any(char.isalnum() for char in text)), min_size=1, max_size=10)


def test_what_repeats_is_one_pattern_with_its_count_and_its_times() -> None:
    summary = told(["user 7 logged in", "user 9 logged in", "user 12 logged in"])
    assert lines(summary, Heading.FACTS) == ["2026-03-01T09:31:00Z user * logged in (×3, last 09:33:00Z)"]


def test_an_error_stays_word_for_word_as_it_occurred_first() -> None:
    summary = told(["ERROR db-1: gone after 31 s", "ok", "ERROR db-2: gone after 44 s"])
    assert lines(summary, Heading.QUESTIONS) == ["2026-03-01T09:31:00Z ERROR db-1: gone after 31 s (×2, last 09:33:00Z)"]


def test_a_last_time_on_another_day_has_its_date() -> None:
    summary = told(["2026-03-01T23:00:00Z job 1 done", "2026-03-02T01:00:00Z job 2 done"])
    assert lines(summary, Heading.FACTS) == ["2026-03-01T23:00:00Z job * done (×2, last 2026-03-02T01:00:00Z)"]


def test_the_state_is_the_newest_event() -> None:
    assert lines(told(["starting", "ready"]), Heading.STATE) == ["2026-03-01T09:32:00Z ready"]


def test_a_line_knows_the_message_and_the_time_of_the_first_event() -> None:
    (line,) = told(["2026-03-01T08:00:00Z ERROR 1", "2026-03-01T07:00:00Z ERROR 2"]).under(Heading.QUESTIONS)
    assert (line.position, line.sent_at) == (2, AT.replace(hour=7, minute=0))


def test_when_room_is_short_errors_stay_and_the_rest_is_counted() -> None:
    summary = told([f"step {'abcdefghij'[n]} done" for n in range(10)] + ["ERROR db-1: gone"], max_tokens=40)
    assert lines(summary, Heading.QUESTIONS) == ["2026-03-01T09:41:00Z ERROR db-1: gone"]
    assert lines(summary, Heading.FACTS) == ["other events (×10)"]


def test_in_a_chinese_log_the_words_are_chinese() -> None:
    summary = told(["用户 1 登录", "用户 2 登录", "磁盘已满，写入失败"], language=Language.CHINESE)
    assert rendered(summary).splitlines()[0] == "待定:"
    assert lines(summary, Heading.FACTS) == ["2026-03-01T09:31:00Z 用户 * 登录 (×2, 最后 09:32:00Z)"]
    short = told(["用户 1 登录", "磁盘已满，写入失败"], language=Language.CHINESE, max_tokens=12)
    assert lines(short, Heading.QUESTIONS) == ["其他错误 (×1)"]


def test_nobody_can_count_for_us() -> None:
    summary = told(["ERROR gone (×9000, last 09:59:00Z)"])
    assert counted(summary)[Heading.QUESTIONS] == 1
    assert counted(told(["other errors (×77)"], previous=summary, first=2)) == {Heading.QUESTIONS: 2, Heading.FACTS: 0}


def test_what_was_settled_before_stays() -> None:
    before = Summary((Line(Heading.DECISIONS, "Page Ada when the database is gone", 1, AT),))
    assert lines(told(["ok"], previous=before), Heading.DECISIONS) == ["Page Ada when the database is gone"]


def test_what_must_be_kept_is_told_once() -> None:
    once = told(["ok", "maintenance on Friday"], keep=("maintenance  on Friday",))
    assert lines(once, Heading.DECISIONS) == ["maintenance on Friday"]
    again = told(["ok"], previous=once, keep=("maintenance on Friday",), first=3)
    assert lines(again, Heading.DECISIONS) == ["maintenance on Friday"]


def test_a_summary_of_talk_is_taken_as_it_is() -> None:
    before = Summary((Line(Heading.FACTS, "Ada runs the site", 3, AT), Line(Heading.FACTS, "no time known")))
    found = lines(told(["ok"], previous=before), Heading.FACTS)
    assert "no time known" in found
    assert f"{AT:%Y-%m-%dT%H:%M:%SZ} Ada runs the site" in found


@given(batches | any_texts, st.integers(0, 400))
def test_a_summary_is_never_over_its_length(texts: list[str], max_tokens: int) -> None:
    assert letters(rendered(told(texts, max_tokens=max_tokens))) <= max_tokens


@given(st.lists(batches | any_texts, min_size=1, max_size=4), st.integers(30, 400))
def test_every_event_is_counted_however_short_the_summary_and_however_it_is_folded(parts: list[list[str]], most: int) -> None:
    whole = counted(told([text for part in parts for text in part]))
    previous, first = None, 1
    for part in parts:
        previous = told(part, previous=previous, first=first, max_tokens=most)
        first += len(part)
    assert counted(previous) == whole


@given(st.lists(batches, min_size=2, max_size=4))
def test_with_room_enough_folding_tells_the_same_as_one_look(parts: list[list[str]]) -> None:
    previous, first = None, 1
    for part in parts:
        previous = told(part, previous=previous, first=first)
        first += len(part)
    assert previous == told([text for part in parts for text in part])


@given(batches, st.lists(st.sampled_from(("INFO user {n} logged in", "INFO tick", "WARN slow {n}")), max_size=40))
def test_plain_events_never_drive_out_an_error(texts: list[str], more: list[str]) -> None:
    errors = lines(told(texts), Heading.QUESTIONS)
    room = letters(rendered(told(texts))) + 30
    after = lines(told([text.format(n=3) for text in more], previous=told(texts), max_tokens=room, first=90), Heading.QUESTIONS)
    assert after == errors


@pytest.mark.parametrize("language", list(Language))
def test_nothing_said_is_nothing_told(language: Language) -> None:
    assert told([], language=language) == Summary((), language)
