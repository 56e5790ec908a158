"""What the doctor says about held definitions."""

import json
from dataclasses import replace
from pathlib import Path

from remit.decision.declarations import Resolved
from remit.decision.declared_launch import Launch
from remit.decision.definitions.definition_changes import ChangePolicy, ChangeVerdict, DefinitionChange
from remit.decision.definitions.project_lock import LockedPackage, LockedServer, ProjectLock
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.problems import Problem, Severity
from remit.decision.scopes import Scope
from remit.decision.tools import Tool
from remit.doctor.checks.changed_definitions import (
    changed_definitions,
    differing_from_lock,
    replaced_packages,
    withheld_items,
)
from remit.doctor.findings import ClientSetup, Finding
from remit.trust.held_definitions import WithheldItem
from support.builders import context, declared, server

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


def test_a_withheld_prompt_is_a_warning_of_its_server() -> None:
    item = WithheldItem("prompt", "tidy\n", "inspection flags it: an order")
    setup = ClientSetup(
        context=context(), tools=[TOOL, server("notes")], withheld={server("notes").key: [item]}
    )
    (found,) = withheld_items(setup)
    assert (found.severity, found.subject) == (Severity.WARNING, "notes")
    assert found.reason == "the prompt `tidy` is withheld: inspection flags it: an order"


def test_what_passes_or_is_listed_no_more_is_no_problem() -> None:
    setup = ClientSetup(context=context(), tools=[TOOL], changes=ChangePolicy.NOTE)
    assert list(changed_definitions(setup)) == []
    unlisted = replace(setup, changes=ChangePolicy.HARMLESS, tools=[TOOL._replace(is_unlisted=True)])
    assert list(changed_definitions(unlisted)) == []


def test_a_rejected_definition_is_a_note() -> None:
    rejected = TOOL._replace(change=MATTERS._replace(verdict=ChangeVerdict.REJECTED))
    (found,) = changed_definitions(ClientSetup(context=context(), tools=[rejected]))
    assert found.severity is Severity.NOTE


LOCKED = server("notes")._replace(scope=Scope.PROJECT, source="/shop/.mcp.json", entry="new")


def lock_findings(*tools: Tool, entry: str = "new") -> list[Finding]:
    pins = {f"mcp__notes__{number}": "old" for number in range(6)}
    lock = ProjectLock(root="/shop", servers={(".mcp.json", "notes"): LockedServer(entry, tools=pins)})
    return list(differing_from_lock(ClientSetup(context=context(), tools=tools, lock=lock)))


def tools_of(server: Tool, count: int) -> list[Tool]:
    return [
        server._replace(name=f"mcp__notes__{number}", kind=Kind.MCP_TOOL, pin="new")
        for number in range(count)
    ]


def test_tools_that_differ_from_the_lock_are_one_warning_for_their_server() -> None:
    (one,) = lock_findings(LOCKED, *tools_of(LOCKED, 1))
    assert (one.check, one.severity) == ("lock", Severity.WARNING)
    assert one.reason == "held: `mcp__notes__0` differs from `remit.lock`"
    (many,) = lock_findings(LOCKED, *tools_of(LOCKED, 6))
    assert many.reason.endswith("`mcp__notes__4` and 1 more differ from `remit.lock`")


def test_a_server_that_differs_from_the_lock_is_named_instead_of_its_tools() -> None:
    (found,) = lock_findings(LOCKED, *tools_of(LOCKED, 2), entry="old")
    assert found.reason == "held: its entry differs from `remit.lock`"


def test_a_tool_that_waits_and_differs_has_one_finding_with_both_steps() -> None:
    waiting = tools_of(LOCKED, 1)[0]._replace(change=MATTERS)
    assert lock_findings(LOCKED, waiting) == []


def test_a_server_whose_file_is_invalid_does_not_also_differ_from_the_lock() -> None:
    lock = ProjectLock(root="/shop", servers={(".mcp.json", "notes"): LockedServer("old")})
    setup = ClientSetup(context=context(), tools=[LOCKED], lock=lock)
    assert list(differing_from_lock(setup))
    broken = [Problem("/shop/.mcp.json", "line 1", "not valid JSON")]
    assert not list(differing_from_lock(replace(setup, problems=broken)))


def test_an_installed_package_that_is_not_the_locked_one_is_a_warning(tmp_path: Path) -> None:
    found = {"packages": {"node_modules/notes": {"version": "2.0.0", "integrity": "sha512-b"}}}
    (tmp_path / "package-lock.json").write_text(json.dumps(found))
    copy = tmp_path / "node_modules/notes/package.json"
    copy.parent.mkdir(parents=True)
    copy.write_text(json.dumps({"name": "notes", "version": "2.0.0"}))
    notes = replace(
        declared("notes", Scope.PROJECT),
        source=str(tmp_path / ".mcp.json"),
        launch=Launch(command="npx", args=("notes",)),
    )
    package = LockedPackage("npm", "notes", "1.0.0", "sha512-a")
    servers = {(".mcp.json", "notes"): LockedServer("e", package)}
    setup = ClientSetup(
        context=context(),
        resolved=[Resolved(declaration=notes, config_status=ConfigStatus.ENABLED)],
        lock=ProjectLock(root=str(tmp_path), servers=servers),
    )
    reasons = [each.reason for each in replaced_packages(setup)]
    assert "differs from `remit.lock`: its package: version 1.0.0 -> 2.0.0" in reasons[0]
    assert "integrity sha512-a -> sha512-b" in reasons[1]
    assert not list(replaced_packages(replace(setup, lock=None)))
