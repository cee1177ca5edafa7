"""Patterns that are dear to look for are looked for only where a hint of them stands, which loses none."""

from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.claims import days, figures, identifiers, negation
from memsrv.core.summary import subjects

WORDS = """
at 9:30 早上9点半 下午 3 pm half a dozen the third 第三 twenty-five usd 5 元5 us$30 cn¥8 50k 百分之十 1,200 v1.2 5th 两 十二个
monday Sat next week 下周三 周末 may 3 in march since 2024 2024年 去年 5/12 tomorrow the other day two weeks ago in three days
今晚
src/a.py /etc/passwd #12 --force camelCase AB-12 snake_case a@b.org https://x.org/y 0x1f deadbee1 config.yaml
plain word 好的 不要 nuts
not no without instead of skip 别 没有 allergic to gluten-free from to moved chose over rejected: was cancelled 取消 go fine
"""
spaced = st.lists(st.sampled_from(WORDS.split()), max_size=8).map(" ".join)
texts = spaced | st.lists(st.sampled_from(WORDS.split()), max_size=6).map("".join)


@given(texts)
def test_what_has_no_hint_of_a_day_has_none(text: str) -> None:
    assert days.may_have(text) or not list(days.SCAN.finditer(days.plain(text)))


@given(texts)
def test_what_has_no_hint_of_a_code_has_none(text: str) -> None:
    assert identifiers.HINT.search(text) or not identifiers.CODE_SCAN.search(text)


@given(texts)
def test_what_has_no_hint_of_a_value_has_none(text: str) -> None:
    folded = text.lower()
    assert subjects.HINT.search(folded) or not subjects.VALUES.search(folded)


@given(texts)
def test_what_negates_nothing_has_no_part_that_does(text: str) -> None:
    parts = text.split(" ")
    assert negation.may_negate(text) or not any(map(negation.may_negate, parts))


@given(spaced)
def test_a_text_without_its_days_and_numbers_has_none_left(text: str) -> None:
    assert not figures.numbers(figures.without_numbers(text)) or identifiers.identifiers(text)
