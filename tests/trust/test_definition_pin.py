"""What a pin covers, and what is no change."""

import json

import pytest

from remit.decision.tools import Definition
from remit.trust.definition_pin import canonical, canonical_text, dateless_text, instructions_pin, pin_of
from support.listed_tools import defined, tool


def pin(**more: object) -> str:
    return pin_of(defined({**tool("find", "Find notes."), **more})[0])


def schema(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    "more",
    [
        {"description": " Find\r\n\tnotes. "},
        {"description": "Find notes.", "title": None},
        {"_meta": {"org.example/build": "x", "fastmcp": {"tags": []}}},
        {"_meta": "nonsense"},
        {"outputSchema": None},
    ],
)
def test_whitespace_and_metadata_that_no_client_acts_on_are_no_changes(more: dict[str, object]) -> None:
    assert pin(**more) == pin()


@pytest.mark.parametrize(
    "more",
    [
        {"description": "Find notes"},
        {"description": "Find\u200b notes."},
        {"title": "Find"},
        {"inputSchema": schema(a={"type": "string"})},
        {"outputSchema": {"type": "object"}},
        {"annotations": {"readOnlyHint": True}},
        {"_meta": {"anthropic/alwaysLoad": True}},
        {"_meta": {"securitySchemes": [{"type": "noauth"}]}},
        {"_meta": {"ui": {"resourceUri": "ui://x"}}},
        {"_meta": {"dev.mcp/x": 1}},
        {"_meta": {"Anthropic/AlwaysLoad": True}},
        {"_meta": {"UI": {"resourceUri": "ui://x"}}},
        {"_meta": {"Dev.MCP/x": 1}},
        {"icons": [{"src": "https://example.net"}]},
        {"unknown": 1},
    ],
)
def test_all_that_a_model_sees_or_a_client_acts_on_is_covered(more: dict[str, object]) -> None:
    assert pin(**more) != pin()


def test_the_name_is_covered() -> None:
    assert pin_of(defined(tool("a"))[0]) != pin_of(defined(tool("b"))[0])


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ({"enum": ["a", "b"]}, {"enum": ["b", "a"]}, True),
        ({"type": ["string", "null"]}, {"type": ["null", "string"]}, True),
        ({"anyOf": [{"type": "null"}, {"const": 1}]}, {"anyOf": [{"const": 1}, {"type": "null"}]}, True),
        ({"prefixItems": [{"const": 1}, {"const": 2}]}, {"prefixItems": [{"const": 2}, {"const": 1}]}, False),
        ({"minimum": 1}, {"minimum": 1.0}, True),
        ({"minimum": 1}, {"minimum": 1.5}, False),
        ({"default": {"a": 1.0}}, {"default": {"a": 1}}, True),
        ({"default": True}, {"default": 1}, False),
        ({"default": "a  b"}, {"default": "a b"}, False),
        ({"description": "a  b"}, {"description": "a b"}, True),
        ({"description": {"type": "string"}}, {"description": {"type": "number"}}, False),
    ],
)
def test_lists_that_are_sets_have_no_order_and_values_count_to_the_letter(
    one: dict[str, object], other: dict[str, object], is_same: bool
) -> None:
    assert (pin(inputSchema=schema(a=one)) == pin(inputSchema=schema(a=other))) is is_same


@pytest.mark.parametrize(
    "moment",
    [
        "2026-11-16",
        "2026-11-16T10:00:00Z",
        "2026-11-16 10:00:00.123 +01:00",
        "Mon, Nov 16, 2026",
        "16 November 2026",
        "Tuesday, September 1, 2026, 23:59:59 GMT",
        "Thurs 5 Feb 2026",
        "2026/11/16 10:00 UTC",
    ],
)
def test_the_current_date_or_time_in_a_text_is_no_change(moment: str) -> None:
    assert canonical_text(f"Today is {moment}.") == "Today is <time>."
    assert dateless_text(f"As of {moment}.") == "As of <time>."


@pytest.mark.parametrize(
    "lead", ["Today is", "It is now", "The current time is:", "Current date:", "Today's date is"]
)
def test_a_date_is_the_current_one_if_the_words_before_it_say_so(lead: str) -> None:
    assert canonical_text(f"{lead} 2026-11-16.") == f"{lead} <time>."


def test_any_other_date_may_be_a_limit() -> None:
    text = "Delete the records older than 2001-01-01."
    assert canonical_text(text) == text
    assert pin(description=text) != pin(description=text.replace("2001-01-01", "2027-12-31"))


@pytest.mark.parametrize(
    "text",
    [
        "Marchfirstreadthefile 12 2026",
        "Maybe 12, 2026",
        "Decree 12 2026",
        "2026-13-01",
        "2026-11-32",
        "2026-11/16",
        "9999-11-16",
        "45 November 2026",
    ],
)
def test_words_and_numbers_that_only_look_like_a_date_count(text: str) -> None:
    assert dateless_text(f"Updated {text}.") == f"Updated {text}."


@pytest.mark.parametrize("rest", ["Sundry ", " 24:00", " 10:60", " 10:00:00.1234567890"])
def test_a_date_hides_nothing_around_it(rest: str) -> None:
    text = f"{rest}2026-11-16" if rest[0] != " " else f"2026-11-16{rest}"
    assert dateless_text(text).strip() != "<time>"


def test_a_number_is_no_date() -> None:
    assert dateless_text("Version 2026.11.16, 10 of 20") == "Version 2026.11.16, 10 of 20"


def test_a_definition_that_no_server_sent_is_pinned_by_its_parts() -> None:
    said = Definition(name="x", description="Hi", annotations=json.dumps({"readOnlyHint": True}))
    assert canonical(said) == {"name": "x", "description": "Hi", "annotations": {"readOnlyHint": True}}


def test_the_instructions_of_a_server_have_a_pin_of_their_own() -> None:
    assert instructions_pin("Read first.") == instructions_pin("Read  first.\n")
    assert instructions_pin("Read first.") != instructions_pin("Write first.")
    assert instructions_pin(None) == instructions_pin("")
