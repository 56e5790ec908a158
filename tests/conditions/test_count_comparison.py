"""Comparisons of a count with a number."""

import pytest

from remit.conditions.count_comparison import comparison


@pytest.mark.parametrize(
    ("text", "holding"),
    [
        (">= 3", [3, 4]),
        ("> 3", [4]),
        ("<3", [0, 2]),
        ("<= 3", [0, 2, 3]),
        ("== 3", [3]),
        ("3", [3]),
        (3, [3]),
        ("!= 3", [0, 2, 4]),
    ],
)
def test_a_count_is_compared_as_it_is_written(text: str | int, holding: list[int]) -> None:
    read = comparison(text)
    assert read is not None
    assert [count for count in (0, 2, 3, 4) if read.holds(count)] == holding


@pytest.mark.parametrize("text", ["", "many", ">= -1", "=> 3", "3.5", "9999999999", 10**40, "> 3 < 5"])
def test_what_is_no_comparison_is_none(text: str | int) -> None:
    assert comparison(text) is None
