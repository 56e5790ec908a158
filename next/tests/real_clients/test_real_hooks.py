"""Hooks in the real Claude Code: refusals with their rule, missing permissions, counts, the text at start."""

import json
import time
from pathlib import Path

import pytest

from remit.clients import InstallLevel, Wanted
from remit.files import locate
from remit.store import CallQuery, Store, open_store
from support.real_claude import Call
from support.real_machine import Machine

PUSH, STATUS = "mcp__git__push", "mcp__git__status"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    offered = [{"name": name, "inputSchema": {"type": "object"}} for name in ("push", "status")]
    machine.write("tools.json", {"tools": offered})
    state = machine.json("home/.claude.json")
    machine.write("home/.claude.json", {**state, "mcpServers": {"git": machine.server}})
    machine.write("home/.claude/settings.json", {})
    return machine


def store(machine: Machine) -> Store:
    return open_store(str(machine.root / "data/remit.sqlite"))


def test_a_refusal_names_its_rule_a_missing_permission_its_place_and_uses_are_counted(
    machine: Machine,
) -> None:
    rule = f'[tools."{PUSH}"]\nstates = ["merging"]\n[states.merging]\ngit = "merging"\n'
    machine.write("home/.config/remit/remit.toml", rule)
    machine.installer().install("claude-code", InstallLevel.HOOKS, Wanted(matcher=[PUSH]))
    plan: list[Call] = [(PUSH, {}), (STATUS, {})]
    refused, missing = machine.session(*plan).results
    assert f"`{PUSH}` is not available here" in refused
    assert "`merging`" in refused
    assert f"adds `{STATUS}` to `permissions.allow` in ~/.claude/settings.json" in missing
    settings = machine.json("home/.claude/settings.json")
    allowed = {**settings["permissions"], "allow": [STATUS]}
    machine.write("home/.claude/settings.json", {**settings, "permissions": allowed})
    read: Call = ("Read", {"file_path": str(machine.root / "tools.json")})
    run = machine.session(read, read, read, read, (STATUS, {}))  # the model numbers calls by session
    assert "needs the user's permission" not in run.results[-1]
    assert "## Available Tools\\n- MCP: git" in json.dumps(run.turns[0])
    workspace, deadline = locate(str(machine.shop)), time.monotonic() + 10
    with store(machine) as opened:
        while len(calls := opened.calls.find(CallQuery(), workspace)) < 3 and time.monotonic() < deadline:
            pass  # the client does not wait for the hook that counts
    assert [(call.tool, call.outcome) for call in calls[::-1]] == [
        (PUSH, "refused"),
        (STATUS, "refused"),
        (STATUS, "done"),
    ]
