"""The order of hits."""

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memsrv.core.recall.ranking import SURE, Candidates, aligned, best, standardized
from memsrv.core.recall.traits import TRAITS, traits_of_text
from memsrv.model import CosineScale

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
NOW = (START + timedelta(days=60)).timestamp()


def chunk(position: int, text: str = "", *, role: str = "user", name: str | None = None, day: int = 0) -> tuple:
    """The traits of a chunk whose number is its position."""
    sent_at = (START + timedelta(days=day)).timestamp()
    return position, 1, position, position, sent_at, role, name, *traits_of_text(text or f"remark {position}")


def found(chunks, words, dense, coverage=None) -> Candidates:
    n = len(chunks)
    return Candidates(np.array(list(chunks), TRAITS), np.array(words), np.array(dense), np.array(coverage or [0.0] * n))


def order(chunks, question="what?", words=None, dense=None):
    n = len(chunks)
    candidates = found(chunks, words or [0.0] * n, dense or [0.5] * n)
    return [hit.number for hit in best(candidates, question, now=NOW, k=99)]


def test_words_and_vectors_both_count():
    chunks = [chunk(position) for position in (10, 20, 30, 40)]
    assert order(chunks, words=[0, 0, 5, 0])[0] == 30
    assert order(chunks, dense=[0.8, 0.9, 0.8, 0.8])[0] == 20


def test_a_piece_amid_good_ones_comes_before_one_that_stands_alone():
    chunks = [chunk(position) for position in (1, 2, 3, 50, 90)]
    places = order(chunks, dense=[0.9, 0.85, 0.9, 0.85, 0.5])
    assert places.index(2) < places.index(50)


def test_the_speaker_that_a_question_names_comes_first():
    chunks = [chunk(10, name="Ada"), chunk(20, name="Bob"), chunk(30, name="Ada")]
    assert order(chunks, "What did Bob buy?")[0] == 20


def test_what_was_said_at_the_time_asked_for_comes_first():
    chunks = [chunk(10, day=0), chunk(20, day=30), chunk(30, day=59)]
    assert order(chunks, "What did we do on 31 March 2026?")[0] == 20
    assert order(chunks, "我们昨天做了什么?")[0] == 30


def test_i_asks_for_the_users_words_and_you_for_the_assistants():
    chunks = [chunk(10, role="assistant"), chunk(20, role="user")]
    assert order(chunks, "What did I plant?")[0] == 20
    assert order(chunks, "What did you suggest?")[0] == 10


def test_a_question_is_less_likely_an_answer():
    assert order([chunk(10, "Where is the key?"), chunk(20, "The key is here.")])[0] == 20


def test_the_newer_comes_first_where_all_is_equal():
    assert order([chunk(10), chunk(20), chunk(30)]) == [30, 20, 10]


def test_without_any_cosine_words_decide_and_no_score_is_shown():
    chunks = [chunk(10), chunk(20)]
    hits = best(found(chunks, [1.0, 2.0], [np.nan] * 2), "what?", now=NOW, k=9)
    assert [(hit.number, hit.score) for hit in hits] == [(20, None), (10, None)]


def test_the_signals_add_up_to_the_rank():
    chunks = [chunk(10, "Where?", day=1), chunk(20), chunk(30, role="assistant")]
    candidates = found(chunks, [1.0, 3.0, 0.0], [0.8, np.nan, 0.9])
    for hit in best(candidates, "What did I do on 2 March 2026?", now=NOW, k=9):
        assert abs(sum(hit.signals.values()) - hit.rank_score) < 0.01


@given(st.lists(st.one_of(st.floats(-1, 1), st.just(float("nan"))), max_size=20))
def test_standardized_values_are_finite_and_keep_their_order(values):
    result = standardized(np.array(values))
    assert np.isfinite(result).all()
    known = [(value, z) for value, z in zip(values, result, strict=True) if not np.isnan(value)]
    assert sorted(known) == sorted(known, key=lambda pair: (pair[1], pair[0]))


def test_no_candidates_are_no_hits():
    assert best(found([], np.empty(0), np.empty(0)), "what?", now=NOW, k=9) == []


