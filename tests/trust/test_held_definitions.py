"""Changed definitions by the names that people give them."""

import pytest

from remit.decision.definitions.definition_changes import ChangePolicy, ChangeVerdict, DefinitionChange
from remit.decision.kinds import Kind
from remit.trust.held_definitions import HeldDefinition


def held(verdict: ChangeVerdict = ChangeVerdict.MATTERS, *, kind: Kind = Kind.MCP_TOOL) -> HeldDefinition:
    name = "mcp__notes__find" if kind is Kind.MCP_TOOL else "mcp__notes__*"
    key = ("claude-code", kind, "global", None, None, None, "notes", name)
    return HeldDefinition(key=key, change=DefinitionChange(verdict, "why", "why, in full"))


@pytest.mark.parametrize(
    ("name", "is_meant"),
    [
        ("mcp__notes__find", True),
        ("notes__find", True),
        ("mcp__remit__notes__find", True),
        ("notes", True),
        ("mcp__notes__*", True),
        ("find", False),
        ("mcp__notes__other", False),
    ],
)
def test_a_tool_is_meant_by_each_of_its_names_and_by_its_server(name: str, is_meant: bool) -> None:
    assert held().is_called(name) is is_meant


def test_a_server_does_not_stand_for_a_definition_that_was_rejected() -> None:
    rejected = held(ChangeVerdict.REJECTED)
    assert rejected.is_rejected
    assert not rejected.is_called("notes")
    assert rejected.is_called("mcp__notes__find")


def test_instructions_are_titled_by_their_server() -> None:
    assert held(kind=Kind.MCP_SERVER).title == "instructions of notes"
    assert held().title == "mcp__notes__find"


def test_only_a_harmless_change_is_harmless() -> None:
    assert held(ChangeVerdict.HARMLESS).is_harmless
    assert not held().is_harmless
    assert not held(ChangeVerdict.HARMLESS).is_held(ChangePolicy.HARMLESS)
    assert held(ChangeVerdict.HARMLESS).is_held(ChangePolicy.HOLD)


def test_what_was_rejected_flagged_or_not_inspected_is_accepted_by_its_own_name_only() -> None:
    by_name = {verdict for verdict in ChangeVerdict if held(verdict).needs_its_name}
    assert by_name == {ChangeVerdict.REJECTED, ChangeVerdict.FLAGGED, ChangeVerdict.UNINSPECTED}


@pytest.mark.parametrize(
    ("name", "is_named"),
    [
        *(("notes:instructions", True), ("instructions of notes", True)),
        *(("notes", False), ("mcp__notes__*", False), ("mcp__notes", False)),
    ],
)
def test_only_their_own_name_means_instructions_and_nothing_else(name: str, is_named: bool) -> None:
    assert held(kind=Kind.MCP_SERVER).is_named(name) is is_named


def test_a_tool_has_a_name_without_its_server_and_only_a_flagged_one_is_suspicious() -> None:
    assert held().own_name == "find"
    assert held(ChangeVerdict.FLAGGED).is_suspicious
    assert not held().is_suspicious
