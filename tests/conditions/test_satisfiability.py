import time

import pytest

from remit.conditions.parser import parse
from remit.conditions.printer import write
from remit.conditions.satisfiability import contradiction


def found(text: str) -> list[str]:
    return [write(part) for part in contradiction(parse(text))]


@pytest.mark.parametrize(
    "text",
    [
        "false",
        "!true",
        "1 == 2 || 'a' == 'b'",
        "'a' < 1",  # it has no answer, which is not a yes
        "state('a') && !state('a')",
        "state('a') && (state('b') || state('c')) && !(state('a') && state('b')) && !state('c')",
        "x == 'a' && x == 'b'",
        "x == 'a' && x != 'a'",
        "'a' == x && 'b' == x",
        "x in ['a', 'b'] && x in ['c']",
        "x in ['a', 'b'] && x != 'a' && x != 'b'",
        "x == 1 && x == true",
        "x == 1 && x == '1'",
        "x == null && x == false",
        "x > 3 && x < 2",
        "x > 3 && x <= 3",
        "3 < x && 3 > x",
        "x > 'b' && x < 'a'",
        "x < ''",
        "x == 2 && x > 'a'",
        "x && !x",
        "x && x == 'a'",
        "x == 'main' && x.startsWith('dev')",
        "x == '/a' && matchPath(x, '/b')",
        "x == 1 && matchPath(x, '/b')",
        "x.contains('a') && !x.contains('a')",
        "has(x.y) && !has(x.y)",
        "x.y == 'a' && !has(x.y)",
        "size(x) < 0",
        "size(x) > 1 && size(x) < 2",
        "size(x) == 1.5",
        "size(x)",
        "x == y && !(x == y)",
        "x == [1] && !(x == [1])",
        "(x == 'a' && x == 'b') || (x == 1 && x == 2)",
    ],
)
def test_what_can_never_hold_is_found(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "state('a') && !state('b')",
        "x == 'a' || x == 'b'",
        "x != 'a' && x != 'b'",
        "x == 1 && x == 1.0",
        "x > 3 && x < 4",  # it may be a double
        "x >= 3 && x <= 3",
        "x > 'a' && x < 'ab'",
        "!(x < 3) && !(x >= 3)",  # so is what is no number at all
        "!x.startsWith('a') && !x.startsWith('b')",
        "x.startsWith('a') && x.endsWith('b') && x.contains('c')",
        "x == 'main' && x.startsWith('ma')",
        "x.y == 'a' && has(x.y)",
        "has(x.y) || x.y == 'a'",
        "size(x) > 1 && size(x) < 3",
        "size(x) == 2 && x == 'ab'",
        "x == 9007199254740993 && x == 9007199254740992.0",
        "x == 9007199254740992 && x == 9007199254740993.0",
        "x == 1e300 && x > 1e299",
        "x == y && x == 'a' && y == 'b'",  # beyond what is reasoned about
        "x == [1] && x == [2]",
        "1 in x && !(2 in x)",
        "matchPath(x, '/a') && matchPath(x, '/b')",
        "size(x) in [1, 2] && size([x]) == 1",
        "x in [1, y] && x == 2",
    ],
)
def test_of_what_may_hold_nothing_is_said(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("state('a') && x == 1 && state('b') && x == 2", ["x == 1", "x == 2"]),
        ("state('a') && (x == 1 && x == 2)", ["x == 1", "x == 2"]),
        ("state('a') && (1 == 2 || false)", ["1 == 2 || false"]),
        ("x in [1, 2] && x != 1 && x != 2", ["x in [1, 2] && x != 1 && x != 2"]),
        (
            " && ".join([*(f"state('s{number}')" for number in range(12)), "!state('s1')"]),
            [" && ".join([*(f"state('s{number}')" for number in range(12)), "!state('s1')"])],
        ),
    ],
)
def test_the_smallest_parts_are_named(text: str, parts: list[str]) -> None:
    assert found(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        " && ".join(
            f"(state('a{n}') || state('b{n}')) && (!state('a{n}') || !state('c{n}'))" for n in range(30)
        ),
        " && ".join(["false == x", *(f"(x.a{n} || !x.b{n})" for n in range(60)), "x.z", "!x.z"]),
        " || ".join(f"x.y == 'a{n}' && x.y == 'b{n}'" for n in range(60)),
        " && ".join(f"state('s{n}')" for n in range(200)),
    ],
)
def test_it_never_takes_long(text: str) -> None:
    start = time.process_time()
    found(text)
    assert time.process_time() - start < 1
