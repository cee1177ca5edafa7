"""Log events out of messages: where one begins, when it happened, how bad it is, what repeats."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.summary.logs import MAX_CHARS, Event, Severity, events_of, pattern_of, severity_of, stamp
from memsrv.core.summary.summary import Source

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def read(text: str, speaker: str = "user") -> list[Event]:
    return list(events_of(Source(7, "user", speaker, AT, text)))


def one(text: str, speaker: str = "user") -> Event:
    (event,) = read(text, speaker)
    return event


# --- where an event begins --------------------------------------------------------------------------------------------


def test_each_line_is_an_event() -> None:
    assert [event.text for event in read("first\n\nsecond\n")] == [f"{stamp(AT)} first", f"{stamp(AT)} second"]


def test_a_python_trace_is_one_event_that_tells_its_exception() -> None:
    trace = 'ERROR job 7\nTraceback (most recent call last):\n  File "a.py", line 3\n    x()\nKeyError: 7\nINFO next'
    assert [event.text for event in read(trace)] == [f"{stamp(AT)} ERROR job 7 | KeyError: 7", f"{stamp(AT)} INFO next"]


def test_a_bare_trace_tells_only_its_exception() -> None:
    assert one("Traceback (most recent call last):\n  File 'a'\nValueError: no").text == f"{stamp(AT)} ValueError: no"


def test_a_java_trace_tells_its_root_cause() -> None:
    trace = (
        "java.lang.IllegalStateException: pool\n\tat a.B.c(B.java:3)\nCaused by: java.net.ConnectException: refused\n\t... 3 more"
    )
    assert one(trace).text.endswith("IllegalStateException: pool | Caused by: java.net.ConnectException: refused")


def test_json_lines_are_events_with_level_source_message_and_values() -> None:
    text = '{"level":"error","logger":"pay","msg":"declined","order":7,"error":{"code":"E42"}}\n{"msg":"done"}'
    assert [event.text for event in read(text)] == [
        f"{stamp(AT)} ERROR pay: declined order=7 error.code=E42",
        f"{stamp(AT)} done",
    ]


@pytest.mark.parametrize("text", ['[{"msg": "a"}, {"msg": "b"}]', '{"msg": "a"}\n{"msg": "b"}'])
def test_an_array_of_objects_is_as_many_events(text: str) -> None:
    assert [event.text for event in read(text)] == [f"{stamp(AT)} a", f"{stamp(AT)} b"]


@pytest.mark.parametrize("text", ['{"msg": ', "[ERROR] not json", "{" * 100_000, "[" * 100_000, '{"n": ' + "9" * 10_000 + "}"])
def test_what_only_looks_like_json_is_text(text: str) -> None:
    assert one(text).text.startswith(f"{stamp(AT)} {text[:5]}")


def test_a_named_source_stands_in_the_event() -> None:
    assert one("disk full", "db-1").text == f"{stamp(AT)} db-1: disk full"


# --- when ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T08:15:02Z up",
        "2026-03-01 08:15:02,123 up",
        "[2026-03-01 10:15:02+02:00] up",
        '10.0.0.1 - - [01/Mar/2026:08:15:02 +0000] "GET / HTTP/1.1" 200 1',
        "Mar  1 08:15:02 host sshd: up",
        '{"ts": 1772352902, "msg": "up"}',
        '{"time": 1772352902123, "msg": "up"}',
        '{"@timestamp": "2026-03-01T08:15:02.5Z", "msg": "up"}',
    ],
)
def test_an_event_has_its_own_time(text: str) -> None:
    assert one(text).at.replace(microsecond=0) == datetime(2026, 3, 1, 8, 15, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["up", "2026-13-45T99:00:00Z up", "Foo 1 08:15:02 up", '{"ts": 1e300, "msg": "up"}', '{"ts": true, "msg": "up"}']
)
def test_without_a_time_of_its_own_it_has_that_of_its_message(text: str) -> None:
    assert one(text).at == AT


def test_a_line_that_begins_with_its_time_stays_word_for_word() -> None:
    assert one("[2026-03-01 08:15:02] ERROR up").text == "[2026-03-01 08:15:02] ERROR up"


# --- how bad it is ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "ERROR db: gone",
        "level=error msg=gone",
        "[error] 12#0: gone",
        "connection refused",
        "payment failed",
        'GET / HTTP/1.1" 502 12',
        "INFO request status=503",
        "INFO worker: ValueError: x",
        "process exited with code 137",
        "登录失败",
        "系统出现错误",
        "请求返回状态码：500",
    ],
)
def test_an_error_is_known_by_its_level_its_code_its_exception_or_its_words(text: str) -> None:
    assert severity_of(text) is Severity.ERROR


@pytest.mark.parametrize("text", ["FATAL db: gone", "[CRITICAL] gone", "PANIC gone"])
def test_a_fatal_level_is_the_worst(text: str) -> None:
    assert severity_of(text) is Severity.FATAL


@pytest.mark.parametrize("text", ["WARN disk at 91%", "INFO retry after it failed", "status=404 /favicon", "磁盘告警"])
def test_a_warning_is_less(text: str) -> None:
    assert severity_of(text) is Severity.WARNING


@pytest.mark.parametrize(
    "text",
    [
        "INFO started",
        "backup done: 0 errors",
        "finished without errors",
        "errors=0 failed: 0",
        "timeout=30s set",
        "巡检完成，未发现异常",
        "错误数：0",
        "error_rate is low",
        "status=200",
        "mirror set",
    ],
)
def test_no_trouble_is_no_error(text: str) -> None:
    assert severity_of(text) is Severity.PLAIN


@pytest.mark.parametrize(
    ("record", "severity"),
    [
        ('{"level": 50, "msg": "x"}', Severity.ERROR),
        ('{"level": 30, "msg": "x"}', Severity.PLAIN),
        ('{"levelno": 30, "msg": "x"}', Severity.WARNING),
        ('{"severity": 3, "msg": "x"}', Severity.ERROR),
        ('{"level": -Infinity, "msg": "x"}', Severity.FATAL),
        ('{"level": NaN, "msg": "x"}', Severity.PLAIN),
    ],
)
def test_levels_may_be_numbers(record: str, severity: Severity) -> None:
    assert one(record).severity is severity


# --- what repeats -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("2026-03-01T08:15:02Z job 7 took 31.5 ms", "2026-03-02T09:00:00Z job 19 took 4 ms"),
        ("order 550e8400-e29b-41d4-a716-446655440000 paid", "order 123e4567-e89b-12d3-a456-426614174000 paid"),
        ("from 10.0.0.1:8080 at 09:30:01", "from 192.168.1.20:81 at 10:00:00"),
        ("request 9f86d081884c done", "request a1b2c3d4e5f6 done"),
        ("用户 10086 登录", "用户 10010 登录"),
    ],
)
def test_texts_that_differ_in_times_numbers_and_ids_have_one_pattern(text: str, other: str) -> None:
    assert pattern_of(text) == pattern_of(other)


@pytest.mark.parametrize(
    ("text", "other"),
    [("status=500", "status=503"), ("error E1234", "error E4321"), ("errno 13", "errno 2"), ("user ann", "user bob")],
)
def test_codes_and_words_tell_events_apart(text: str, other: str) -> None:
    assert pattern_of(text) != pattern_of(other)


@given(st.text(max_size=200) | st.from_regex(r"[a-f0-9 .:/*=-]{0,60}(status|E|code|http)[ =:]?[0-9a-z*]{0,9}", fullmatch=True))
def test_a_pattern_is_its_own_pattern(text: str) -> None:
    pattern = pattern_of(f"{stamp(AT)} {text}")
    assert pattern_of(f"{stamp(AT)} {pattern}") == pattern


@given(st.text(max_size=400), st.text(max_size=20))
def test_every_line_that_shows_something_is_told_in_a_line(text: str, speaker: str) -> None:
    found = read(text, speaker)
    for event in found:
        assert len(event.text) <= MAX_CHARS
        assert len(event.text.splitlines()) == 1
        assert (event.at.tzinfo, event.position) == (UTC, 7)
    assert found or not any(line.isalnum() for line in text.splitlines())


def test_a_status_in_an_access_log_tells_how_bad_it_is_and_stands_in_the_pattern():
    assert severity_of("GET /api/orders/420 500 12ms") is Severity.ERROR
    assert severity_of("GET /api/orders/420 200 12ms") is Severity.PLAIN
    assert pattern_of("GET /api/orders/420 500 12ms") != pattern_of("GET /api/orders/421 200 12ms")
    assert pattern_of("GET /api/orders/420 500 12ms") == pattern_of("GET /api/orders/77 500 3ms")
