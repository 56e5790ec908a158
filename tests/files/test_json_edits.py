"""Edits keep every other character, whoever wrote the text, and can be taken back."""

import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.files.json_edits import add, put, put_source, take, take_item
from remit.files.json_positions import JsonText, without_comments, without_trailing_commas
from remit.files.splices import Splice, TextEditError, apply, undo

ENTRY = {"command": "/opt/remit", "args": ["serve"]}
OWN = "remit"

texts = st.text(st.sampled_from('ab"\\/*,{}[]:\n\té😀'), max_size=6)
keys = st.sampled_from(["a", "b", "mcpServers", "hooks", "c,d", "//", "é"])
scalars = st.none() | st.booleans() | st.integers(-9, 99) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
tops = st.dictionaries(keys, values, max_size=4)


class Hand:
    """Writes JSON as one of many people would: their indent, line ends, comments and commas."""

    def __init__(self, seed: int, *, is_lenient: bool) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - no secrets
        self.is_lenient = is_lenient
        self.newline = self.chance.choice(("\n", "\r\n"))
        self.unit = self.chance.choice(("  ", "    ", "\t", " ", ""))
        self.is_spread = self.chance.random() < 0.6
        self.space = self.chance.choice((" ", ""))

    def text(self, value: object) -> str:
        mark, end = self.chance.choice(("", "\ufeff")), self.chance.choice(("", self.newline, "  "))
        return mark + self._value(value, 0) + end

    def _value(self, value: Any, depth: int) -> str:
        kind = type(value).__name__
        if kind not in ("dict", "list"):
            return json.dumps(value, ensure_ascii=self.chance.random() < 0.5)
        if kind == "dict":
            opening, closing = "{}"
            named = ((f"{json.dumps(key)}:{self.space}", item) for key, item in value.items())
        else:
            opening, closing = "[]"
            named = (("", item) for item in value)
        parts = [name + self._value(item, depth + 1) for name, item in named]
        is_spread = self.is_spread and self.chance.random() < 0.9
        inner = self.newline + self.unit * (depth + 1) if is_spread else ""
        outer = self.newline + self.unit * depth if is_spread else ""
        written = ""
        for at, part in enumerate(parts):
            is_last = at + 1 == len(parts)
            comma = "" if is_last and not self._happens(0.3) else ","
            written += self._remark(inner) + inner + part + self._remark(inner) + comma
            written += self._remark(inner) + ("" if is_last or is_spread else self.space)
        return opening + written + (outer if parts else self._remark(inner)) + closing

    def _remark(self, inner: str) -> str:
        if not self._happens(0.15):
            return ""
        return " // see, {here}" + self.newline if self.chance.random() < 0.5 else f"{inner}/* [so], */"

    def _happens(self, probability: float) -> bool:
        return self.is_lenient and self.chance.random() < probability


written = st.tuples(tops, st.integers(0, 2**32), st.booleans())


def edited(document: JsonText, step: list[Splice]) -> JsonText:
    """Make an edit, which must keep the comments around it, and can be taken back."""
    after = apply(document.text, step)
    assert undo(after, [step]) == document.text
    found = JsonText(after, lenient=document.is_lenient)
    assert comments(found) == comments(document, without=step)
    return found


def comments(document: JsonText, without: list[Splice] | None = None) -> str:
    """All that is written in comments, but for those inside a value that goes."""
    gone = {at + offset for at, removed, _ in without or () for offset in range(len(removed))}
    pairs = enumerate(zip(document.text, document.bare, strict=True))
    return "".join(a for at, (a, b) in pairs if a != b and at not in gone)


def read(text: str, *, is_lenient: bool) -> Any:
    plain = text.removeprefix("\ufeff")
    return json.loads(without_trailing_commas(without_comments(plain)) if is_lenient else plain)


def open_text(example: tuple[dict[str, Any], int, bool]) -> JsonText:
    top, seed, is_lenient = example
    text = Hand(seed, is_lenient=is_lenient).text(top)
    assert read(text, is_lenient=is_lenient) == top
    return JsonText(text, lenient=is_lenient)


