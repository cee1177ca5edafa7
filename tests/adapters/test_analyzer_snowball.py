"""Text and query meet in the same terms, whatever the spelling, and no text makes the analyzer slow or fail."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsrv.adapters.analyzer_snowball import LONGEST, SnowballAnalyzer

analyzer = SnowballAnalyzer()


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The runners were running", "run"),
        ("a CAFÉ in Malmö", "cafe malmo"),
        ("ＰＸ－４４３１", "px-4431"),
        ("Caroline's bike", "caroline"),
        ("Caroline’s bike", "Caroline"),
        ("l'amour toujours", "amour"),
        ("O'Brien called", "obrien"),
        ("it costs 1,500 euro", "1500"),
        ("В мастерской чинили колёса", "колеса"),
        ("दुकानों में", "दुकान"),
        ("τα ποδήλατα", "ποδηλατα"),
        ("كِتَابٌ", "كتاب"),
        ("自行车店周末营业", "周末"),
        ("我在北京大学学习", "大学"),
        ("昨日は東京で買いました", "東京"),
        ("カタカナのことば", "カタカナ"),
        ("자전거를 고쳤습니다", "자전거"),
        ("เราซ่อมจักรยานแล้ว", "จักรยาน"),
        ("ហាងនៅជិតបឹង", "បឹង"),
        ("ဆိုင်က ရေကန်နားမှာ", "ရေကန်"),
        ("iPhone15手机", "手机 iphone15"),
        ("written in C++ and C#", "c++ c#"),
    ],
)
def test_a_query_finds_all_its_terms_in_the_text(text: str, query: str) -> None:
    wanted = analyzer.terms(query)
    assert wanted
    assert set(wanted) <= set(analyzer.terms(text))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("PX-4431", ["px-4431", "px", "4431"]),
        ("42-559", ["42-559", "42", "559"]),
        ("SKU/28-622", ["sku/28-622", "28-622", "sku", "28", "622"]),
        ("4fb9c2e", ["4fb9c2e"]),
        ("7B", ["7b"]),
        ("3.14", ["3.14", "3", "14"]),
        ("jo.lund@mail.example", ["jo.lund@mail.example", "jo.lund", "mail.example", "jo", "lund", "mail", "exampl"]),
        ("snake_case", ["snake_case", "snake", "case"]),
        ("well-known", ["well", "known"]),
    ],
)
def test_a_name_is_a_term_whole_and_in_parts(text: str, terms: list[str]) -> None:
    assert analyzer.terms(text) == terms


def test_a_url_is_found_by_its_host_and_by_the_words_of_its_path() -> None:
    terms = analyzer.terms("see https://shop.example.com/winter-tyres/Sizes?ref=77")
    assert {"shop.example.com", "winter", "tyre", "size", "77"} <= set(terms)


def test_terms_stand_in_order_and_as_often_as_they_occur() -> None:
    assert analyzer.terms("red bell, blue bell, red lamp") == ["red", "bell", "blue", "bell", "red", "lamp"]


def test_stop_words_and_question_words_are_left_out() -> None:
    assert analyzer.terms("What is the colour of Caroline's bike, and where is it?") == ["colour", "carolin", "bike"]
    assert analyzer.terms("我的自行车在哪里？") == ["自行", "行车", "自行车", "自", "行", "车", "里"]


@pytest.mark.parametrize("query", ["who are you", "don't", "什么", "The"])
def test_a_query_of_stop_words_alone_keeps_them(query: str) -> None:
    assert analyzer.terms(query)


@pytest.mark.parametrize("text", ["", "  \n", "?! ... --", "\x00", "\ud83d"])
def test_a_text_without_words_has_no_terms(text: str) -> None:
    assert analyzer.terms(text) == []


@given(st.text(st.characters(exclude_categories=[]), max_size=120))
def test_any_text_has_terms_of_bounded_length_without_blanks(text: str) -> None:
    assert all(0 < len(term) <= LONGEST and not any(char.isspace() for char in term) for term in analyzer.terms(text))


@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=40))
def test_case_makes_no_difference(text: str) -> None:
    assert analyzer.terms(text) == analyzer.terms(text.casefold())


@pytest.mark.parametrize("flood", ["a", "字", "a-", "a/b1", "e\u0301\u0323", "สวัสดี", "가", "'", "x@"])
def test_a_flood_of_one_kind_gives_terms_of_bounded_length(flood: str) -> None:
    assert all(len(term) <= LONGEST for term in analyzer.terms(flood * 20_000))


def test_a_long_word_is_found_by_its_beginning() -> None:
    assert analyzer.terms("a" * 300_000) == ["a" * LONGEST]


def test_threads_get_the_same_terms_as_one() -> None:
    analyzer.warm()
    texts = [f"running{number} runners were quickly going nationally 我们在学习中文 бегали" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(analyzer.terms, texts)) == [analyzer.terms(text) for text in texts]
