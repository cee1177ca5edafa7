"""Advice comes only when a region far over its share left something else without room, and it names a setting."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.advice import FEW_RECALLED, Advice, advice, guide
from memsrv.core.prompt.policy import Defaults, Policy, resolve
from memsrv.model import Region, RegionName

BUDGET = 6_000
PIN = {"what": "pin", "id": "p", "why": "budget"}
TURN = {"what": "turn", "position": 1, "messages": 2, "why": "budget"}
CALL = {"what": "tool call", "position": 1, "why": "budget"}
SHOWN = {"what": "recalled piece", "position": 1, "why": "the window shows it"}
PIECE = {"what": "recalled piece", "position": 1, "why": "budget"}


def policy(**settings: Any) -> Policy:
    return resolve(Defaults(), settings)


def region(name: str, tokens: int, *dropped: dict[str, Any], items: int = 5) -> Region:
    return Region(RegionName(name), tokens, tokens, items, dropped)


def given_for(*regions: Region, **settings: Any) -> list[Advice]:
    """The advice for these regions; the others hold nothing."""
    others = [region(name, 0, items=0) for name in RegionName if name not in {one.name for one in regions}]
    return list(advice([*regions, *others], policy(**settings), budget_tokens=BUDGET))


def test_the_guide_is_one_to_two_to_three():
    assert [guide(name) * 6 for name in (RegionName.META, RegionName.SUMMARY, RegionName.WINDOW)] == pytest.approx([1, 2, 3])


def test_a_region_far_over_its_share_is_no_fault_while_all_had_room():
    assert given_for(region("window", 5_900)) == []


def test_what_fell_out_is_no_ones_fault_while_all_keep_to_their_shares():
    assert given_for(region("meta", 1_400, PIN), region("summary", 2_900), region("window", 4_400)) == []


def test_the_region_its_share_and_the_setting_are_named():
    [said] = given_for(region("meta", 0, PIN), region("window", 4_920))
    assert (said["region"], said["share"], said["guide"], said["setting"]) == ("window", 0.82, 0.5, "window.size")
    assert said["text"].startswith("The window takes 82% of the budget, 50% is the guide, and there was no room for: pin.")


@pytest.mark.parametrize("name", ["meta", "summary"])
def test_meta_and_summary_can_take_too_much_too(name):
    [said] = given_for(region(name, 4_000), region("window", 1_000, TURN))
    assert (said["region"], said["setting"]) == (name, {"meta": "budget.tokens", "summary": "summary.max_tokens"}[name])


def test_recall_has_no_share_that_it_could_exceed():
    assert given_for(region("recall", 5_000), region("window", 500, TURN)) == []


def test_recall_that_finds_more_than_fits_lacks_no_room():
    assert given_for(region("recall", 500, PIECE, items=FEW_RECALLED), region("window", 5_000)) == []


def test_recall_that_hardly_stands_in_the_prompt_does():
    [said] = given_for(region("recall", 100, PIECE, items=FEW_RECALLED - 1), region("window", 5_000))
    assert "recalled piece" in said["text"]


def test_a_piece_that_the_window_shows_did_not_fall_out_for_want_of_room():
    assert given_for(region("recall", 0, SHOWN, items=0), region("window", 5_000)) == []


@pytest.mark.parametrize(
    ("settings", "dropped", "setting"),
    [
        ({"mode": "full"}, TURN, "mode"),
        ({"mode": "window"}, TURN, "mode"),
        ({"mode": "hybrid"}, CALL, "sections.max_tool_bytes"),
        ({"mode": "hybrid", "summary": {"enabled": False}}, TURN, "summary.enabled"),
        ({"profile": "agent"}, TURN, "sections.last_bytes"),
        ({"mode": "hybrid"}, TURN, "window.size"),
        ({"mode": "retrieval"}, TURN, "window.size"),
    ],
)
def test_the_setting_fits_what_the_session_does(settings, dropped, setting):
    assert [said["setting"] for said in given_for(region("window", 5_000, dropped), **settings)] == [setting]


def test_a_window_that_leaves_no_room_for_pins_is_to_be_smaller_in_mode_window():
    assert [said["setting"] for said in given_for(region("meta", 0, PIN), region("window", 5_000), mode="window")] == [
        "window.size"
    ]


def test_one_message_that_fills_the_window_is_no_matter_of_its_size():
    assert [said["setting"] for said in given_for(region("window", 5_000, TURN, items=1))] == ["budget.tokens"]


@given(st.lists(st.integers(0, BUDGET), min_size=5, max_size=5), st.sets(st.sampled_from(list(RegionName))))
def test_advice_is_only_for_what_is_far_over_and_names_a_setting(tokens, without_room):
    regions = [
        region(name, size, *([TURN] if name in without_room else []), items=2)
        for name, size in zip(RegionName, tokens, strict=True)
    ]
    said = given_for(*regions)
    assert bool(said) <= bool(without_room)
    for one in said:
        assert one["share"] > one["guide"]
        assert one["setting"] in one["text"]
