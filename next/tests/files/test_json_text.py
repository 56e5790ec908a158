"""JSON is edited in place, in the hand of whoever wrote it."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.files import Edit, FileError, Format, JsonText, apply_edits, parse_jsonc, put_back
from support.handwriting import JsonHand

texts = st.text(st.sampled_from('ab"\\/*,{}[]:\n\té😀'), max_size=6)
keys = st.sampled_from(["a", "b", "mcpServers", "hooks", "c,d", "//", "é"])
scalars = st.none() | st.booleans() | st.integers(-9, 99) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
tops = st.dictionaries(keys, values, max_size=4)


def edited(text: str, *edits: Edit, format: Format = Format.JSON) -> str:
    return apply_edits(text, "/f", format, edits)[0]


@given(tops, keys, values, st.integers(0, 2**32))
def test_any_value_is_set_and_taken_back_in_any_hand(
    content: dict[str, Any], key: str, value: Any, seed: int
) -> None:
    text = JsonHand(random.Random(seed), is_lenient=True).text(content)  # noqa: S311 - no secrets
    after, record = apply_edits(text, "/f", Format.JSONC, [Edit((key,), value)])
    assert parse_jsonc(after.removeprefix("\ufeff")) == {**content, key: value}
    assert put_back(after, record) == (text, ())
    touched = after.replace("{", "{ /* theirs */ ", 1)
    again, _ = put_back(touched, record)
    assert again is not None
    assert parse_jsonc(again.removeprefix("\ufeff")) == content
    assert "/* theirs */" in again


@given(tops, st.integers(0, 2**32))
def test_comments_stay_when_members_come_and_go(content: dict[str, Any], seed: int) -> None:
    text = JsonHand(random.Random(seed), is_lenient=True).text(content)  # noqa: S311 - no secrets
    after, record = apply_edits(text, "/f", Format.JSONC, [Edit(("new", "key"), {"x": [1]})])
    moved = after.replace("{", "{ /* theirs */ ", 1).replace('"x"', '"y"')  # so it is taken out key by key
    again, _ = put_back(moved, record)
    assert again is not None
    assert again.count("// see") + again.count("/*") == text.count("// see") + text.count("/*") + 1


def test_new_values_follow_the_indent_and_line_ends_of_the_text() -> None:
    for text, expected in (
        ("{}", '{\n  "k": [\n    1\n  ]\n}'),
        ('{"a": 1}', '{"a": 1, "k": [1]}'),
        ('{\r\n\t"a": 1\r\n}\r\n', '{\r\n\t"a": 1,\r\n\t"k": [\r\n\t\t1\r\n\t]\r\n}\r\n'),
        ('{\n    "a": 1}', '{\n    "a": 1,\n    "k": [\n        1\n    ]}'),
        ('{\n  "k": 2,\n  "b": {}\n}', '{\n  "k": [\n    1\n  ],\n  "b": {}\n}'),
    ):
        assert edited(text, Edit(("k",), [1])) == expected


def test_several_new_members_and_items_come_one_after_the_other() -> None:
    edits = [
        Edit(("l",), 1, is_item=True),
        Edit(("l",), 2, is_item=True),
        Edit(("o", "a"), 1),
        Edit(("o", "b"), 2),
    ]
    assert edited('{"l": [0]}', *edits) == '{"l": [0, 1, 2], "o": {"a": 1, "b": 2}}'


def test_nothing_is_written_behind_a_comment_in_its_line() -> None:
    text = '{"a": 1 // one\n}'
    after, record = apply_edits(text, "/f", Format.JSONC, [Edit(("k",), 2)])
    assert after == '{"a": 1, // one\n  "k": 2\n}'
    assert put_back("// first\n" + after, record)[0] == "// first\n" + text


def test_an_item_goes_with_its_comma_and_leaves_the_comment_beside_it() -> None:
    for before, item, rest in (
        ("[1, 2, 3]", 1, "[2, 3]"),
        ("[1, 2, 3]", 2, "[1, 3]"),
        ("[1, 2, 3]", 3, "[1, 2]"),
        ("[ 1 /* one */, ]", 1, "[ /* one */]"),
        ("[ 1 /* one */ ]", 1, "[ /* one */ ]"),
    ):
        _, record = apply_edits('{"a": []}', "/f", Format.JSONC, [Edit(("a",), item, is_item=True)])
        record = replace(record, steps=())
        assert put_back(f'{{"a": {before}}}', record)[0] == f'{{"a": {rest}}}'


def test_of_duplicate_keys_the_last_counts_and_all_go() -> None:
    text = '{"a": 1, "b": 0, "a": 2}'
    assert (JsonText(text).content["a"], JsonText(text).source(("a",))) == (2, "2")
    assert edited(text, Edit(("a",), 3)) == '{"a": 1, "b": 0, "a": 3}'
    _, record = apply_edits('{"b": 0}', "/f", Format.JSON, [Edit(("a",), 2)])
    assert put_back(text, record)[0] == '{"b": 0}'


def test_a_member_is_found_with_its_line_and_source() -> None:
    document = JsonText('{\n  "a": {"b": [1 , 2]},\n  "c": null\n}')
    assert (document.place(("a", "b")), document.source(("a", "b"))) == ("line 2 column 14", "[1 , 2]")
    assert document.source(("c",)) == "null"
    assert document.find(("c", "d")) is document.find(("d",)) is document.source(()) is None


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ("", "the file is empty", "line 1 column 1"),
        ("[1]", "expected an object", "line 1 column 1"),
        ('{"a": 1}\n}', "not valid JSON: Extra data", "line 2 column 1"),
        ('{\n  "a": ,\n}', "not valid JSON: Expecting value", "line 2 column 8"),
        ('{"a": 1, // no\n"b": 2}', "not valid JSON", "line 1 column 10"),
        ('{"a": NaN}', "not valid JSON: NaN is not a value", "line 1 column 1"),
        ('{"a": ' + "9" * 5000 + "}", "a number has thousands of digits", "line 1 column 1"),
        ('{"a": ' + "[" * 100_000, "nested too deeply", "line 1 column 1"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(text: str, reason: str, place: str) -> None:
    with pytest.raises(FileError) as refused:
        JsonText(text)
    assert reason in refused.value.reason
    assert refused.value.place == place
