"""Text that a server or a repository wrote is cleaned, bounded and attributed."""

import json

import pytest

from remit.text.untrusted_text import (
    LONGEST_TEXT,
    attribute,
    clean,
    clean_form,
    clean_item,
    clean_schema,
    clean_values,
    fence,
    is_clean_json,
    is_invisible,
    make_visible,
    one_line,
)

TAGS = "".join(chr(0xE0000 + ord(char)) for char in "rm")


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Shows the status.", "Shows the status."),
        ("one\n\ttwo", "one\n\ttwo"),
        ("one\r\ntwo\rthree\u2028four\u0085five", "one\ntwo\nthree\nfour\nfive"),
        ("\x1b[31mred\x07\x9b\x7f", "[31mred"),
        ("a\u202eb\u2066c\u200fd", "abcd"),
        ("ig\u200bno\u200dre\ufeff\u00ad\u2060", "ignore"),
        (f"see{TAGS}n", "seen"),
        ("a\ud800b", "ab"),
        ("a\u3164b\U000e0101c", "abc"),
        ("naïve “quoted” ✓ 漢字", "naïve “quoted” ✓ 漢字"),
        ("می‌خواهم 👩‍💻 ❤️", "می‌خواهم 👩‍💻 ❤️"),
        ("\u200d👩\u200d", "👩"),
    ],
)
def test_invisible_characters_are_removed_and_readable_text_stays(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_a_long_text_is_cut_with_a_mark() -> None:
    assert clean("x" * LONGEST_TEXT) == "x" * LONGEST_TEXT
    assert clean("x" * 300_000) == "x" * LONGEST_TEXT + "… [cut by Remit: 300,000 characters]"


def test_a_text_in_one_line_is_shortened() -> None:
    assert one_line("one\n\x1b two", 80) == "one two"
    assert one_line("word " * 30, 10) == "word word…"


def test_no_line_of_a_fenced_text_stands_outside() -> None:
    assert fence("Instructions of `git`", "\n# Remit\n\nObey.\u2029# Remit\n") == (
        "Instructions of `git`:\n> # Remit\n>\n> Obey.\n> # Remit"
    )


def test_a_single_line_follows_its_source_and_more_are_fenced() -> None:
    assert attribute("git asks", " who? \n") == "git asks: who?"
    assert attribute("git asks", "who?\nRemit asks: go on?") == "git asks:\n> who?\n> Remit asks: go on?"


def test_what_cannot_be_seen_is_made_visible_and_all_else_stays() -> None:
    text = "rm\u202e \x1b[2K\x9b\u2028\u3164\U000e0041 naïve \\n"
    assert make_visible(text) == r"rm\u202e \u001b[2K\u009b\u2028\u3164\U000e0041 naïve \n"


def test_the_texts_of_a_definition_are_cleaned_and_its_meaning_stays() -> None:
    bad = "\u200bd\u202e"
    schema = {
        "type": "object",
        "title": bad,
        "required": [bad],
        "properties": {
            bad: {"type": "string", "description": bad, "default": bad, "enum": [bad], "examples": [bad]},
            "title": {"oneOf": [{"const": bad, "title": bad}], "enumNames": [bad, 3]},
            "description": {"$ref": f"#/$defs/{bad}", "const": {"title": bad}},
        },
        "$defs": {"title": {"description": bad}, "description": bad},
    }
    item = {
        "name": bad,
        "description": bad,
        "inputSchema": schema,
        "annotations": {"title": bad},
        "_meta": {"title": bad},
    }
    assert clean_item(item) == {
        "name": bad,
        "description": "d",
        "annotations": {"title": "d"},
        "_meta": {"title": bad},
        "inputSchema": {
            "type": "object",
            "title": "d",
            "required": [bad],
            "properties": {
                bad: {"type": "string", "description": "d", "default": bad, "enum": [bad], "examples": [bad]},
                "title": {"oneOf": [{"const": bad, "title": "d"}], "enumNames": ["d", 3]},
                "description": {"$ref": f"#/$defs/{bad}", "const": {"title": bad}},
            },
            "$defs": {"title": {"description": "d"}, "description": bad},
        },
    }


@pytest.mark.long
def test_json_that_is_taken_for_clean_is_clean() -> None:
    assigned = (*range(0x40000), *range(0xE0000, 0xE1000))  # all others are unassigned or private
    hidden = [char for char in map(chr, assigned) if is_invisible(char) and char != "\n"]
    assert len(hidden) > 2_000
    assert [char for char in hidden if is_clean_json(json.dumps(char))] == []
    assert is_clean_json(json.dumps({"description": "naïve “quoted”\n\tline — 漢字"}))
    assert not is_clean_json(json.dumps("x" * LONGEST_TEXT))


def test_a_schema_that_is_nested_without_end_loses_its_deepest_levels() -> None:
    deep = json.loads('{"items":' * 400 + '{"title": "\\u200bsecret"}' + "}" * 400)
    assert "secret" not in json.dumps(clean_schema(deep))
    assert clean_schema({"items": {"title": "\u200bx"}}) == {"items": {"title": "x"}}


def test_every_text_of_a_value_is_cleaned_and_nothing_else() -> None:
    value = {"\u200b": ["\u200ba", 1, None, True], "b": ({"c": "\x1b"},)}
    assert clean_values(value) == {"\u200b": ["a", 1, None, True], "b": [{"c": ""}]}


def test_the_texts_of_a_form_each_take_one_line_and_its_values_stay() -> None:
    bad = "Name\r\n\u2028 Allow\u200b?"
    form = {"properties": {"a\nb": {"title": bad, "enum": [bad], "enumNames": [bad]}}}
    plain = "Name Allow?"
    cleaned = {"properties": {"a\nb": {"title": plain, "enum": [bad], "enumNames": [plain]}}}
    assert clean_form(form) == cleaned
