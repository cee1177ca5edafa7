"""`memsrv eval summary`: what it reads, what it prints, how it ends."""

import json

import pytest

from memsrv.core.summary.scoring import Dialogue, Expectation, Utterance, scored, totals
from memsrv.core.summary.summary import Heading, Line, Summary
from memsrv.errors import SettingsError
from memsrv.evaluate.summary import below, bounds_of, chosen, dialogues_in, missed, report
from memsrv.settings import Settings
from tests.adapters.chat_server import ChatServer
from tests.command import memsrv

TALK = {
    "id": "01-tea",
    "language": "en",
    "topic": "planning",
    "traits": ["reversal"],
    "messages": [
        {"role": "user", "content": "Coffee for all."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "No, tea for all."},
    ],
    "decisions": [{"says": "tea", "all": [["tea"]]}],
    "exclusions": [{"says": "no milk", "all": [["@not"], ["milk"]]}],
    "forbidden": [{"says": "coffee", "all": [["coffee"]]}],
    "droppable": [],
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "01-tea.json").write_text(json.dumps(TALK))
    return tmp_path


def measured(folder, *words, **settings):
    return memsrv("eval", "summary", "--summarizer", "newest", "--dialogues", folder, *words, **settings)


def made(*lines: str):
    """The score of a summary with these lines."""
    kept = Dialogue(
        id="01-tea",
        language="en",
        topic="planning",
        traits=(),
        messages=(Utterance("user", "tea, not coffee"),),
        decisions=(Expectation(says="tea", all=(("tea",),)),),
        exclusions=(Expectation(says="no milk", all=(("@not",), ("milk",))),),
        forbidden=(Expectation(says="coffee", all=(("coffee",),)),),
    )
    summary = Summary(tuple(Line(Heading.FACTS, line) for line in lines))
    return scored(kept, summary, max_tokens=200, count=lambda text: len(text.split()))


def test_json_tells_totals_groups_and_each_line_that_was_found(folder):
    told = json.loads(measured(folder, "--json").stdout)
    assert (told["summarizer"], told["folds"], told["max_tokens"]) == ("newest", 1, 200)
    assert told["totals"]["decision_retention"] == 1
    assert told["by"]["trait"]["reversal"]["contradictions"] == 1
    assert told["dialogues"][0]["forbidden"] == [{"says": "coffee", "met": True, "line": "Coffee for all."}]


def test_the_table_has_a_row_for_each_group_and_the_misses_follow(folder):
    done = measured(folder, "--misses")
    rows = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert {"en", "planning", "reversal", "all"} <= {row[0] for row in rows}
    assert "01-tea: exclusion lost: no milk" in done.stdout
    assert "01-tea: contradiction: coffee <- Coffee for all." in done.stdout


def test_progress_is_told_line_by_line_where_there_is_no_terminal(folder):
    assert measured(folder).stderr == "1/1 01-tea\n"


def test_the_status_says_whether_the_floor_holds(folder):
    assert measured(folder, "--floor", "decisions=1,contradictions=1").returncode == 0
    done = measured(folder, "--floor", "decisions=.5,contradictions=0")
    assert done.returncode == 1
    assert done.stderr.endswith("memsrv: contradictions 1 is above 0.\n")


def test_more_folds_than_turns_is_a_fold_for_each_turn(folder):
    assert json.loads(measured(folder, "--json", "--folds", "9").stdout)["totals"]["decisions_kept"] == 1


def test_a_wrong_use_is_refused_in_one_line(folder):
    done = measured(folder, "--floor", "beauty=1")
    assert done.returncode == 2
    assert done.stderr.startswith("memsrv: --floor: 'beauty' is not measured.")


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="no dialogues"):
        dialogues_in(tmp_path)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"mood": "good"}, "mood"),
        ({"decisions": [{"says": "x", "all": "x"}]}, "decisions.0.all"),
        ({"messages": None}, "messages"),
    ],
)
def test_a_file_that_is_off_its_shape_is_refused_with_name_and_place(folder, change, place):
    (folder / "02-bad.json").write_text(json.dumps(TALK | change))
    with pytest.raises(SettingsError, match=f"02-bad.json: {place}"):
        dialogues_in(folder)


def test_a_summarizer_that_is_not_known_is_refused():
    with pytest.raises(SettingsError, match="no summarizer 'perfect'"):
        chosen("perfect", Settings())


def test_a_provider_s_model_is_scored_by_the_provider_s_name_and_what_it_could_not_do_is_told(folder):
    (folder / "02-more-tea.json").write_text(json.dumps(TALK | {"id": "02-more-tea"}))
    server = ChatServer()
    server.script, server.otherwise = ["Decided:\n- tea for all [#3]"], "I would rather not."
    ours = json.dumps({"ours": {"base_url": server.url}})
    done = measured(folder, "--summarizer", "ours", "--json", MEMSRV_PROVIDERS=ours, MEMSRV_SUMMARY_MODEL="m7")
    server.close()
    told = json.loads(done.stdout)
    assert (told["failures"], [one["summary"] for one in told["dialogues"]]) == (1, ["Decided:\n- tea for all", ""])
    assert "no summary of 1 parts: The model 'm7' of 'ours' answered twice" in done.stderr


def test_a_floor_is_numbers_by_name():
    assert bounds_of("decisions=.95, contradictions=0") == {"decisions": 0.95, "contradictions": 0}
    assert bounds_of("") == {}
    with pytest.raises(SettingsError, match="'much' is not a number"):
        bounds_of("decisions=much")


def test_what_is_below_its_floor_or_above_its_ceiling_is_told():
    sums = totals([made("coffee")])
    assert list(below(sums, {"decisions": 0.5, "exclusions": 0, "contradictions": 0, "over": 0})) == [
        "decisions 0.000 is below 0.5.",
        "contradictions 1 is above 0.",
    ]


def test_misses_tell_what_was_lost_and_which_line_is_wrong():
    assert list(missed([made("coffee")])) == [
        "01-tea: decision lost: tea",
        "01-tea: exclusion lost: no milk",
        "01-tea: contradiction: coffee <- coffee",
    ]
    assert list(missed([made("tea", "no milk")])) == []


def test_a_report_has_every_rate():
    rates = {"decision_retention", "exclusion_retention", "contradiction_rate", "density", "droppable_share", "compression"}
    assert rates <= report([made("tea")])["totals"].keys()
