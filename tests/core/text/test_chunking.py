"""Pieces of a text: their size, their places, and that nothing is lost."""

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from memsrv.core.text.chunking import LEAST, MOST, spans
from memsrv.core.text.sentences import BLANK
from memsrv.model import Span

SENTENCES = {
    "English": "Dr. Weber moved to St. Gallen at 9.30 a.m. with 3.14 kg of tea. “Was it far?” she asked. He said no! ",
    "German": "Die Werkstatt öffnet um acht, z. B. am Montag. Der Schlauch kostet 7,50 Euro. Passt das Rad? ",
    "Russian": "Мастер живёт на ул. Садовой и чинит колёса. Завтра он приедет! Когда именно? ",
    "Chinese": "周末我们骑车去了湖边，风很大。你还记得那家店吗？老板说：“链条要换了。”后来他笑了……",
    "Japanese": "昨日は友達と山に登りました。とても寒かったです！「また行こう」と言いました。",
    "Korean": "어제 자전거를 고쳤습니다. 바퀴가 두 개 필요했어요! 언제 다시 갈까요? ",
    "Arabic": "أصلحت الدراجة أمس في المدينة. هل تعرف المتجر؟ السعر مناسب جدا، وهو قريب. ",
    "Urdu": "کل ہم جھیل پر گئے تھے۔ ہوا بہت تیز تھی۔ کیا تم آؤ گے؟ ",
    "Hindi": "कल हमने साइकिल ठीक की। क्या तुम्हें वह दुकान याद है? मालिक बहुत अच्छा है। ",
    "Thai": "เมื่อวานเราซ่อมจักรยาน ร้านอยู่ใกล้ทะเลสาบ เจ้าของใจดีมาก ",
    "Khmer": "យើងបានជួសជុលកង់ពីម្សិលមិញ។ ហាងនៅជិតបឹង។ ",
    "Burmese": "မနေ့က စက်ဘီးပြင်ခဲ့တယ်။ ဆိုင်က ရေကန်နားမှာ ရှိတယ်။ ",
    "Amharic": "ትናንት ብስክሌቱን ጠገንን። ሱቁ ከሐይቁ አጠገብ ነው። ",
}
ENDS = tuple(".!?。？！؟۔।។။።…”」")
texts = st.lists(
    st.sampled_from(
        [
            *SENTENCES.values(),
            "\n\n",
            "\n- ",
            "   ",
            "👨‍👩‍👧",
            "🇩🇪🇫🇷",
            "e\u0301",
            "क्षत्रि",
            "각",
            "word",
            "a" * 90,
            "字" * 90,
            "\r\n",
            " \u0301",
        ]
    )
    | st.text(max_size=40),
    max_size=40,
).map("".join)


def pieces(text: str) -> list[str]:
    return [text[span.start : span.end] for span in spans(text)]


def graphemes(text: str) -> set[int]:
    return {0, *(match.end() for match in regex.finditer(r"\X", text))}


@given(texts)
@settings(max_examples=60)
def test_pieces_stand_in_order_and_hold_every_character_that_is_not_blank(text: str) -> None:
    at = 0
    for span in spans(text):
        assert not text[at : span.start].strip()
        assert at <= span.start < span.end
        assert text[span.start : span.end].strip()
        at = span.end
    assert not text[at:].strip()


@given(texts)
@settings(max_examples=60)
def test_no_piece_is_longer_than_the_most(text: str) -> None:
    assert all(len(piece) <= MOST for piece in pieces(text))


@given(texts)
@settings(max_examples=60)
def test_every_edge_of_a_piece_is_an_edge_between_graphemes(text: str) -> None:
    edges = graphemes(text)
    assert all(span.start in edges and span.end in edges for span in spans(text))


@given(texts)
@settings(max_examples=20)
def test_the_same_text_is_cut_the_same_way(text: str) -> None:
    assert spans(text) == spans(text)


@given(texts, st.lists(st.integers(0, 2000), max_size=6))
@settings(max_examples=40)
def test_pieces_within_stretches_stay_in_them_and_cover_them(text: str, places: list[int]) -> None:
    places = sorted({min(place, len(text)) for place in places})
    stretches = [Span(start, end) for start, end in zip(places[::2], places[1::2], strict=False)]
    found = spans(text, within=stretches)
    for stretch in stretches:
        inside = [span for span in found if stretch.start <= span.start and span.end <= stretch.end]
        covered = sum(len("".join(text[span.start : span.end].split())) for span in inside)
        assert covered == len("".join(text[stretch.start : stretch.end].split()))
    assert all(any(stretch.start <= span.start and span.end <= stretch.end for stretch in stretches) for span in found)


def test_without_stretches_there_are_no_pieces() -> None:
    assert spans("something to say", within=[]) == []


@pytest.mark.parametrize("language", SENTENCES)
def test_prose_of_any_script_is_cut_at_sentence_ends_into_pieces_of_good_size(language: str) -> None:
    text = SENTENCES[language] * 25
    found = pieces(text)
    assert all(LEAST <= len(piece) <= MOST for piece in found)
    if language == "Thai":  # it has no marks: a blank ends a sentence
        assert all(text[span.end : span.end + 1] in (" ", "") for span in spans(text))
    else:
        assert all(piece.endswith(ENDS) for piece in found)


