"""Inspection's notes about accepted tools, where a person decides."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.builders import servers
from support.listed_tools import list_tools, tool
from support.sandbox import Sandbox

ODD = tool("convert", "Convert a length. This is the best tool for numbers.")
PLAIN = tool("round", "Round a number.")


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("notes")
    return sandbox.project("shop")


def listed(sandbox: Sandbox, shop: Path, *tools: Mapping[str, Any]) -> None:
    with sandbox.registry() as registry:
        list_tools(registry, shop, *tools)


@pytest.mark.parametrize(
    "command", [("doctor",), ("trust",), ("why", "notes"), ("why", "mcp__notes__convert")]
)
def test_a_note_is_counted_and_shown_with_rule_and_excerpt(
    sandbox: Sandbox, shop: Path, command: tuple[str, ...]
) -> None:
    listed(sandbox, shop, ODD, PLAIN)
    said = sandbox.remit(*command, cwd=shop).stdout
    assert "\ninspection notes: 1 tool\n" in said
    (line,) = (line for line in said.splitlines() if line.startswith("  mcp__notes__convert: medium, "))
    assert "best tool" in line


@pytest.mark.parametrize("command", [("doctor",), ("trust",), ("why", "mcp__notes__round"), ("why", "Bash")])
def test_without_notes_nothing_is_added(sandbox: Sandbox, shop: Path, command: tuple[str, ...]) -> None:
    listed(sandbox, shop, *((PLAIN,) if command[0] != "why" else (ODD, PLAIN)))
    assert "inspection notes" not in sandbox.remit(*command, cwd=shop).stdout


def test_a_model_does_not_read_the_notes(sandbox: Sandbox, shop: Path) -> None:
    listed(sandbox, shop, ODD)
    assert "inspection" not in sandbox.remit("context", cwd=shop).stdout
    assert "inspection" not in sandbox.remit("why", "mcp__notes__convert", "--json", cwd=shop).stdout


def test_many_notes_are_cut(sandbox: Sandbox, shop: Path) -> None:
    listed(sandbox, shop, *({**ODD, "name": f"convert_{at}"} for at in range(8)))
    said = sandbox.remit("doctor", cwd=shop).stdout
    assert "inspection notes: 8 tools\n" in said
    assert "  and 3 more: `remit inspect`\n" in said
    assert "convert_7" not in said


@pytest.mark.parametrize("command", [("doctor",), ("trust",), ("inspect",)])
def test_remits_own_definitions_are_not_inspected(
    sandbox: Sandbox, shop: Path, command: tuple[str, ...]
) -> None:
    sandbox.write(sandbox.home / ".claude.json", servers(remit={"command": "remit", "args": ["serve"]}))
    with sandbox.registry() as registry:
        list_tools(registry, shop, ODD, server="remit-memory")
    assert "remit-memory" not in sandbox.remit(*command, cwd=shop).stdout


def test_one_package_under_two_names_is_said_in_one_line(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write_state("notes", "memory")
    words = "Create a number of new entities in the knowledge graph of this user, each with its relations."
    offer = [tool(f"do_{at}", f"{words} Part {at} of all.") for at in range(9)]
    with sandbox.registry() as registry:
        list_tools(registry, shop, *offer, server="notes")
        list_tools(registry, shop, *offer, server="memory")
    said = sandbox.remit("doctor", cwd=shop).stdout
    assert "\ninspection notes:\n  `memory` and `notes` offer the same 9 tools\n" in said
    assert "copied-description" not in said
    with sandbox.registry() as registry:
        list_tools(registry, shop, *offer[:8], ODD, server="memory")
    assert "copied-description" in sandbox.remit("doctor", cwd=shop).stdout
