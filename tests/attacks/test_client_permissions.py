"""The user's permission rules in Claude Code: Remit must not be a way around them, nor lose them."""

import json

import pytest

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


def ask_hook(world: World, tool_name: str, *, source: str = "user", **given: object) -> str | None:
    """What the hook answers to a call through a server called `remit`."""
    server = {"name": "remit", "source": source}
    answer = world.hook(
        "PreToolUse", tool_name=tool_name, tool_input=given, tool_use_id="toolu_01", mcp_server=server
    )
    return answer.get("permissionDecision")


def listed(world: World) -> None:
    """Let the gateway list its tools once, whether they were used or not."""
    world.configure("token_budget = 6000\n")
    with world.serve_as_installed() as gateway:
        require("git__git_status" in gateway.tools(), "the gateway does not list the tool")


@pytest.mark.long
def test_a_permission_for_the_gateway_covers_no_other_tool(world: World) -> None:
    own = world.server("own", tool("git_status"), tool("git_push"))
    world.declare({"git": own})
    world.settle(permissions={"allow": ["mcp__remit", "mcp__remit__call_tool", "mcp__git__git_status"]})
    world.install()
    listed(world)
    assert ask_hook(world, "mcp__remit__git__git_status") == "allow"
    assert ask_hook(world, "mcp__remit__call_tool", name="git__git_status") == "allow"
    assert ask_hook(world, "mcp__remit__git__git_push") == "ask"
    assert ask_hook(world, "mcp__remit__call_tool", name="git__git_push") == "ask"


@pytest.mark.long
def test_an_allow_rule_lifts_nothing_for_a_repositorys_server_called_remit(world: World) -> None:
    declare(world)
    world.install()
    listed(world)
    require(ask_hook(world, "mcp__remit__git__git_status") == "allow", "the allowed tool is asked about")
    assert ask_hook(world, "mcp__remit__git__git_status", source="project") != "allow"


@pytest.mark.long
def test_an_untrusted_repository_allows_itself_nothing(world: World) -> None:
    world.declare({"git": world.server("own", tool("git_status"))})
    state = json.loads((world.home / ".claude.json").read_text())
    state["projects"] = {}
    world.write(world.home / ".claude.json", state)
    world.impose(permissions={"allow": ["mcp__git__git_status"]})
    world.install()
    listed(world)
    assert ask_hook(world, "mcp__remit__git__git_status") != "allow"


@pytest.mark.long
def test_a_new_rule_counts_at_the_next_call(world: World) -> None:
    declare(world)
    world.install()
    listed(world)
    require(ask_hook(world, "mcp__remit__git__git_status") == "allow", "the allowed tool is asked about")
    settings = world.user_settings
    settings["permissions"]["deny"].append("mcp__git__git_status")
    world.settle(**settings)
    assert ask_hook(world, "mcp__remit__git__git_status") == "deny"
    assert ask_hook(world, "mcp__remit__call_tool", name="git__git_status") == "deny"


def test_with_hooks_off_the_gateway_asks_where_a_rule_asks(world: World) -> None:
    own = world.server("own", tool("git_status"))
    world.declare({"git": own})
    world.settle(permissions={"ask": ["mcp__git__git_status"]})
    world.install()
    with world.serve_as_installed() as gateway:
        gateway.tools()
        assert "approv" in gateway.call("git__git_status")
    assert own.calls == []


@pytest.mark.long
def test_where_the_client_asked_about_a_call_the_gateway_does_not_ask_again(world: World) -> None:
    own = world.server("own", tool("git_status"))
    world.declare({"git": own})
    world.settle(permissions={"ask": ["mcp__git__git_status"]})
    world.install()
    listed(world)
    assert ask_hook(world, "mcp__remit__git__git_status", path="a") == "ask"
    call = {"name": "git__git_status", "_meta": {"claudecode/toolUseId": "toolu_01"}}
    with world.serve_as_installed() as gateway:
        other = gateway.ask("tools/call", **call, arguments={"path": "b"})
        assert "answered by own" not in json.dumps(other)
        assert "answered by own" in json.dumps(gateway.ask("tools/call", **call, arguments={"path": "a"}))
        again = gateway.ask("tools/call", **call, arguments={"path": "a"})
    assert "answered by own" not in json.dumps(again)
    assert own.calls == ["git_status"]


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
