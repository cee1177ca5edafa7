"""Everything that is sent is counted."""

import pytest

from memsrv.core.prompt.sizes import Sizes


def by_four(text: str) -> int:
    return -(-len(text) // 4)


@pytest.fixture
def sizes() -> Sizes:
    return Sizes(by_four)


def test_a_message_costs_its_content_and_its_frame(sizes: Sizes) -> None:
    assert sizes.message({"role": "user", "content": "x" * 40}) == 14
    assert sizes.message({"role": "user", "content": None}) == 4


def test_a_name_is_counted(sizes: Sizes) -> None:
    assert sizes.message({"role": "user", "content": "", "name": "Adaa"}) == 4 + 1 + 1


def test_tool_calls_are_counted_with_their_arguments(sizes: Sizes) -> None:
    call = {"id": "call", "type": "function", "function": {"name": "look", "arguments": "x" * 400}}
    assert sizes.message({"role": "assistant", "content": None, "tool_calls": [call]}) == 4 + 8 + 1 + 1 + 100


def test_the_id_that_a_result_answers_is_counted(sizes: Sizes) -> None:
    assert sizes.message({"role": "tool", "content": "okay", "tool_call_id": "call"}) == 4 + 1 + 1


def test_an_image_costs_a_fixed_sum_whatever_its_bytes(sizes: Sizes) -> None:
    url = {"url": "data:image/png;base64," + "A" * 500_000}
    assert sizes.part({"type": "image_url", "image_url": url}) == 765
    assert sizes.part({"type": "image_url", "image_url": {**url, "detail": "low"}}) == 85


def test_a_part_is_counted_by_its_type_whatever_text_it_has(sizes: Sizes) -> None:
    assert sizes.part({"type": "image_url", "text": "", "image_url": {"url": "data:image/png;base64,AAAA"}}) == 765
    assert sizes.part({"type": "file", "text": "x", "file": {"file_data": "A" * 100_000}}) > 25_000


def test_an_image_is_priced_without_its_bytes_only(sizes: Sizes) -> None:
    assert sizes.part({"type": "image_url", "image_url": {"url": "https://x.example/" + "a" * 8_000}}) > 2_000
    assert sizes.part({"type": "image", "source": {"media_type": "image/png", "data": "A" * 8_000}}) == 765


def test_another_part_costs_what_all_of_it_costs_as_text(sizes: Sizes) -> None:
    assert sizes.part({"type": "file"}) == 85
    assert sizes.part({"type": "input_audio", "input_audio": {"data": "A" * 4_000}}) in range(1_000, 1_030)
    assert sizes.part({"type": "file", "file": {"file_data": "A" * 100_000}}) in range(25_000, 25_050)


def test_a_prompt_costs_its_messages_and_three(sizes: Sizes) -> None:
    assert sizes.prompt([{"role": "user", "content": "okay"}] * 2) == 2 * 5 + 3


def test_what_is_over_a_limit_has_no_size_within_it(sizes: Sizes) -> None:
    said = {"role": "user", "content": "x" * 400}
    assert sizes.within([said], 104) == 104
    assert sizes.within([said], 103) is None


def test_a_text_is_counted_once() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return 1

    sizes = Sizes(count)
    assert sizes.text("a") + sizes.text("a") == 2
    assert counted == ["a"]
