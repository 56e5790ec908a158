"""Calls through the gateway: refused early, or lifted where a rule of the client allows them; never asked."""

import json
from pathlib import Path
from typing import Any

import pytest

from remit.clients import Wanted
from support.hooks import GATEWAY, USER, Client

PUSH, CALL = "mcp__remit__git__push", "mcp__remit__call_tool"


@pytest.fixture
def served(client: Client) -> Client:
    """A client whose gateway serves `git`, with the tools `push` and `status`."""
    client.servers("git")
    client.install(wanted=Wanted())
    client.lists("git", "push", "status")
    return client


@pytest.mark.parametrize(
    ("tool", "given"), [(PUSH, {}), (CALL, {"name": "git__push"}), (CALL, {"name": PUSH})]
)
def test_what_a_rule_hides_is_refused_before_the_client_asks(
    served: Client, tool: str, given: dict[str, Any]
) -> None:
    assert served.call(tool, given, **GATEWAY) == ("", "")
    served.rules('block = ["mcp__git__push"]')
    decision, reason = served.call(tool, given, **GATEWAY)
    assert decision == "deny"
    assert "blocked by `mcp__git__push`" in reason
    assert [call.tool for call in served.calls()] == ["mcp__git__push"]
    assert served.call("mcp__remit__git__status", **GATEWAY) == ("", "")


def test_what_needs_approval_is_the_gateways_to_ask(served: Client) -> None:
    served.rules('[tools."mcp__git__push"]\napproval = true')
    assert served.call(PUSH, **GATEWAY) == ("", "")
    assert served.call(PUSH, permission_mode="dontAsk", **GATEWAY)[0] == "deny"


def test_the_clients_mode_narrows_calls_through_the_gateway(served: Client) -> None:
    served.rules('[tools."mcp__git__push"]\ndanger = "high"')
    assert served.call(PUSH, **GATEWAY)[0] == ""
    assert served.call(PUSH, permission_mode="plan", **GATEWAY)[0] == "deny"


@pytest.mark.parametrize(("tool", "given"), [(PUSH, {}), (CALL, {"name": "git__push"})])
@pytest.mark.parametrize("rule", ["mcp__git__push", "mcp__git", "mcp__git__*", PUSH])
def test_a_rule_that_allows_the_tool_behind_the_gateway_lifts_the_clients_question(
    served: Client, tool: str, given: dict[str, Any], rule: str
) -> None:
    edit(served, allow=[rule])
    assert served.call(tool, given, **GATEWAY)[0] == "allow"
    if rule in ("mcp__git__push", PUSH):
        assert served.call("mcp__remit__git__status", **GATEWAY)[0] == ""


@pytest.mark.parametrize("rule", ["mcp__remit", CALL, "mcp__remit__*", "mcp__*", "mcp__remit__call_tool(*)"])
def test_a_permission_for_the_gateway_covers_nothing_else(served: Client, rule: str) -> None:
    edit(served, allow=[rule])
    assert served.call(PUSH, **GATEWAY)[0] == ""
    assert served.call(CALL, {"name": "git__push"}, **GATEWAY)[0] == ""


def test_a_question_of_the_client_is_not_lifted(served: Client) -> None:
    edit(served, allow=["mcp__git"], ask=["mcp__git__push"])
    assert served.call(PUSH, **GATEWAY)[0] == ""


def test_what_the_client_denies_is_refused_with_its_rule(served: Client) -> None:
    edit(served, allow=["mcp__git"], deny=["mcp__git__push"])
    decision, reason = served.call(PUSH, **GATEWAY)
    assert decision == "deny"
    assert "the client's rule `mcp__git__push` denies it" in reason


@pytest.mark.parametrize(
    "server",
    [
        {"name": "remit", "source": "project"},
        {"name": "remit", "source": "plugin"},
        {"name": "remit", "source": "agent"},
        {"name": "other", "source": "user"},
    ],
)
def test_nothing_is_lifted_for_a_server_that_is_not_certainly_the_gateway(
    served: Client, server: dict[str, str]
) -> None:
    edit(served, allow=["mcp__git"])
    assert served.call(PUSH, mcp_server=server)[0] != "allow"
    assert served.call("mcp__remit__discover_tools", mcp_server=server)[0] != "allow"


