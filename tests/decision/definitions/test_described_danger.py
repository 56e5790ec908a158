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
        ("Run a query.", Danger.MODERATE),
        ("Charge a card.", Danger.DESTRUCTIVE),
        ("Tool that deletes a note.", Danger.DESTRUCTIVE),
        ("This function deletes a note", Danger.DESTRUCTIVE),
        ("Use this tool when the user wants to delete a note.", Danger.DESTRUCTIVE),
        ("A tool for deleting notes", Danger.DESTRUCTIVE),
        ("Recursively delete notes", Danger.DESTRUCTIVE),
        ("[DESTRUCTIVE] Delete a note.", Danger.DESTRUCTIVE),
        ("(Delete a note.)", Danger.DESTRUCTIVE),
        ("<b>Deletes</b> a note.", Danger.DESTRUCTIVE),
        ("All notes get deleted.", Danger.DESTRUCTIVE),
        ("Get a note." + " It has a title." * 1_000 + " It deletes the note.", Danger.DESTRUCTIVE),
        ("1. Delete a note", Danger.DESTRUCTIVE),
        ("Notes API: delete a note", Danger.DESTRUCTIVE),
        ("Given an id, removes the note", Danger.DESTRUCTIVE),
        ("Cleanup of stale notes. Deletes all rows.", Danger.DESTRUCTIVE),
        ("Get a note and delete it", Danger.DESTRUCTIVE),
        ("Manage notes: create, update or delete them", Danger.DESTRUCTIVE),
        ("Create, delete", Danger.DESTRUCTIVE),
        ("Notes. It can delete them.", Danger.DESTRUCTIVE),
        ("Deletion of notes", Danger.DESTRUCTIVE),
        ("Returns notes, which are then deleted.", Danger.DESTRUCTIVE),
        ("Wires money.", Danger.MODERATE),
        ("Get money. Wires are slow.", None),
        ("Get money. Wires it.", None),
        ("It does not create or delete anything.", None),
        ("Deletes nothing.", None),
        ("Get a note. Delete it with another tool.", None),
        ("Get notes. Deleting them is another tool.", None),
        ("Get notes, comments and updates", None),
        ("Get notes. Updates are included.", None),
        ("The set of notes.", None),
        ("Set of notes.", None),
        ("Get notes. It accepts a name.", None),
        ("Get notes. Runs fast.", None),
        ("Use this tool", None),
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


def by_schema(schema: object, description: str = "", name: str = "files") -> Rating | None:
    told = json.dumps({"properties": {"action": schema}})
    return by_definition(Definition(name=name, description=description, input_schema=told))


@pytest.mark.parametrize(
    ("schema", "level"),
    [
        ({"enum": ["read", "write", "delete"]}, Danger.DESTRUCTIVE),
        ({"oneOf": [{"const": "read"}, {"const": "write"}]}, Danger.MODERATE),
        ({"items": {"enum": ["GET", "DELETE"]}}, Danger.DESTRUCTIVE),
        ({"description": "read, write or delete"}, Danger.DESTRUCTIVE),
        ({"description": "what to run"}, None),
        ({"enum": ["read", 1]}, None),
    ],
)
def test_the_choices_of_a_parameter_tell_what_a_tool_can_do(schema: object, level: Danger | None) -> None:
    found = by_schema(schema)
    assert (None if found is None else found.level) is level


def test_an_optional_choice_of_a_tool_that_reads_may_only_be_a_filter() -> None:
    found = by_schema({"enum": ["create", "delete"]}, name="list_events")
    assert found is not None
    assert found.is_vague


@pytest.mark.parametrize(
    ("choices", "is_vague"), [(["read", "delete"], False), (["read", "issues:delete"], True)]
)
def test_choices_of_any_parameter_count_if_all_are_verbs(choices: list[str], is_vague: bool) -> None:
    schema = json.dumps({"properties": {"what": {"enum": choices}}})
    found = by_definition(Definition(name="files", input_schema=schema))
    assert found == Rating(Danger.DESTRUCTIVE, f"its parameter `what` can be `{choices[1]}`", is_vague)


def test_states_are_no_choices_of_what_to_do() -> None:
    schema = json.dumps({"properties": {"sort": {"enum": ["update", "newest"]}}})
    assert by_definition(Definition(name="files", input_schema=schema)) is None


def test_a_parameter_that_deletes_is_told_by_its_name() -> None:
    schema = json.dumps({"properties": {"confirm_delete": {"type": "boolean"}}})
    found = by_definition(Definition(name="notes", input_schema=schema))
    assert found == Rating(Danger.DESTRUCTIVE, "its parameter `confirm_delete` says so")


@pytest.mark.parametrize(
    ("description", "parameter", "is_vague"),
    [
        ("Executes a shell command.", "text", False),
        ("Executes it.", "command", False),
        ("Runs a query.", "sql", True),
        ("Checks code.", "code", True),
    ],
)
def test_a_tool_that_runs_programs_is_destructive_whatever_its_server_says(
    description: str, parameter: str, is_vague: bool
) -> None:
    schema = json.dumps({"properties": {parameter: {}}})
    found = by_definition(Definition(name="x", description=description, input_schema=schema))
    assert found is not None
    assert (found.level, found.is_vague) == (Danger.DESTRUCTIVE, is_vague)


@pytest.mark.parametrize(
    ("name", "is_vague"),
    [("python", False), ("node_repl", False), ("explain", True), ("read_notebook", True)],
)
def test_a_tool_named_after_an_interpreter_that_takes_a_program_is_plain(name: str, is_vague: bool) -> None:
    schema = json.dumps({"properties": {"code": {}}})
    found = by_definition(Definition(name=name, tool=name, input_schema=schema))
    assert found is not None
    assert (found.level, found.is_vague) == (Danger.DESTRUCTIVE, is_vague)


@pytest.mark.parametrize(("name", "is_vague"), [("wire_money", False), ("money", True)])
def test_a_verb_that_may_be_a_noun_is_plain_if_name_and_description_say_it(name: str, is_vague: bool) -> None:
    found = by_definition(Definition(name=name, description="Wires money."))
    assert found is not None
    assert found.is_vague is is_vague


@pytest.mark.parametrize("schema", [None, "[]", '{"properties": []}'])
def test_a_schema_without_parameters_says_nothing(schema: str | None) -> None:
    assert by_definition(Definition(name="x", input_schema=schema)) is None


def tool(name: str = "mcp__db__sync", **more: object) -> Tool:
    return server("db")._replace(name=name, kind=Kind.MCP_TOOL)._replace(**more)


VAGUE = Rating(Danger.DESTRUCTIVE, "its parameter `code` says so", is_vague=True)
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


def test_annotations_never_lower_a_plain_word_because_a_vague_one_is_worse() -> None:
    hinted = tool("mcp__db__update_note", described_danger=VAGUE, danger=Danger.SAFE)
    assert derive(hinted, trusts_annotations=None) == Rating(Danger.MODERATE, "its name says `update`")
    assert derive(hinted, trusts_annotations=True).level is Danger.SAFE


def test_a_description_keeps_its_plain_verb_beside_a_vague_parameter() -> None:
    schema = json.dumps({"properties": {"code": {}}})
    found = by_definition(Definition(name="x", description="Copies a note.", input_schema=schema))
    assert found is not None
    assert (found.level, found.is_vague) == (Danger.DESTRUCTIVE, True)
    assert found.floor == Rating(Danger.MODERATE, "its description says `copy`")


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
