"""What a provider reports moves the factor, and nothing that it reports can spoil it."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from memsrv.core.prompt.calibration import (
    CREDIBLE,
    LEAST_TOKENS,
    MEMORY_TOKENS,
    NEUTRAL,
    SETTLED_REPORTS,
    SETTLED_TOKENS,
    STEADY_PERCENT,
    Calibration,
    is_credible,
    needed,
    reported,
    within,
)

NOTHING = Calibration()
tokens = st.integers(1, 10_000_000)
percents = st.integers(50, 500)
reports = st.lists(st.tuples(tokens, st.integers(-10, 10_000_000)), max_size=30)


def after(pairs: list[tuple[int, int]], start: Calibration = NOTHING) -> Calibration:
    for counted, told in pairs:
        start = reported(start, counted, told)
    return start


def settled(percent: int = 100) -> Calibration:
    one = SETTLED_TOKENS // SETTLED_REPORTS
    return after([(one, one * percent // 100)] * SETTLED_REPORTS)


def test_nothing_reported_leaves_our_count_as_it_is():
    assert (NOTHING.factor, NOTHING.percent) == (1.0, NEUTRAL)


@pytest.mark.parametrize(("told", "factor"), [(2000, 2.0), (1300, 1.3), (700, 0.7), (1000, 1.0)])
def test_one_report_on_a_prompt_of_some_size_sets_the_factor(told, factor):
    assert reported(NOTHING, 1000, told).factor == factor


@pytest.mark.parametrize(("told", "factor"), [(400, 0.5), (6000, 5.0), (19_000, 5.0)])
def test_the_factor_is_clamped(told, factor):
    assert reported(NOTHING, 1000, told).factor == factor


def test_reports_add_up_by_their_tokens():
    assert after([(1000, 1000), (3000, 6000)]).factor == 1.75


def test_a_few_tokens_are_remembered_and_set_no_factor_yet():
    first = reported(NOTHING, LEAST_TOKENS - 1, 2 * LEAST_TOKENS - 2)
    assert (first.factor, first.reports) == (1.0, 1)
    assert reported(first, 1, 2).factor == 2.0


@pytest.mark.parametrize("told", [0, -1, 1000 * CREDIBLE + 1, 1_000_000_000, 1000 // CREDIBLE - 1])
def test_what_cannot_be_about_the_prompt_changes_nothing(told):
    assert not is_credible(1000, told)
    assert reported(settled(120), 1000, told) == settled(120)


def test_a_prompt_of_no_tokens_can_have_no_report():
    assert not is_credible(0, 10)


def test_an_outlier_after_many_reports_hardly_counts():
    before = settled(100)
    assert reported(before, 1000, 19_000).factor <= 1.05


def test_a_single_huge_report_does_not_speak_for_all_that_is_remembered():
    before = after([(10_000, 10_000)] * 40)
    assert before.factor == 1.0
    assert reported(before, 9_000_000, 18_000_000).factor == pytest.approx(1.125, abs=0.01)


def test_a_provider_that_counts_otherwise_is_believed_after_a_while():
    before = after([(10_000, 10_000)] * 100)
    assert after([(10_000, 13_000)] * 200, before).factor == pytest.approx(1.3, abs=0.02)


def test_the_factor_does_not_move_with_every_report():
    steady = after([(10_000, 12_000)] * 10)
    seen = {after([(10_000, 11_900), (10_000, 11_950)][:n], steady).percent for n in range(3)}
    assert seen == {120}


def test_a_factor_rises_at_once():
    steady = after([(10_000, 12_000)] * 10)
    assert reported(steady, 10_000, 14_000).percent > steady.percent


def test_a_factor_falls_when_it_is_worth_it():
    steady = after([(10_000, 12_000)] * 5)
    assert after([(10_000, 10_000)] * 5, steady).percent == 110


@given(reports)
def test_whatever_is_reported_the_factor_is_within_its_bounds_and_the_memory_within_its_own(pairs):
    found = after(pairs)
    assert 0.5 <= found.factor <= 5
    assert 0 <= found.counted_tokens <= MEMORY_TOKENS


@given(percents, st.lists(st.integers(LEAST_TOKENS, 200_000), min_size=1, max_size=40))
def test_a_provider_that_always_counts_the_same_is_found_out(percent, sizes):
    found = after([(size, size * percent // 100) for size in sizes])
    assert percent - 2 <= found.percent <= percent + STEADY_PERCENT


@given(reports, st.integers(1, 200_000), st.lists(st.floats(0.06, 19), min_size=2, max_size=2))
def test_a_higher_report_never_leads_to_a_lower_factor(pairs, counted, told):
    before, (low, high) = after(pairs), sorted(int(counted * times) for times in told)
    assume(is_credible(counted, low) and is_credible(counted, high))
    assert reported(before, counted, low).percent <= reported(before, counted, high).percent


@given(tokens, percents)
@example(1, 500)
def test_a_budget_holds_in_both_counts(budget, percent):
    ours = within(budget, percent)
    assert ours <= budget
    assert ours * percent <= budget * 100


@given(tokens, percents)
def test_a_window_holds_as_much_as_the_provider_lets_it(window, percent):
    ours = within(window, percent, of_window=True)
    assert ours * percent <= window * 100 < (ours + 1) * percent


@given(tokens, percents)
def test_the_budget_that_is_named_works_and_is_the_smallest(counted, percent):
    named = needed(counted, percent)
    assert within(named, percent) >= counted
    assert named == 1 or within(named - 1, percent) < counted
