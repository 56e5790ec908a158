"""`remit why` says first what an agent gets: a visible tool may still not start, or be refused."""

import pytest

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