@given(written)
def test_a_member_is_put_where_it_belongs_and_taking_it_out_again_leaves_the_text_as_it_was(
    example: tuple[dict[str, Any], int, bool],
) -> None:
    top, _, is_lenient = example
    document = open_text(example)
    after = edited(document, put(document, (OWN,), ENTRY))
    assert read(after.text, is_lenient=is_lenient) == {**top, OWN: ENTRY}
    assert list(read(after.text, is_lenient=is_lenient)) == [*top, OWN]
    again = edited(after, take(after, (OWN,)))
    assert again.text == document.text or (not top and squeezed(again.text) == squeezed(document.text))


@given(written)
def test_a_member_is_put_below_objects_that_are_made_where_they_are_missing(
    example: tuple[dict[str, Any], int, bool],
) -> None:
    top, _, is_lenient = example
    document = open_text(example)
    inner = top.get("mcpServers", {})
    if not isinstance(inner, dict):
        with pytest.raises(TextEditError, match="`mcpServers`: expected an object"):
            put(document, ("mcpServers", OWN), ENTRY)
        return
    after = edited(document, put(document, ("mcpServers", OWN), ENTRY))
    assert read(after.text, is_lenient=is_lenient) == {**top, "mcpServers": {**inner, OWN: ENTRY}}
    path = ("mcpServers", OWN) if "mcpServers" in top else ("mcpServers",)
    again = edited(after, take(after, path))
    assert squeezed(again.text) == squeezed(document.text)
    assert inner == {} or again.text == document.text


@given(written, values)
def test_a_value_takes_the_place_of_another_and_gives_it_back(
    example: tuple[dict[str, Any], int, bool], value: object
) -> None:
    top, _, is_lenient = example
    document = open_text(example)
    for key in top:
        source = document.source((key,))
        assert source is not None
        after = edited(document, put(document, (key,), value))
        assert read(after.text, is_lenient=is_lenient) == {**top, key: value}
        assert after.value((key,)) == (value,)
        assert apply(after.text, put_source(after, (key,), source)) == document.text


@given(written)
def test_an_item_is_put_at_the_end_of_a_list_and_taken_out_again(
    example: tuple[dict[str, Any], int, bool],
) -> None:
    top, _, is_lenient = example
    document = open_text(example)
    found = top.get("hooks", [])
    if not isinstance(found, list):
        with pytest.raises(TextEditError, match="`hooks`: expected a list"):
            add(document, ("hooks",), ENTRY)
        return
    after = edited(document, add(document, ("hooks",), ENTRY))
    assert read(after.text, is_lenient=is_lenient) == {**top, "hooks": [*found, ENTRY]}
    again = edited(after, take_item(after, ("hooks",), lambda item: item == ENTRY))
    assert read(again.text, is_lenient=is_lenient) == {**top, "hooks": found}
    assert found == [] or again.text == document.text


@given(written, st.integers(0, 3))
def test_any_member_and_any_item_can_be_taken_out(
    example: tuple[dict[str, Any], int, bool], which: int
) -> None:
    top, _, is_lenient = example
    document = open_text(example)
    for key in top:
        value: Any = top[key]
        after = edited(document, take(document, (key,)))
        assert read(after.text, is_lenient=is_lenient) == {name: top[name] for name in top if name != key}
        if isinstance(top[key], list) and which < len(value):
            step = take_item(document, (key,), counted(len(value) - 1 - which))
            rest = [*value[:which], *value[which + 1 :]]
            assert read(edited(document, step).text, is_lenient=is_lenient) == {**top, key: rest}


def counted(which: int) -> Callable[[object], bool]:
    """Say yes to the item of a number, counted from the last."""
    seen = iter(range(which + 1))
    return lambda _: next(seen) == which


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


def test_what_is_not_there_is_not_taken_out() -> None:
    document = JsonText('{"a": [1], "b": 2}')
    assert take(document, ("c",)) == take(document, ("b", "c")) == []
    assert take_item(document, ("a",), lambda item: item == 9) == []
    assert take_item(document, ("b",), lambda _: True) == take_item(document, ("c",), lambda _: True) == []
    with pytest.raises(KeyError):
        put_source(document, ("c",), "1")


