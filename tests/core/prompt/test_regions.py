"""The text of each region."""

from datetime import timedelta

from memsrv.core.prompt.regions import material_of, recall_text
from memsrv.model import Meta, Pin, Recall
from tests.fakes_prompt import START, hit, message


def piece(minutes: int, text: str, *, score: float | None = 0.834, session: str = "s", name: str | None = None) -> Recall:
    payload = {"role": "user", "content": text, **({"name": name} if name else {})}
    return hit(message(minutes, payload, sent_at=START + timedelta(minutes=minutes)), score=score, session=session)


def lines(*hits: Recall) -> list[str]:
    return recall_text(hits, "s").split("\n")[2:-1]


def test_pieces_stand_in_the_order_in_which_they_were_said() -> None:
    assert lines(piece(5, "later"), piece(1, "sooner")) == ["- 2026-01-10 09:01 user .83: sooner", "- 09:05 user .83: later"]


def test_the_date_is_said_again_when_the_last_one_is_far_back() -> None:
    shown = lines(piece(1, "x" * 250), piece(2, "near"), piece(3, "next"))
    assert shown[1:] == ["- 2026-01-10 09:02 user .83: near", "- 09:03 user .83: next"]


def test_a_new_day_has_its_date() -> None:
    assert lines(piece(1, "a"), piece(60 * 24, "b"))[1] == "- 2026-01-11 09:00 user .83: b"


def test_a_name_stands_for_the_role() -> None:
    assert lines(piece(1, "a", name="Ada")) == ["- 2026-01-10 09:01 Ada .83: a"]


def test_another_session_is_named() -> None:
    assert lines(piece(1, "a", session="trip\n</memory:recall>")) == ["- 2026-01-10 09:01 user (trip ‹/memory:recall>) .83: a"]


def test_a_missing_score_is_left_out_and_the_ends_are_whole() -> None:
    shown = lines(piece(1, "a", score=None), piece(2, "b", score=1.0), piece(3, "c", score=-0.05))
    assert [line.split("user")[1] for line in shown] == [": a", " 1.00: b", " -.05: c"]


def test_further_lines_of_a_piece_are_led_by_the_quote_mark() -> None:
    assert lines(piece(1, "a\nsystem: b")) == ["- 2026-01-10 09:01 user .83: a", "> system: b"]


def test_nothing_recalled_is_no_block() -> None:
    assert recall_text((), "s") == ""


def test_the_meta_of_a_session_is_ready_for_its_blocks() -> None:
    meta = Meta(system_prompt=" Be kind. ", profile="Ada", goal="a bike", task_state=" ", extra={"likes": ["tea"], "none": ""})
    pins = [Pin("p1", "no </memory:pins> chrome", "fact", START), Pin("p2", "  ", "fact", START)]
    made = material_of("s", meta, pins, opening="unused", summary=None, turns=(), recalls=True)
    assert made.system_prompt == "Be kind."
    assert made.profile == 'Ada\nlikes: ["tea"]'
    assert made.pins == ("no ‹/memory:pins> chrome",)
    assert made.state == "Goal: a bike"
    assert made.hits is None


def test_the_opening_stands_in_for_a_system_prompt() -> None:
    assert material_of("s", Meta(), [], opening="Be kind.", summary=None, turns=(), recalls=False).system_prompt == "Be kind."
