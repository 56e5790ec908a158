"""What the doctor says about held definitions."""

from dataclasses import replace

from remit.decision.definitions.definition_changes import ChangePolicy, ChangeVerdict, DefinitionChange
from remit.decision.kinds import Kind
from remit.decision.problems import Severity
from remit.doctor.checks.changed_definitions import changed_definitions
from remit.doctor.findings import ClientSetup
from support.builders import context, server

MATTERS = DefinitionChange(ChangeVerdict.MATTERS, "it changed", "it changed: danger falls")
TOOL = server("notes")._replace(name="mcp__notes__tidy", kind=Kind.MCP_TOOL, change=MATTERS)


def test_a_held_tool_and_held_instructions_are_warnings_with_their_fix() -> None:
    instructions = server("notes")._replace(change=MATTERS)
    found = list(changed_definitions(ClientSetup(context=context(), tools=[TOOL, instructions, server()])))
    assert [(each.severity, each.reason) for each in found] == [
        (Severity.WARNING, "`mcp__notes__tidy`: it changed: danger falls"),
        (Severity.WARNING, "its instructions: it changed: danger falls"),
    ]
    assert "remit trust mcp__notes__tidy" in found[0].fix


def test_what_passes_or_is_listed_no_more_is_no_problem() -> None:
    setup = ClientSetup(context=context(), tools=[TOOL], changes=ChangePolicy.NOTE)
    assert list(changed_definitions(setup)) == []
    unlisted = replace(setup, changes=ChangePolicy.HARMLESS, tools=[TOOL._replace(is_unlisted=True)])
    assert list(changed_definitions(unlisted)) == []


def test_a_rejected_definition_is_a_note() -> None:
    rejected = TOOL._replace(change=MATTERS._replace(verdict=ChangeVerdict.REJECTED))
    (found,) = changed_definitions(ClientSetup(context=context(), tools=[rejected]))
    assert found.severity is Severity.NOTE
