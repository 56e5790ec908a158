"""`remit why` says first what an agent gets: a visible tool may still not start, or be refused."""

import json

import pytest

from support.listed_tools import list_tools, tool
from support.sandbox import Sandbox

ENTRIES = {
    "lamp": {"command": "/nowhere/lamp"},
    "light": {"command": "/bin/sh"},
    "sentry": {"url": "https://mcp.test/"},
}


@pytest.fixture
def machine(sandbox: Sandbox) -> Sandbox:
    sandbox.project("shop")
    sandbox.write(sandbox.home / ".claude.json", {"mcpServers": ENTRIES})
    return sandbox


def asked(machine: Sandbox, *words: str) -> list[str]:
    return machine.remit(*words, cwd=machine.root / "code/shop").stdout.splitlines()


def test_a_server_that_cannot_start_is_not_called_visible(machine: Sandbox) -> None:
    assert asked(machine, "why", "lamp")[:2] == [
        "mcp__lamp__*: declared in ~/.claude.json, but cannot start: `/nowhere/lamp` does not exist",
        "to change it: correct the path",
    ]
    (row,) = (line for line in asked(machine, "tools") if line.startswith("  lamp "))
    assert "cannot start: `/nowhere/lamp`" in row


def test_a_server_whose_entry_is_invalid_is_explained_by_the_mistake_only(machine: Sandbox) -> None:
    assert asked(machine, "why", "sentry") == [
        "sentry: declared in ~/.claude.json, but ignored: `url` without a remote `type`",
        'to change it: add "type": "http"',
    ]


def test_a_tool_whose_calls_the_client_refuses_names_the_rule_to_add(machine: Sandbox) -> None:
    asked(machine, "install", "claude-code", "--yes")
    told = asked(machine, "why", "mcp__light__on")
    assert told[1] == "Claude Code asks before each call; `claude -p` cannot ask, so it refuses the call"
    assert told[2].startswith("to allow it: add `mcp__light__on` to `permissions.allow` in ~/.claude")


def test_an_install_says_first_that_allowed_tools_on_the_command_line_lose_their_effect(
    machine: Sandbox,
) -> None:
    said = machine.remit("install", "claude-code", "--dry-run", cwd=machine.root / "code/shop").stderr
    assert "`claude -p --allowedTools mcp__NAME` lose that permission" in said
    assert "add `mcp__NAME` to `permissions.allow`" in said


def test_a_server_shows_the_sandbox_that_remit_starts_it_in(machine: Sandbox) -> None:
    entry = '[servers.light]\nsandbox = { network = true, read = ["docs"], write = ["out"] }\n'
    machine.write(machine.home / ".config/remit/remit.toml", entry)
    line = "sandbox: network; reads docs; writes out"
    assert f"{line} (when Remit starts it)" in asked(machine, "why", "light")
    shape = json.loads("\n".join(asked(machine, "why", "light", "--json")))
    assert shape["sandbox"] == {"network": True, "read": ["docs"], "write": ["out"]}
    assert json.loads("\n".join(asked(machine, "why", "lamp", "--json")))["sandbox"] is None
    assert not any(line.startswith("sandbox") for line in asked(machine, "why", "lamp"))
    asked(machine, "install", "claude-code", "--yes")
    assert line in asked(machine, "why", "light")


def test_a_tool_that_was_never_listed_is_not_called_accepted(machine: Sandbox) -> None:
    (row,) = (line for line in asked(machine, "why", "mcp__light__on") if line.startswith("  definition"))
    assert row.split(maxsplit=2) == ["definition", "passed", "not listed yet"]
    with machine.registry() as registry:
        list_tools(registry, machine.root / "code/shop", tool("on", "Switch it on."), server="light")
    (row,) = (line for line in asked(machine, "why", "mcp__light__on") if line.startswith("  definition"))
    assert row.split(maxsplit=2) == ["definition", "passed", "as accepted"]


def test_a_description_that_is_cut_ends_with_an_ellipsis(machine: Sandbox) -> None:
    tools = [
        tool("on", "Switch it on. " * 30),
        tool("off", "Switch it off.\nAt once."),
        tool("dim", "Dim it."),
    ]
    with machine.registry() as registry:
        list_tools(registry, machine.root / "code/shop", *tools, server="light")
    ends: list[str] = []
    for name in ("on", "off", "dim"):
        told = asked(machine, "why", f"mcp__light__{name}")
        ends += [line for line in told if line.startswith("description: ")]
    assert [end[-3:] for end in ends] == ["wi…", ". …", "it."]


def test_the_cost_of_a_server_is_worded_as_in_the_list_of_tools(machine: Sandbox) -> None:
    with machine.registry() as registry:
        list_tools(registry, machine.root / "code/shop", tool("on", "Switch it on."), server="light")
    sent = "(the client sends names only; the agent searches the definitions)"
    assert sent in " ".join(" ".join(asked(machine, "tools")).split())
    (line,) = (line for line in asked(machine, "why", "light") if line.startswith("its tools: "))
    assert line.endswith(f" tokens {sent}")
    machine.write(machine.home / ".claude/settings.json", {"env": {"ENABLE_TOOL_SEARCH": "false"}})
    (line,) = (line for line in asked(machine, "why", "light") if line.startswith("its tools: "))
    assert line.endswith(" tokens per request")
