"""JSON paths: what they select, and which cannot be read."""

import time
from typing import Any

import pytest

from remit.presentation.results.json_path import JsonPathError, member_path, select

VALUE: dict[str, Any] = {"a": {"b": [1, 2, 3], "x-y": {"b": None}}, "key with 'quote'": 5, "0": "zero", "": 7}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("$", [VALUE]),
        ("", [VALUE]),
        ("$.a.b[0]", [1]),
        ("a.b[-1]", [3]),
        ("$.a.b.1", [2]),
        ("$.a.b[5]", []),
        ("$.a.b[1:]", [2, 3]),
        ("$.a.b[:-1]", [1, 2]),
        ("$.a.b[*]", [1, 2, 3]),
        ("$.a.x-y.b", [None]),
        ("$[\"key with 'quote'\"]", [5]),
        (r"$['key with \'quote\'']", [5]),
        ("$['']", [7]),
        ("$[0]", ["zero"]),
        ("$..b", [[1, 2, 3], None]),
        ("$.a.b[0].c", []),
        ("$.a[1:2]", []),
        ("$.a.b.name", []),
    ],
)
def test_a_path_selects(path: str, values: list[Any]) -> None:
    assert select(VALUE, path).values == values


def test_everything_below_comes_in_the_order_of_the_text() -> None:
    assert select({"a": [1, {"b": 2}]}, "$..*").values == [
        {"a": [1, {"b": 2}]},
        [1, {"b": 2}],
        1,
        {"b": 2},
        2,
    ]


def test_only_a_path_without_wildcards_is_single() -> None:
    assert select(VALUE, "$.a.b[0]").is_single
    assert not select(VALUE, "$.a.b[0:1]").is_single
    assert not select(VALUE, "$..b").is_single


@pytest.mark.parametrize("path", ["$.", "$[", "$.a[?(@.b)]", "$.a b", "$" + ".a" * 60, "x" * 2_000])
def test_a_path_that_cannot_be_read_is_an_error(path: str) -> None:
    with pytest.raises(JsonPathError):
        select(VALUE, path)


@pytest.mark.parametrize("name", ["plain", "with space", "it's", "back\\slash", "0", "", "schön"])
def test_the_path_of_any_member_selects_it(name: str) -> None:
    assert select({name: "found", "other": 1}, member_path("$", name)).values == ["found"]


@pytest.mark.long
@pytest.mark.parametrize("path", ["$..*..*..*", "$" + "..a" * 8, "$[*][*]..*..*"])
def test_wildcards_that_multiply_are_refused_in_bounded_time(path: str) -> None:
    value: Any = [[{"a": number} for number in range(200)] for _ in range(200)]
    for _ in range(200):
        value = {"a": value}
    visited = time.process_time()
    with pytest.raises(JsonPathError, match="name the members"):
        select([value] * 20, path)
    assert time.process_time() - visited < 30  # seconds; without a bound, it takes hours