def test_what_stands_at_a_path_is_read_as_a_value_and_as_it_is_written() -> None:
    document = JsonText('{"a": {"b": [1 , 2]}, "c": null}')
    assert document.value(("a", "b")) == ([1, 2],)
    assert document.source(("a", "b")) == "[1 , 2]"
    assert document.value(("c",)) == (None,)
    assert document.value(("c", "d")) is document.value(("d",)) is document.source(("d",)) is None
    assert document.source(("c", "d")) is document.source(()) is None


def test_an_item_that_is_neither_first_nor_last_takes_its_comma_along() -> None:
    document = JsonText('{"a": [1, 2, 3]}')
    for item, rest in ((1, "[2, 3]"), (2, "[1, 3]"), (3, "[1, 2]")):
        step = take_item(document, ("a",), lambda value, item=item: value == item)
        assert apply(document.text, step) == f'{{"a": {rest}}}'
    alone = JsonText('{"a": [ 1 /* one */, ]}', lenient=True)
    assert apply(alone.text, take_item(alone, ("a",), lambda _: True)) == '{"a": [ /* one */]}'


def test_an_item_that_is_alone_leaves_the_comment_beside_it() -> None:
    alone = JsonText('{"a": [ 1 /* one */ ]}', lenient=True)
    assert apply(alone.text, take_item(alone, ("a",), lambda _: True)) == '{"a": [ /* one */ ]}'


def test_a_member_goes_into_no_other_thing_than_an_object() -> None:
    document = JsonText('{\n "a": 1\n}')
    with pytest.raises(TextEditError) as refused:
        put(document, ("a", "b"), 1)
    assert (refused.value.reason, refused.value.place) == ("`a`: expected an object", "line 2 column 7")


def test_of_duplicate_keys_the_last_is_the_one_that_counts() -> None:
    document = JsonText('{"a": 1, "a": 2}')
    assert document.value(("a",)) == (2,)
    assert apply(document.text, put(document, ("a",), 3)) == '{"a": 1, "a": 3}'


def test_what_is_put_in_follows_the_hand_of_the_text() -> None:
    for text, expected in (
        ("{}", '{\n  "k": [\n    1\n  ]\n}'),
        ('{"a":1}', '{"a":1,"k":[1]}'),
        ('{"a": 1}', '{"a": 1, "k": [1]}'),
        ('{\r\n\t"a": 1\r\n}\r\n', '{\r\n\t"a": 1,\r\n\t"k": [\r\n\t\t1\r\n\t]\r\n}\r\n'),
        ('{\n    "a": 1}', '{\n    "a": 1,\n    "k": [\n        1\n    ]}'),
        ('{\n  "a" : 1\n}', '{\n  "a" : 1,\n  "k" : [\n    1\n  ]\n}'),
    ):
        document = JsonText(text)
        assert apply(text, put(document, ("k",), [1])) == expected


def test_nothing_is_put_behind_a_comment_in_its_line() -> None:
    document = JsonText('{"a": 1 // one\n}', lenient=True)
    after = apply(document.text, put(document, ("k",), 2))
    assert after == '{"a": 1, // one\n  "k": 2\n}'
    again = JsonText('{"a": 1, // one\n "k": 2}', lenient=True)
    assert apply(again.text, take(again, ("k",))) == '{"a": 1 // one\n }'


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [
        ("", "the file is empty", 1, 1),
        (" \n ", "the file is empty", 1, 1),
        ("[1]", "expected an object", 1, 1),
        ('{"a": 1}\n}', "not valid JSON: Extra data", 2, 1),
        ('{\n  "a": ,\n}', "not valid JSON: Expecting value", 2, 8),
        ('{"a": 1, // no\n"b": 2}', "not valid JSON", 1, 10),
        ('{"a": NaN}', "not valid JSON: NaN is not a value", 1, 1),
        ('{"a": ' + "9" * 5000 + "}", "a number has thousands of digits", 1, 1),
        ('{"a": ' + "[" * 100_000, "nested too deeply", 1, 1),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(text: str, reason: str, line: int, column: int) -> None:
    with pytest.raises(TextEditError) as refused:
        JsonText(text)
    assert reason in refused.value.reason
    assert refused.value.place == f"line {line} column {column}"