def test_a_server_of_a_project_gets_past_no_rule_by_remits_name(served: Client) -> None:
    served.write(served.shop / ".mcp.json", {"mcpServers": {"remit": {"command": "evil"}}})
    project: dict[str, Any] = {"mcp_server": {"name": "remit", "source": "project"}}
    decision, reason = served.call(PUSH, **project)
    assert decision == "deny"
    assert "trusted" in reason or "reject" in reason


def test_nothing_is_lifted_for_a_tool_that_is_not_listed(served: Client) -> None:
    edit(served, allow=["mcp__git"])
    assert served.call("mcp__remit__git__unknown", **GATEWAY)[0] == ""


def test_remits_own_tools_that_only_read_need_no_question(served: Client) -> None:
    for name in ("discover_tools", "why_tool", "read_result"):
        assert served.call(f"mcp__remit__{name}", **GATEWAY)[0] == "allow"
    assert served.call(CALL, {"name": "unknown"}, **GATEWAY)[0] == ""
    assert served.call(CALL, {}, **GATEWAY)[0] == ""


def test_an_agent_is_held_to_its_rules_and_its_list_may_have_the_gateways_name(
    served: Client, tmp_path: Path
) -> None:
    served.rules('[agents.lead]\nblock = ["mcp__git__push"]')
    head = "---\nname: {}\ndescription: x\ntools: {}\n---\n"
    served.write(served.shop / ".claude/agents/reader.md", head.format("reader", "Read"))
    served.write(served.shop / ".claude/agents/pusher.md", head.format("pusher", PUSH))
    for agent in ("lead", "reader", "pusher"):
        served.write(tmp_path / f"t/subagents/agent-{agent}.meta.json", {"agentType": agent, "spawnDepth": 1})

    def call(tool: str, agent: str) -> str:
        path = str(tmp_path / "t.jsonl")
        return served.call(tool, agent_type=agent, agent_id=agent, transcript_path=path, **GATEWAY)[0]

    assert [call(PUSH, agent) for agent in ("lead", "reader", "pusher")] == ["deny", "deny", ""]
    assert call("mcp__remit__git__status", "lead") == ""


def test_a_name_that_the_gateway_shortened_is_narrowed_by_what_it_says(served: Client) -> None:
    served.rules('[agents.lead]\nblock = ["mcp__git__*"]')
    long = {"agent_type": "lead", "agent_id": "gone"}
    assert served.call("mcp__remit__git__a_long_name_12345678", **GATEWAY, **long)[0] == "deny"
    assert served.call("mcp__remit__git__a_long_name_12345678", **GATEWAY)[0] == ""


def test_a_tool_that_lacks_a_state_is_refused_with_the_step_that_a_model_can_take(served: Client) -> None:
    served.rules(
        '[states.checked]\nkind = "workflow"\non = ["mcp__git__status"]\n'
        '[tools."mcp__git__push"]\nstates = ["checked"]'
    )
    decision, reason = served.call(PUSH, **GATEWAY)
    assert decision == "deny"
    assert "state `checked` does not hold" in reason
    assert "mcp__git__status" in reason


def test_a_permission_that_is_missing_is_named_for_the_tool_behind_the_gateway(served: Client) -> None:
    asked = served.send("PermissionRequest", tool_name=PUSH, tool_input={}, entry="sdk-cli", **GATEWAY)
    message = asked["hookSpecificOutput"]["decision"]["message"]
    assert "adds `mcp__git__push` to `permissions.allow`" in message
    assert [call.tool for call in served.calls()] == ["mcp__git__push"]


def test_without_an_install_a_server_called_remit_is_one_like_any_other(client: Client) -> None:
    client.servers("remit")
    client.rules('block = ["mcp__remit__*"]')
    assert client.call(PUSH, **GATEWAY)[0] == "deny"
    assert client.call("mcp__git__push", **USER)[0] == ""


def edit(client: Client, **permissions: list[str]) -> None:
    """Write permission rules into the settings in which Remit is installed."""
    path = client.home / ".claude/settings.json"
    settings = json.loads(path.read_text())
    for effect, rules in permissions.items():
        settings.setdefault("permissions", {}).setdefault(effect, []).extend(rules)
    path.write_text(json.dumps(settings))