@given(st.dictionaries(st.integers(0, 30), st.floats(-1, 1)), st.lists(st.integers(0, 30)))
def test_values_are_put_beside_their_numbers(known, wanted):
    numbers, values = np.array(list(known), np.int64), np.array(list(known.values()))
    assert aligned(np.array(wanted, np.int64), numbers, values, missing=9).tolist() == [known.get(n, 9) for n in wanted]


# --- choosing -------------------------------------------------------------------------------------------------------


def hits_of(*chunks, question="what?", dense=None, coverage=None, **options):
    n = len(chunks)
    candidates = found(chunks, np.arange(n, 0, -1.0), dense or [0.9] * n, coverage)
    return best(candidates, question, now=NOW, **{"k": 9, **options})


def test_the_same_text_is_shown_once_by_its_newest():
    hits = hits_of(chunk(1, "The bell rings."), chunk(2, "the bell  rings"), chunk(9, "Another."))
    assert [hit.number for hit in hits] == [2, 9]


def test_texts_that_differ_in_a_name_a_digit_or_a_not_are_kept_apart():
    texts = ("I like tea.", "I do not like tea.", "It costs 118 euro.", "It costs 181 euro.", "We took Ada.", "We took Bob.")
    assert len(hits_of(*(chunk(n, text) for n, text in enumerate(texts, 1)))) == len(texts)


def test_signs_without_letters_are_not_all_the_same():
    assert len(hits_of(chunk(1, "..."), chunk(2, "!"))) == 2


def test_hits_below_the_least_score_and_beyond_k_are_left_out():
    chunks = (chunk(1), chunk(20), chunk(40))
    assert {hit.number for hit in hits_of(*chunks, dense=[0.9, 0.2, 0.8], min_score=0.5)} == {1, 40}
    assert len(hits_of(*chunks, k=1)) == 1


def test_a_cosine_that_is_not_known_is_below_any_least_score():
    assert hits_of(chunk(1), dense=[float("nan")], min_score=0.1) == []
    assert len(hits_of(chunk(1), dense=[float("nan")])) == 1


def test_a_question_and_its_echo_as_a_statement_are_kept_apart():
    assert len(hits_of(chunk(1, "Red?"), chunk(2, "Red."))) == 2


SCALE = CosineScale(unrelated=0.78, unrelated_han=0.84, step=0.06)


SURE_ONES = tuple(chunk(900 + 10 * n, f"sure {n}") for n in range(SURE))


def beyond_the_first(*chunks, question="what?", dense, coverage=None):
    """Positions of those that are shown besides the ones that always are."""
    zeros = [0.0] * len(chunks)
    hits = hits_of(
        *SURE_ONES,
        *chunks,
        question=question,
        dense=[0.99] * SURE + dense,
        coverage=[1.0] * SURE + (coverage or zeros),
        scale=SCALE,
        k=99,
    )
    return {hit.number for hit in hits} - {one[0] for one in SURE_ONES}


def test_what_has_nothing_to_do_with_the_question_is_left_out():
    assert beyond_the_first(chunk(1), chunk(20), chunk(40), dense=[0.79, 0.79, 0.88], coverage=[0.0, 0.4, 0.0]) == {20, 40}


def test_chinese_is_measured_against_chinese():
    chunks = (chunk(1, "今天天气很好"), chunk(20, "The weather is fine"))
    assert beyond_the_first(*chunks, question="钥匙在哪里", dense=[0.85, 0.85]) == {20}


def test_what_was_said_at_the_time_asked_for_is_relevant():
    chunks = (chunk(1, day=1), chunk(20, day=30))
    assert beyond_the_first(*chunks, question="What did we do on 31 March 2026?", dense=[0.75, 0.75]) == {20}


def test_the_first_few_are_shown_however_little_they_seem_to_have_to_do_with_it():
    chunks = [chunk(10 * n) for n in range(1, 9)]
    assert len(hits_of(*chunks, dense=[0.7] * 8, scale=SCALE)) == SURE


def test_among_a_few_pieces_words_beat_a_chance_difference_of_cosines():
    chunks = (chunk(1, "My key is in the shed"), chunk(2, "ok", role="assistant"))
    assert order(chunks, "key", words=[2.0, 1.2], dense=[0.8882, 0.8966])[0] == 1
