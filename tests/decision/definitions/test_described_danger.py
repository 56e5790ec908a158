"""The danger that a description and parameters tell."""

import json

import pytest

from remit.decision.danger import Danger, Rating, derive, is_reading, ratings
from remit.decision.definitions.described_danger import by_definition
from remit.decision.kinds import Kind
from remit.decision.tool_names import REMIT
from remit.decision.tools import Definition, Tool
from support.builders import server


def rated(description: str = "", *parameters: str) -> Danger | None:
    schema = json.dumps({"properties": {name: {} for name in parameters}}) if parameters else None
    found = by_definition(Definition(name="x", description=description, input_schema=schema))
    return None if found is None else found.level


@pytest.mark.parametrize(
    ("description", "level"),
    [
        ("Deletes a note.", Danger.DESTRUCTIVE),
        ("This tool can permanently remove notes", Danger.DESTRUCTIVE),
        ("Copies a note.", Danger.MODERATE),
        ("Add a note.", Danger.MODERATE),
        ("Archive all. This cannot be undone.", Danger.DESTRUCTIVE),
        ("Find notes that were deleted.", None),
        ("Run a query.", None),
        ("Convert a time.", None),
        ("", None),
        ("…", None),
    ],
)
def test_a_description_is_rated_by_its_verb_and_its_warnings(description: str, level: Danger | None) -> None:
    assert rated(description) is level


@pytest.mark.parametrize(
    ("parameter", "level"),
    [
        ("dry-run", Danger.MODERATE),
        ("overwrite", Danger.DESTRUCTIVE),
        ("shell_command", Danger.DESTRUCTIVE),
        ("path", None),
    ],
)
def test_parameters_tell_what_a_tool_can_do(parameter: str, level: Danger | None) -> None:
    assert rated("Handles notes.", parameter) is level


@pytest.mark.parametrize("schema", [None, "[]", '{"properties": []}'])
def test_a_schema_without_parameters_says_nothing(schema: str | None) -> None:
    assert by_definition(Definition(name="x", input_schema=schema)) is None


def tool(name: str = "mcp__db__sync", **more: object) -> Tool:
    return server("db")._replace(name=name, kind=Kind.MCP_TOOL)._replace(**more)


DELETES = Rating(Danger.DESTRUCTIVE, "its description says `delete`")


@pytest.mark.parametrize(
    ("rows", "trusts", "level"),
    [
        ({"described_danger": DELETES, "danger": Danger.SAFE}, None, Danger.DESTRUCTIVE),
        ({"described_danger": DELETES, "danger": Danger.SAFE}, True, Danger.SAFE),
        ({"accepted_danger": Danger.DESTRUCTIVE, "danger": Danger.LOW}, None, Danger.DESTRUCTIVE),
        ({"accepted_danger": Danger.DESTRUCTIVE, "danger": Danger.LOW}, True, Danger.LOW),
        ({"accepted_danger": Danger.LOW, "danger": Danger.DESTRUCTIVE}, None, Danger.DESTRUCTIVE),
        ({"described_danger": Rating(Danger.MODERATE, "x")}, None, Danger.MODERATE),
    ],
)
def test_annotations_never_lower_what_words_and_history_say_unless_they_are_trusted(
    rows: dict[str, object], trusts: bool | None, level: Danger
) -> None:
    assert derive(tool("mcp__db__look", **rows), trusts_annotations=trusts).level is level


def test_every_source_is_listed() -> None:
    row = tool(
        "mcp__db__wipe", described_danger=DELETES, danger=Danger.LOW, accepted_danger=Danger.DESTRUCTIVE
    )
    assert [(each.level.word, each.origin) for each in ratings(row)] == [
        ("destructive", "its name says `wipe`"),
        ("destructive", "its description says `delete`"),
        ("low", "its server says so"),
        ("destructive", "its server said so when it was accepted"),
    ]


def test_remits_own_tools_have_one_source() -> None:
    assert len(ratings(tool(source=REMIT, danger=Danger.LOW))) == 1
    assert [each.level for each in ratings(server("db"))] == [Danger.LOW]


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("list_notes", True),
        ("jira_get_issue", True),
        ("get_update_status", True),
        ("get_and_delete", False),
        ("find_or_make", False),
        ("tidy", False),
        ("wire_money", False),
        ("check_out", False),
        ("log_time", False),
        ("", False),
    ],
)
def test_a_name_reads_if_it_starts_with_a_reading_verb_and_has_no_other(name: str, reads: bool) -> None:
    assert is_reading(name) is reads