def test_a_short_text_is_one_piece_without_the_blanks_around_it() -> None:
    assert pieces("  \n Just this. And that.\n\n") == ["Just this. And that."]


def test_a_text_of_the_most_characters_is_one_piece() -> None:
    text = ("Short one. " * 40)[: MOST - 1] + "x"
    assert pieces(text) == [text]


@pytest.mark.parametrize("text", ["", " ", " \n\t\u3000\u2028 ", "\x1c\x1f"])
def test_a_blank_text_has_no_pieces(text: str) -> None:
    assert spans(text) == []


def test_blanks_are_what_python_takes_for_blanks() -> None:
    named = regex.compile(rf"[{BLANK}]")
    assert all(bool(named.match(chr(code))) == chr(code).isspace() for code in range(0x11000))


@pytest.mark.parametrize(
    "short",
    ["Dr. Adams", "e.g. This", "U.S. Navy", "No. 7", "3.14", "J. Doe", "https://a.example/x.Y?z=1", "Prof. Ito", "i.e. That"],
)
def test_a_point_that_ends_no_sentence_is_no_place_for_a_cut(short: str) -> None:
    text = "w" * 150 + ". " + "Then we all met there again " * 5 + short + " " + "and so on it went " * 30
    assert not any(span.end - len(short) < text.index(short) < span.end < text.index(short) + len(short) for span in spans(text))
    assert pieces(text)[0].endswith(("w.", "again", "on", "went", "so", "it", "and"))


def test_a_paragraph_is_a_stronger_place_than_a_later_sentence() -> None:
    first, rest = "The chain is worn and must go. " * 7, "The new one is here. It was not cheap. " * 12
    assert pieces(first + "\n\n" + rest)[0] == first.strip()


def test_a_sentence_is_a_stronger_place_than_a_later_comma_or_line_of_a_page() -> None:
    sentence = "The road along the lake was closed for the whole of the summer and nobody could tell why. " * 3
    lines = (
        "\nAnd so, as it was, the riders took the long way over the hill which is"
        "\nsteep and narrow and has, they say, no end of stones and water at all "
    )
    assert pieces(sentence + lines * 4)[0] == sentence.strip()


def test_list_items_stay_whole() -> None:
    text = "\n".join(f"- item {number}: check the brakes, the lamps and the bell of bike {number}" for number in range(30))
    assert all(piece.startswith("- item") for piece in pieces(text))


def test_table_rows_stay_whole() -> None:
    text = "\n".join(f"| PX-{number} | tyre, 28 inch. Red | {number * 3}.50 |" for number in range(60))
    assert all(piece.startswith("| PX-") and piece.endswith(" |") for piece in pieces(text))


def test_code_is_cut_between_lines() -> None:
    lines = [f'    total_{number} = price * {number}  # Dr. No. This. "a, b; c"' for number in range(40)]
    text = "Look:\n\n```python\n" + "\n".join(lines) + "\n```\n\nThat was it."
    whole = {line.strip() for line in text.split("\n")}
    assert all(line.strip() in whole for piece in pieces(text) for line in piece.split("\n"))


def test_a_fence_is_not_torn_from_the_first_and_last_line_of_its_code() -> None:
    text = (
        "Intro words. " * 18 + "\n```\n" + "\n".join(f"run {number}" for number in range(60)) + "\n```\n" + "After words. " * 30
    )
    found = pieces(text)
    assert not any(piece.endswith("\n```") and piece.startswith("Intro") for piece in found)
    assert not any(piece.startswith("```\nAfter") for piece in found)


def test_a_heading_stays_with_its_text() -> None:
    text = "".join(f"## Part {number}\n" + "Some words on that part of the plan. " * 7 + "\n\n" for number in range(6))
    assert all(piece.startswith("## Part") for piece in pieces(text))


def test_a_url_that_fits_a_piece_is_not_cut() -> None:
    url = "https://shop.example.com/" + "part/of-it?q=1&" * 22
    assert any(url in piece for piece in pieces("See what I found there, it is quite long: " * 4 + url + " and tell me. " * 40))


def test_a_word_that_fits_a_piece_is_not_cut_for_the_sake_of_size() -> None:
    word = "x" * 260
    assert all(word in piece for piece in pieces(" ".join([word] * 5)))


@pytest.mark.parametrize("wall", ["a", "字", "_", "。", "👨‍👩‍👧", "🇩🇪", "각", "क्षि", "สี", "-"])
def test_a_wall_is_cut_into_pieces_of_good_size(wall: str) -> None:
    text = wall * 3001
    edges = graphemes(text)
    assert all(LEAST <= span.end - span.start <= MOST and span.end in edges for span in spans(text))
    assert "".join(pieces(text)) == text


def test_a_grapheme_longer_than_a_piece_is_cut() -> None:
    assert [len(piece) for piece in pieces("e" + "\u0301" * 900)] == [400, 301, 200]


def test_two_halves_of_a_surrogate_pair_stay_together() -> None:
    text = "\ud83d\ude00" * 500
    assert all((span.end - span.start) % 2 == 0 for span in spans(text))


def test_a_rest_just_over_the_most_is_balanced() -> None:
    for length in range(MOST + 1, 2 * MOST):
        assert all(len(piece) >= LEAST for piece in pieces("字" * length))


def test_wide_gaps_do_not_count_as_text() -> None:
    assert pieces("here" + " " * 2000 + "there") == ["here", "there"]
