"""What can be checked in a statement, English, Chinese and mixed."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.adapters.analyzer_snowball import SnowballAnalyzer
from memsrv.core.claims.claims import (
    conditional,
    content_terms,
    dates,
    hedged,
    identifiers,
    meant,
    names,
    negations,
    numbers,
    polarity,
    stretches,
)
from memsrv.core.claims.figures import stated

FRIDAY = datetime(2026, 5, 15, 9, tzinfo=UTC)
WORDS = [
    "not ",
    "no ",
    "不",
    "没",
    "不要",
    "Anna",
    "王磊",
    "5",
    "三百",
    "月",
    "日",
    " May ",
    "12",
    ":",
    "%",
    "$",
    "元",
    "from ",
    "to ",
    "改到",
    "，",
    ", ",
    ". ",
    "if ",
    "maybe ",
    "can't ",
    "instead of ",
    "除了",
    "还",
    "`x`",
    "“",
    "”",
    "and ",
    "百分之",
    "next ",
    "周二",
    "Tuesday",
    "-free",
    "twenty ",
    "hundred ",
    "第",
    "\n",
    "a/b/c",
]


# --- numbers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,200 people, or 1200, or 1.2k", {"1200"}),
        ("三百块", {"300 CNY"}),
        ("两个人住十五天", {"2", "15"}),
        ("一万二", {"12000"}),
        ("两百五、三千零五", {"250", "3005"}),
        ("费用2600元", {"2600 CNY"}),
        ("$45, 45 dollars, €3k", {"45 USD", "3000 EUR"}),
        ("15%, 15 percent, 百分之十五", {"15%"}),
        ("7:45 pm and 19:45", {"19:45"}),
        ("at 7:45", {"7:45"}),
        ("at 8 am", {"08:00"}),
        ("下午三点半", {"15:30"}),
        ("Python 3.10, v2.3.1", {"3.10", "2.3.1"}),
        ("the 12th, 第三章", {"#12", "#3"}),
        ("two hundred and five, twenty-five, half a dozen", {"205", "25", "6"}),
        ("20-30 guests", {"20", "30"}),
        ("3万", {"30000"}),
    ],
)
def test_a_number_has_one_spelling(text, found):
    assert numbers(text) == found


@pytest.mark.parametrize(
    "text",
    ["one of them, a friend", "十分好，千万别去，一起走", "on May 12", "5月12日", "PROJ-123", "a third-party tool", "see A4", ""],
)
def test_what_is_no_number_is_left_out(text):
    assert numbers(text) == frozenset()


@pytest.mark.parametrize(
    ("number", "among", "there"),
    [
        ("300", {"300 EUR"}, True),
        ("300 EUR", {"300"}, False),
        ("300 EUR", {"300", "40 EUR"}, True),
        ("300 USD", {"300 EUR"}, False),
        ("7:45", {"19:45"}, True),
        ("07:45", {"19:45"}, False),
        ("3.1", {"3.10"}, False),
        ("12", {"#12"}, True),
    ],
)
def test_a_number_stands_among_others_without_its_unit_but_not_with_another(number, among, there):
    assert stated(number, among) is there


# --- days -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("5月12日, May 12, 12 May, the 12th of May", {"--05-12"}),
        ("2026-05-12, 12 May 2026, 2026年5月12日", {"2026-05-12"}),
        ("12 to 19 September", {"--09-12", "--09-19"}),
        ("9月12日到19日", {"--09-12", "--09-19"}),
        ("in June, 十二月", {"--06", "--12"}),
        ("on Tuesday, 周二, 星期二", {"tue"}),
        ("tomorrow, 明天", {"day+1"}),
        ("next week, 下周", {"week+1"}),
        ("in 2026, 2026年", {"2026"}),
    ],
)
def test_a_day_has_one_spelling(text, found):
    assert dates(text) - {"#12"} == found


@pytest.mark.parametrize("text", ["I may come", "三个月", "we sat down", "24:10", "march on", "周末愉快"[:0]])
def test_what_is_no_day_is_left_out(text):
    assert dates(text) == frozenset()


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("tomorrow", "2026-05-16"),
        ("next Tuesday", "2026-05-19"),
        ("下周二", "2026-05-19"),
        ("三天后", "2026-05-18"),
        ("two weeks ago", "2026-05-01"),
        ("May 20", "2026-05-20"),
    ],
)
def test_a_relative_day_is_resolved_against_the_time_of_speaking(text, day):
    assert day in meant(text, FRIDAY)


def test_a_sure_day_is_not_a_week_later():
    assert "2026-05-26" not in meant("下周二", FRIDAY)


# --- names and identifiers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Budget is 500. We use PostgreSQL and Redis.", {"postgresql", "redis"}),
        ("Anna Schmidt will call.", {"anna schmidt", "anna", "schmidt"}),
        ("Ask Dr. Patil's nurse", {"patil"}),
        ("ping @tom_b", {"@tom_b"}),
        ("王磊负责前端，王蕾负责后端", {"王磊", "王蕾"}),
        ("张经理说方案可以", {"张经理"}),
        ("我们用kafka和MySQL", {"kafka", "mysql"}),
        ("黄油要买，周三高铁，方案不错", set()),
        ("On Monday in May", set()),
    ],
)
def test_names_are_found_where_they_are_sure(text, found):
    assert names(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("call `get_user` in src/http/reader.py", {"get_user", "src/http/reader.py"}),
        ('the "fast path" and 「红楼」', {"fast path", "红楼"}),
        ("mail a@b.com, https://x.y/z?q=1", {"a@b.com", "https://x.y/z?q=1"}),
        ("JIRA-12, #1234, 3f2a9bc", {"jira-12", "#1234", "3f2a9bc"}),
        ("userName and snake_case", {"username", "snake_case"}),
        ("don't say it isn't", set()),
    ],
)
def test_what_is_spelled_out_is_found(text, found):
    assert identifiers(text) == found


# --- negation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("We won't use Redis because it's slow.", "Redis"),
        ("Use Postgres instead of MySQL.", "MySQL"),
        ("Instead of MySQL, Postgres.", "MySQL"),
        ("no nuts, eggs or milk, please", "milk"),
        ("neither Redis nor Kafka", "Kafka"),
        ("Monday doesn't work for me.", "Monday"),
        ("Mondays, Tuesdays and Fridays are out.", "Mondays"),
        ("Redis is ruled out.", "Redis"),
        ("Redis is no longer allowed", "Redis"),
        ("We chose Vue over React.", "React"),
        ("Move it from Tuesday to Thursday.", "Tuesday"),
        ("not Tuesday, Thursday", "Tuesday"),
        ("a gluten-free cake", "gluten"),
        ("She has a nut allergy.", "nut"),
        ("I'm allergic to peanuts", "peanut"),
        ("Rejected: live music", "music"),
        ("不要红色，要蓝色", "红色"),
        ("红色的不要", "红色"),
        ("香菜不要放", "香菜"),
        ("用PostgreSQL而不是MySQL", "MySQL"),
        ("除了周三都可以", "周三"),
        ("会议取消了", "会议"),
        ("从周二改到周四", "周二"),
        ("我对花生过敏", "花生"),
        ("不采用：灰度开关", "灰度开关"),
    ],
)
def test_what_is_ruled_out_is_negated(text, term):
    assert polarity(text, term) is False


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("We won't use Redis because of the server.", "server"),
        ("Use Postgres instead of MySQL.", "Postgres"),
        ("Instead of MySQL, Postgres.", "Postgres"),
        ("We chose Vue over React.", "Vue"),
        ("Move it from Tuesday to Thursday.", "Thursday"),
        ("not Tuesday, Thursday", "Thursday"),
        ("Don't cancel the tour.", "tour"),
        ("Redis isn't ruled out.", "Redis"),
        ("I can't do without coffee", "coffee"),
        ("not only red but blue", "red"),
        ("No problem, take Redis", "Redis"),
        ("No, use Kafka.", "Kafka"),
        ("Why not Rome?", "Rome"),
        ("Don't forget the milk", "milk"),
        ("no later than 5pm in the hall", "hall"),
        ("不仅要红色，还要蓝色", "红色"),
        ("没问题，就用Redis", "Redis"),
        ("不要取消会议", "会议"),
        ("会议不能取消", "会议"),
        ("除了红色还要蓝色", "红色"),
        ("别忘了买牛奶", "牛奶"),
        ("他不得不去上海", "上海"),
        ("价格不超过三百", "三百"),
        ("从周二改到周四", "周四"),
        ("要不要用Redis？", "Redis"),
    ],
)
def test_what_only_looks_negated_is_affirmed(text, term):
    assert polarity(text, term) is True


def test_the_last_word_on_a_term_counts():
    assert polarity("Use Redis. Hm, no Redis.", "Redis") is False
    assert polarity("No Redis. Fine, use Redis.", "Redis") is True
    assert polarity("Use Kafka.", "Redis") is None


def test_a_negation_tells_cue_span_and_scope():
    text = "We go, but not to Rome."
    (found,) = negations(text)
    assert (found.cue, text[found.span.start : found.span.end]) == ("not", "not")
    assert [text[span.start : span.end] for span in found.scope] == [" to Rome"]


@given(st.lists(st.sampled_from(WORDS)).map("".join) | st.text())
def test_scopes_stand_in_the_text_and_stretches_in_order(text):
    assert all(0 <= span.start < span.end <= len(text) for found in negations(text) for span in found.scope)
    edges = [edge for stretch in stretches(text) for edge in (stretch.span.start, stretch.span.end)]
    assert edges == sorted(edges)


# --- the rest -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["Maybe Rome", "we might drop it", "I'm not sure about it", "可能去", "还在考虑", "岛台待定"])
def test_what_is_open_is_hedged(text):
    assert hedged(text)


@pytest.mark.parametrize("text", ["We go to Rome.", "See you in May", "不可能", "Redis不考虑了", "尽可能早"])
def test_what_is_settled_is_not_hedged(text):
    assert not hedged(text)


@pytest.mark.parametrize("text", ["if it rains, inside", "unless legal objects", "如果下雨", "除非加价", "只要不贵就买"])
def test_what_hangs_on_something_is_conditional(text):
    assert conditional(text)


@pytest.mark.parametrize("text", ["see if it works", "if possible, by Monday", "We stay inside.", "例如苹果", "原则上同意"])
def test_a_polite_or_indirect_if_is_no_condition(text):
    assert not conditional(text)


def test_content_terms_leave_out_what_frames_a_statement():
    terms = SnowballAnalyzer().terms
    assert content_terms("The user decided to use Postgres", terms) == ("postgr",)
    assert "橡木" in content_terms("用户决定使用橡木", terms)
    assert "用户" not in content_terms("用户决定使用橡木", terms)


@given(st.lists(st.sampled_from(WORDS)).map("".join) | st.text())
def test_any_text_is_taken(text):
    for read in (numbers, dates, names, identifiers, hedged, conditional):
        read(text)
    meant(text, FRIDAY)


@pytest.mark.parametrize("piece", ["hundred ", "not ", "不", "1:2", "from to ", "A ", "/a", "move from a ", "“", "王"])
def test_long_repetitive_text_is_taken(piece):
    text = piece * 1_000
    for read in (numbers, dates, names, identifiers, negations, stretches, hedged, conditional):
        read(text)
