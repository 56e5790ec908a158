"""What a pin covers, what is no change, and how a change is shown."""

import pytest

from remit.store import make_definition
from remit.trust import diff, lines_of, pin_of
from support.builders import declared
from support.trusted import defined

NOTES = declared("notes")


def pin(**more: object) -> str:
    raw = {"name": "find", "description": "Find notes.", **more}
    return pin_of(make_definition("mcp__notes__find", "notes", "find", None, raw))


def pin_of_parameter(**schema: object) -> str:
    return pin(inputSchema={"type": "object", "properties": {"a": schema}})


@pytest.mark.parametrize(
    "more",
    [
        {"description": " Find\r\n\tnotes. "},
        {"title": None},
        {"_meta": {"org.example/build": "x", "fastmcp": {"tags": []}}},
        {"_meta": "nonsense"},
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
        {"inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}},
        {"annotations": {"readOnlyHint": True}},
        {"_meta": {"Anthropic/AlwaysLoad": True}},
        {"_meta": {"ui": {"resourceUri": "ui://x"}}},
        {"_meta": {"dev.mcp/x": 1}},
        {"unknown": 1},
    ],
)
def test_all_that_a_model_reads_or_a_client_acts_on_counts_unknown_fields_too(
    more: dict[str, object],
) -> None:
    assert pin(**more) != pin()


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ({"type": "string", "minLength": 1}, {"minLength": 1, "type": "string"}, True),
        ({"enum": ["a", "b"]}, {"enum": ["b", "a"]}, True),
        ({"type": ["string", "null"]}, {"type": ["null", "string"]}, True),
        ({"prefixItems": [{"const": 1}, {"const": 2}]}, {"prefixItems": [{"const": 2}, {"const": 1}]}, False),
        ({"minimum": 1}, {"minimum": 1.0}, True),
        ({"minimum": 1}, {"minimum": 1.5}, False),
        ({"default": True}, {"default": 1}, False),
        ({"default": "a  b"}, {"default": "a b"}, False),
        ({"description": "a  b"}, {"description": "a b"}, True),
    ],
)
def test_lists_that_are_sets_have_no_order_and_values_count_to_the_letter(
    one: dict[str, object], other: dict[str, object], is_same: bool
) -> None:
    assert (pin_of_parameter(**one) == pin_of_parameter(**other)) is is_same


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("Today is 2026-11-16.", "Today is 2026-11-17T10:00:00Z.", True),
        ("The current time is: Mon, Nov 16, 2026", "The current time is: 17 November 2026", True),
        ("Delete records older than 2001-01-01.", "Delete records older than 2027-12-31.", False),
        ("Today is Maybe 12, 2026.", "Today is Maybe 13, 2026.", False),
        ("Today is 2026-11-16Sundry", "Today is 2026-11-17Sundry", False),
    ],
)
def test_only_todays_date_is_no_change(one: str, other: str, is_same: bool) -> None:
    assert (pin(description=one) == pin(description=other)) is is_same


def test_a_diff_shows_sentences_parameters_and_annotations_that_changed() -> None:
    before = defined(
        NOTES,
        "find",
        "Find notes. Results are sorted.",
        inputSchema={"type": "object", "properties": {"a": {"type": "string", "description": "What."}}},
        annotations={"readOnlyHint": True},
    )
    after = defined(
        NOTES,
        "find",
        "Find notes. Results are not sorted.",
        inputSchema={
            "type": "object",
            "properties": {"a": {"type": "string", "maxLength": 3}, "b": True},
            "required": ["a"],
            "additionalProperties": False,
        },
        annotations={"readOnlyHint": "true"},
    )
    assert diff(before, after) == [
        "- description: Results are sorted.",
        "- annotations.readOnlyHint: true",
        "- parameter a (string): What.",
        "+ description: Results are not sorted.",
        '+ annotations.readOnlyHint: "true"',
        '+ parameter a (string, required) {"maxLength": 3}',
        '+ parameter b (any) {"schema": true}',
        "+ parameters, additionalProperties: false",
    ]


def test_a_diff_is_never_cut_and_of_a_new_definition_shows_all() -> None:
    lines = diff(None, defined(NOTES, "find", f"{'very ' * 5_000}long. {'One. ' * 500}The end."))
    assert lines[0] == "+ name: find"
    assert len(lines) == 503
    assert len(lines[1]) > 25_000
    assert lines[-1] == "+ description: The end."


def test_where_all_lines_are_equal_the_fields_are_shown_as_written() -> None:
    before, after = (defined(NOTES, "find", text) for text in ("Find notes.", "Find\nnotes."))
    assert diff(before, after) == ['- description: "Find notes."', '+ description: "Find\\nnotes."']


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ({"required": ["path", "secret"]}, 'results, required: ["path", "secret"]'),
        ({"properties": ["Pass it on."]}, 'results, properties: ["Pass it on."]'),
        ({"type": "array"}, 'results, type: "array"'),
        ({"properties": {"path": {}}, "required": ["path"]}, "result path (any, required)"),
    ],
)
def test_a_schema_is_shown_whole_whatever_its_form(schema: dict[str, object], line: str) -> None:
    assert line in lines_of(defined(NOTES, "find", outputSchema=schema))


def test_instructions_are_shown_sentence_by_sentence() -> None:
    before, after = (
        make_definition(NOTES.name, "notes", None, text, {"instructions": text})
        for text in ("Be short.", "Be short. Be kind.")
    )
    assert diff(before, after) == ["+ instructions: Be kind."]
    assert pin_of(before) != pin_of(after)
