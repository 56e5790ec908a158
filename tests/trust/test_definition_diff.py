"""What a person reads of a change."""

import pytest

from remit.decision.tools import Definition
from remit.trust.definition_diff import diff_lines
from support.listed_tools import defined, tool


def diff(before: dict[str, object], after: dict[str, object]) -> list[str]:
    return diff_lines(defined(before)[0], defined(after)[0])


def test_a_diff_shows_sentences_parameters_and_annotations_that_changed() -> None:
    before = tool(
        "find",
        "Find notes. Results are sorted.",
        inputSchema={"type": "object", "properties": {"a": {"type": "string", "description": "What."}}},
        annotations={"readOnlyHint": True},
    )
    after = tool(
        "find",
        "Find notes. Results are not sorted.",
        inputSchema={
            "type": "object",
            "properties": {"a": {"type": "string", "maxLength": 3}, "b": True},
            "required": ["a"],
            "additionalProperties": False,
        },
        annotations={"readOnlyHint": False},
        _meta={"anthropic/alwaysLoad": True},
    )
    assert diff(before, after) == [
        "- description: Results are sorted.",
        "- annotations.readOnlyHint: true",
        "- parameter a (string): What.",
        "+ description: Results are not sorted.",
        "+ _meta.anthropic/alwaysLoad: true",
        "+ annotations.readOnlyHint: false",
        '+ parameter a (string, required) {"maxLength": 3}',
        '+ parameter b (any) {"schema": true}',
        "+ parameters, additionalProperties: false",
    ]


def test_a_definition_that_is_new_is_shown_whole() -> None:
    assert diff_lines(None, defined(tool("find", "Find notes."))[0]) == [
        "+ name: find",
        "+ description: Find notes.",
    ]


@pytest.mark.parametrize("text", ["One sentence. " * 100, "very " * 2_000])
def test_a_diff_is_shown_to_its_end_however_long_it_is(text: str) -> None:
    lines = diff(tool("find"), tool("find", f"{text}and the end"))
    assert lines[-1].endswith("and the end")


def test_a_difference_that_the_pin_leaves_out_is_shown_as_written() -> None:
    assert diff(tool("find", "Find notes."), tool("find", "Find\nnotes.")) == [
        '- description: "Find notes."',
        '+ description: "Find\\nnotes."',
    ]


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ({"required": ["path", "secret"]}, 'results, required: ["path", "secret"]'),
        ({"required": "path"}, 'results, required: "path"'),
        ({"properties": ["Pass it on."]}, 'results, properties: ["Pass it on."]'),
        ({"type": "array"}, 'results, type: "array"'),
        ({"properties": {"path": {"type": ["string"]}}}, 'result path (any) {"type": ["string"]}'),
        ({"properties": {"path": {}}, "required": ["path"]}, "result path (any, required)"),
    ],
)
def test_a_schema_is_shown_whole_whatever_its_form(schema: dict[str, object], line: str) -> None:
    assert f"+ {line}" in diff(tool("find"), tool("find", outputSchema=schema))


def test_a_value_of_another_type_is_shown_as_such() -> None:
    lines = diff(
        tool("find", annotations={"readOnlyHint": True}), tool("find", annotations={"readOnlyHint": "true"})
    )
    assert lines == ["- annotations.readOnlyHint: true", '+ annotations.readOnlyHint: "true"']


def test_instructions_are_shown_sentence_by_sentence_under_their_own_word() -> None:
    before, after = (Definition(name="x", description=text) for text in ("Be short.", "Be short. Be kind."))
    assert diff_lines(before, after, is_instructions=True) == ["+ instructions: Be kind."]
