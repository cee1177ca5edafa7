"""Times in questions, English and Chinese."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.recall.timewords import nearness, stretches


def at(written):
    return datetime.fromisoformat(written).replace(tzinfo=UTC).timestamp()


FIRST, NOW = at("2025-03-01"), at("2026-05-20T15:00")


@pytest.mark.parametrize(
    ("question", "inside", "outside"),
    [
        ("What did we do on 7 June 2025?", "2025-06-07T10:00", "2025-06-20"),
        ("What happened on June 7th, 2025?", "2025-06-07", "2025-07-07"),
        ("the plan of 2025-06-07", "2025-06-07", "2025-08-01"),
        ("Where did she travel in May 2025?", "2025-05-30", "2025-08-01"),
        ("Where did she travel in July?", "2025-07-02", "2026-02-01"),
        ("What did I buy yesterday?", "2026-05-19T09:00", "2026-05-01"),
        ("What was the plan last week?", "2026-05-12", "2026-04-01"),
        ("What did he say three weeks ago?", "2026-04-29", "2026-01-01"),
        ("2025年6月7日我们做了什么?", "2025-06-07", "2025-09-01"),
        ("去年五月我去了哪里?", "2025-05-10", "2026-05-10"),
        ("上周我们聊了什么?", "2026-05-12", "2026-03-01"),
        ("昨天买了什么?", "2026-05-19", "2026-05-01"),
        ("三个月前他说了什么?", "2026-02-19", "2025-08-01"),
        ("十二月二十三日怎么过的?", "2025-12-23", "2025-10-01"),
    ],
)
def test_a_time_that_is_meant_is_nearer_than_another(question, inside, outside):
    spans = stretches(question, first=FIRST, now=NOW)
    assert nearness(spans, at(inside)) > nearness(spans, at(outside)) == 0


def test_what_is_told_a_few_days_later_counts_a_little():
    spans = stretches("What happened on 7 June 2025?", first=FIRST, now=NOW)
    assert nearness(spans, at("2025-06-07")) > nearness(spans, at("2025-06-09")) > 0


@pytest.mark.parametrize(
    "question", ["What is her dog's name?", "May I come in?", "我的狗叫什么?", "It costs 1200 euro", "31 February 2025"]
)
def test_no_time_is_found_where_there_is_none(question):
    assert stretches(question, first=FIRST, now=NOW) == []


@given(st.text(), st.floats(-1e11, 1e12), st.floats(-1e11, 1e12))
def test_any_text_and_any_clock_are_taken(question, first, now):
    assert all(span.start < span.end for span in stretches(question, first=first, now=now))


@given(
    st.lists(
        st.sampled_from(
            [
                "2025",
                "年",
                "五",
                "月",
                "十",
                "三",
                "日",
                "in",
                "May",
                "last",
                "week",
                "ago",
                "3",
                "June",
                "31",
                ",",
                "前",
                "几",
                "天",
                "去年",
            ]
        )
    )
)
def test_any_mix_of_time_words_is_taken(words):
    stretches(" ".join(words), first=FIRST, now=NOW)
    stretches("".join(words), first=FIRST, now=NOW)
