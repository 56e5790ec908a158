"""Where keys stand in a TOML text."""

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as some

from remit.configuration.config_model import KEY_SEPARATOR
from remit.configuration.toml_positions import positions

TEXT = '''strategy = "auto" # states = 1
[states.project-loaded]
description = "A = [x]"
file = ["a",
  "b = c"]   # d = 1

[ tools . "mcp__deploy__*" ]
when = """
state('x') &&
 git.branch != 'main' """
states = { all = ["a"], "any" = ["b"] }
[states]
z = { value = { file = "p.json", at = 'x' }, implies = [] }
[[many]]
one.two = true
'''


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("strategy",), [1, 1, 1, 13]),
        (("states", "project-loaded"), [2, 2, 2, 2]),
        (("states", "project-loaded", "file"), [4, 1, 4, 8]),
        (("tools", "mcp__deploy__*"), [7, 3, 7, 3]),
        (("tools", "mcp__deploy__*", "when"), [8, 1, 9, 1]),
        (("tools", "mcp__deploy__*", "states"), [11, 1, 11, 10]),
        (("tools", "mcp__deploy__*", "states", "any"), [11, 25, 11, 33]),
        (("states", "z", "value", "at"), [13, 34, 13, 40]),
        (("states", "z", "implies"), [13, 46, 13, 56]),
        (("many", "one", "two"), [15, 1, 15, 11]),
    ],
)
def test_a_key_has_a_line_and_a_column_and_so_has_what_is_inside_its_value(
    path: tuple[str, ...], expected: list[int]
) -> None:
    assert positions(TEXT)[KEY_SEPARATOR.join(path)] == expected


def test_what_looks_like_a_key_in_a_text_or_a_comment_is_none() -> None:
    assert {key.split(KEY_SEPARATOR)[0] for key in positions(TEXT)} == {"strategy", "states", "tools", "many"}


def test_only_so_many_keys_are_kept() -> None:
    assert len(positions("\n".join(f"k{number} = 1" for number in range(6000)))) == 5000


def test_an_escaped_key_is_the_key_that_it_means() -> None:
    text = '"a\\tb\\u0041\\"" = 1\n\'c\\d\' = 2\n"\\U0001F600" = 3\n'
    assert set(positions(text)) == set(tomllib.loads(text)) == {'a\tbA"', "c\\d", "\U0001f600"}


KEY = some.text("ab-_", min_size=1, max_size=3) | some.sampled_from(['"x.y"', "'#'", '"["', '"="'])
VALUE = some.recursive(
    some.sampled_from(
        ["1", "true", '"a = 1 # x"', "'[b]'", '"""\nk = 1\n"""', "'''\n[q]\n'''", "1979-05-27"]
    ),
    lambda inner: (
        some.lists(inner, max_size=3).map(lambda items: f"[ {', '.join(items)} ]")
        | some.dictionaries(KEY, inner, max_size=3).map(
            lambda table: "{ " + ", ".join(f"{key} = {value}" for key, value in table.items()) + " }"
        )
    ),
    max_leaves=5,
)
TABLE = some.tuples(KEY, some.dictionaries(KEY, VALUE, max_size=4))


@pytest.mark.long
@given(some.lists(TABLE, max_size=4))
def test_every_key_that_the_parser_finds_is_found(tables: list[tuple[str, dict[str, str]]]) -> None:
    sections = (
        f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in each.items()) for name, each in tables
    )
    text = "\n# [comment] a = 1\n".join(sections)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError:  # the same key twice
        return
    found = positions(text)
    assert [path for path in _paths(content, ()) if KEY_SEPARATOR.join(path) not in found] == []


def _paths(table: dict[str, object], above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, value in table.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from _paths(value, (*above, key))  # pyright: ignore[reportUnknownArgumentType]


@given(some.text("[]{}=.,\"'#\n ab", max_size=40))
def test_no_text_stops_the_search(text: str) -> None:
    assert isinstance(positions(text), dict)
