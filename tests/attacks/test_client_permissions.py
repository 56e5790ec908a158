"""The user's permission rules in Claude Code: Remit must not be a way around them, nor lose them."""

import json

from attacks.peers import Server, tool
from attacks.worlds import World, needs_claude, require

RULES = {"allow": ["mcp__git__git_status"], "deny": ["mcp__git__git_reset"]}


def declare(world: World, *allowed: str) -> Server:
    """Declare a server with one tool that is allowed and one that is denied, and some more rules."""
    own = world.server("own", tool("git_status"), tool("git_reset"))
    world.declare({"git": own})
    world.settle(permissions={**RULES, "allow": [*RULES["allow"], *allowed]})
    return own


def test_a_tool_that_claude_code_denies_is_not_served(world: World) -> None:
    own = declare(world)
    world.install()
    with world.serve_as_installed() as gateway:
        listed = gateway.tools()
        require("answered by own" in gateway.call("git__git_status"), "the server does not answer")
        gateway.call("git__git_reset")
        gateway.call("call_tool", name="git__git_reset")
        gateway.call("call_tool", name="mcp__git__git_reset")
    assert own.calls == ["git_status"]
    assert "git__git_reset" not in listed


def test_why_says_that_a_tool_that_claude_code_denies_is_hidden(world: World) -> None:
    declare(world)
    world.remit("scan", "--connect")

    def verdict(name: str) -> str:
        return json.loads(world.remit("why", name, "--json"))["verdict"]

    require(verdict("mcp__git__git_status") == "visible", "the allowed tool is not visible")
    assert verdict("mcp__git__git_reset") == "hidden"


@needs_claude
def test_claude_code_runs_no_denied_tool_through_the_gateway(world: World) -> None:
    own = declare(world, "mcp__remit")
    before = world.claude(("mcp__git__git_status", {}), ("mcp__git__git_reset", {}))
    require("answered by own" in before.results[0], "the server does not answer")
    require(own.calls == ["git_status"], "the client runs a denied tool without Remit")
    world.install()
    by_name = ("mcp__remit__call_tool", {"name": "git__git_reset"})
    session = world.claude(("mcp__remit__git__git_status", {}), ("mcp__remit__git__git_reset", {}), by_name)
    require("answered by own" in session.results[0], "the server does not answer through Remit")
    assert "git_reset" not in own.calls


@needs_claude
def test_claude_code_still_runs_an_allowed_tool_after_install(world: World) -> None:
    own = declare(world)
    world.claude(("mcp__git__git_status", {}))
    require(own.calls == ["git_status"], "the client does not run the allowed tool without Remit")
    world.install()
    session = world.claude(("mcp__remit__git__git_status", {}))
    require("mcp__remit__git__git_status" in session.tools, "the tool is not there through Remit")
    assert own.calls == ["git_status", "git_status"]
