"""The real Claude Code behind the gateway: it lists, calls, is refused and hears of new tools."""

import json
from pathlib import Path
from typing import Any

from support.gateways import World
from support.real_claude import Call, Run, run_claude
from support.served_processes import COMMAND, environment


def session(world: World, *plan: Call, allowed: str = "mcp__remit") -> Run:
    entry: dict[str, Any] = {"command": COMMAND[0], "args": COMMAND[1:], "env": environment(world)}
    world.write(world.shop / "gateway.json", {"mcpServers": {"remit": entry}})
    extra = ["--mcp-config", "gateway.json", "--strict-mcp-config", "--allowedTools", allowed]
    env = {"ENABLE_TOOL_SEARCH": "false", **world.machine.variables}
    return run_claude(world.home, world.shop, plan=plan, extra=extra, env=env)


def test_tools_are_in_the_first_request_and_called_by_name(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.server("files", "read", "drop")
    world.mine('block = ["mcp__files__drop"]')
    run = session(
        world,
        ("mcp__remit__files__read", {"path": "a"}),
        ("mcp__remit__why_tool", {"name": "files__drop"}),
    )
    assert [(server["name"], server["status"]) for server in run.init["mcp_servers"]] == [
        ("remit", "connected")
    ]
    assert "mcp__remit__files__read" in run.tools
    assert "mcp__remit__files__drop" not in run.tools
    read, why = run.results
    assert json.dumps('["read", {"path": "a"}]')[1:-1] in read
    assert "`block`" in why
    (call, explained) = world.calls()
    assert (call.tool, call.outcome) == ("mcp__files__read", "done")
    assert call.call_id is not None
    assert call.session == run.init["session_id"]
    assert explained.tool == "why_tool"


def test_a_tool_whose_state_a_call_makes_true_is_in_the_next_request(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.server("deploy", "ship", tools={"open": {"does": {"makes": str(world.shop / "ready")}}})
    world.mine('[states.ready]\nfile = "ready"\n\n[tools."mcp__deploy__ship"]\nstates = ["ready"]\n')
    run = session(
        world,
        ("mcp__remit__deploy__open", {}),
        ("Bash", {"command": "sleep 1"}),  # as long as a model needs at least
        ("mcp__remit__deploy__ship", {}),
        allowed="mcp__remit,Bash",
    )
    assert "mcp__remit__deploy__ship" not in run.tools
    *_, shipped = run.results
    assert "ship" in shipped
    assert world.heard("deploy")[-1][1] == "ship"


def test_a_call_that_needs_approval_names_the_command_where_nobody_can_be_asked(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.server("files", "drop")
    world.mine('[tools."mcp__files__drop"]\napproval = true\n')
    (result,) = session(world, ("mcp__remit__files__drop", {})).results
    assert "remit approve " in result
    assert world.heard("files") == []
