"""Decisions before calls of the client's own tools, and of servers that it starts itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from remit.decision import Kind
from remit.trust import grant, servers
from support.hooks import USER, Client

GIT = "mcp__git__push"


def test_a_blocked_tool_is_refused_with_the_rule_and_the_refusal_is_in_the_log(client: Client) -> None:
    client.rules('block = ["mcp__git__push", "Bash"]')
    decision, reason = client.call(GIT, tool_use_id="t1", **USER)
    assert decision == "deny"
    assert "`mcp__git__push` is not available here: blocked by `mcp__git__push`" in reason
    assert "`remit why mcp__git__push`" in reason
    assert client.call("Bash")[0] == "deny"
    assert [(call.tool, call.outcome, call.gate, call.call_id) for call in client.calls()] == [
        (GIT, "refused", "policy", "t1"),
        ("Bash", "refused", "policy", None),
    ]


def test_what_no_rule_is_about_is_not_mentioned_at_all(client: Client) -> None:
    client.rules('block = ["mcp__git__push"]')
    assert client.call("mcp__git__status", **USER) == ("", "")
    assert client.call("Read") == ("", "")
    assert client.calls() == []


def test_what_needs_approval_is_asked_about_with_the_rule_and_its_file(client: Client) -> None:
    client.rules('[tools."mcp__git__push"]\napproval = true')
    decision, reason = client.call(GIT, **USER)
    assert decision == "ask"
    assert "`tools.mcp__git__push.approval` in ~/.config/remit/remit.toml line 2" in reason
    assert client.calls() == []


def test_what_a_client_without_a_person_cannot_ask_about_is_recorded_as_refused(client: Client) -> None:
    client.rules('[tools."mcp__git__push"]\napproval = true')
    decision, reason = client.call(GIT, entry="sdk-cli", **USER)
    assert decision == "ask"
    assert (
        "needs the user's permission: needs approval: `tools.mcp__git__push.approval` in ~/.config" in reason
    )
    assert [(call.tool, call.outcome) for call in client.calls()] == [(GIT, "refused")]


def test_a_tool_that_the_readable_part_of_a_broken_file_names_is_asked_about(client: Client) -> None:
    client.rules('block = ["Bash"\n\n[tools."mcp__git__push"]\ndanger = "high"\n')
    assert client.call(GIT, **USER)[0] == "ask"
    assert client.call("mcp__git__status", **USER)[0] == ""


def test_a_rule_that_changed_counts_for_the_next_call(client: Client) -> None:
    client.rules('block = ["Bash"]')
    assert client.call(GIT, **USER)[0] == ""
    client.rules('block = ["mcp__git__*"]')
    assert client.call(GIT, **USER)[0] == "deny"


def test_a_state_is_looked_at_before_each_call(client: Client) -> None:
    client.rules('[states.ready]\nfile = "ready.txt"\n[tools."mcp__git__push"]\nstates = ["ready"]')
    decision, reason = client.call(GIT, **USER)
    assert decision == "deny"
    assert "`mcp__git__push` is not available here: " in reason
    assert "gate" not in reason
    client.write(client.shop / "ready.txt", "")
    assert client.call(GIT, **USER)[0] == ""
    (client.shop / "ready.txt").unlink()
    assert client.call(GIT, **USER)[0] == "deny"


def test_a_rule_on_arguments_is_judged_by_those_of_the_call(client: Client) -> None:
    client.rules('[tools."mcp__git__push"]\nwhen = "args.branch != \'main\'"')
    assert client.call(GIT, {"branch": "feature"}, **USER)[0] == ""
    decision, reason = client.call(GIT, {"branch": "main"}, **USER)
    assert decision == "deny"
    assert "args.branch" in reason


@pytest.mark.parametrize(
    ("file", "tool", "given", "rule"),
    [
        (".claude/skills/deploy/SKILL.md", "Skill", {"skill": "deploy"}, "deploy"),
        (".claude/commands/deploy.md", "Skill", {"command": "/deploy now"}, "/deploy"),
        (".claude/agents/deploy.md", "Agent", {"subagent_type": "deploy"}, "deploy"),
    ],
)
def test_what_a_tool_starts_is_judged_too(
    client: Client, file: str, tool: str, given: object, rule: str
) -> None:
    client.write(client.shop / file, "---\nname: deploy\ndescription: Deploys\n---\n")
    assert client.call(tool, given)[0] == ""
    client.rules(f'block = ["{rule}"]')
    decision, reason = client.call(tool, given)
    assert decision == "deny"
    assert "`deploy` is not available here" in reason
    assert client.call(tool, {"skill": "other", "subagent_type": "other"})[0] == ""


def test_resources_are_decided_like_their_server(client: Client) -> None:
    client.servers("git", "wiki")
    client.rules('block = ["mcp__git__*"]')
    assert client.call("ReadMcpResourceTool", {"server": "git", "uri": "x"})[0] == "deny"
    assert client.call("ReadMcpResourceTool", {"server": "wiki", "uri": "x"})[0] == ""


def test_the_clients_mode_narrows_and_never_widens(client: Client) -> None:
    client.rules('[tools."mcp__git__push"]\napproval = true\n[tools."mcp__git__drop"]\ndanger = "high"')
    assert client.call(GIT, permission_mode="dontAsk", **USER)[0] == "deny"
    assert client.call("mcp__git__drop", permission_mode="plan", **USER)[0] == "deny"
    assert client.call(GIT, permission_mode="bypassPermissions", **USER)[0] == "ask"


def test_in_plan_mode_a_client_keeps_its_own_tools_as_one_of_them_writes_the_plan(client: Client) -> None:
    assert client.call("Write", permission_mode="plan")[0] == ""


def test_the_client_applies_its_permission_rules_to_its_own_calls_itself(client: Client) -> None:
    client.settings(permissions={"deny": [GIT], "ask": ["mcp__git__pull"]})
    assert client.call(GIT, **USER)[0] == ""
    assert client.call("mcp__git__pull", **USER)[0] == ""


def test_a_projects_server_that_is_not_trusted_is_refused_though_the_client_started_it(
    client: Client,
) -> None:
    project: dict[str, Any] = {"mcp_server": {"name": "git", "source": "project"}}
    client.write(client.shop / ".mcp.json", {"mcpServers": {"git": {"command": "git"}}})
    client.settings(enableAllProjectMcpServers=True)
    client.write(
        client.home / ".claude.json", {"projects": {str(client.shop): {"hasTrustDialogAccepted": True}}}
    )
    decision, reason = client.call(GIT, **project)
    assert decision == "deny"
    assert "its server `git`: not trusted in Remit: your client runs it, and its calls are refused" in reason
    with client.registry() as registry:
        context = client.context(registry)
        catalog = registry.catalog(context)
        found = servers(registry.store, catalog.resolved, context, catalog.configuration.options)
        grant(registry.store, found, context, 1)
    assert client.call(GIT, **project)[0] == ""


def test_of_two_servers_with_one_name_the_one_that_the_client_started_is_meant(client: Client) -> None:
    client.write(client.shop / ".mcp.json", {"mcpServers": {"git": {"command": "git"}}})
    client.servers("git")
    client.install()
    assert client.call(GIT, mcp_server={"name": "git", "source": "project"})[0] == "deny"
    assert client.call(GIT, **USER)[0] == ""


def test_an_agent_is_held_to_its_list_and_to_the_rules_for_it_and_those_above_it(
    client: Client, tmp_path: Path
) -> None:
    client.write(
        client.shop / ".claude/agents/reader.md",
        "---\nname: reader\ndescription: Reads\ntools: Read\n---\n",
    )
    client.rules('[agents.lead]\nblock = ["mcp__git__*"]')
    folder = tmp_path / "t/subagents"
    client.write(folder / "agent-a1.meta.json", {"agentType": "lead", "spawnDepth": 1})
    client.write(folder / "agent-a2.meta.json", {"agentType": "x", "parentAgentId": "a1", "spawnDepth": 2})
    client.write(folder / "agent-a3.meta.json", {"agentType": "x", "spawnDepth": 1})

    def call(tool: str, agent: str, agent_id: str) -> str:
        path = str(tmp_path / "t.jsonl")
        return client.call(tool, agent_type=agent, agent_id=agent_id, transcript_path=path, **USER)[0]

    client.write(folder / "agent-a4.meta.json", {"agentType": "reader", "spawnDepth": 1})
    assert call("Bash", "reader", "a4") == "deny"
    assert call(GIT, "lead", "a1") == "deny"
    assert call(GIT, "x", "a2") == "deny"  # below the lead
    assert call(GIT, "x", "a3") == ""
    assert call(GIT, "x", "unknown") == "deny"  # nobody knows its parent, so the rules for every agent apply
    assert client.call(GIT, **USER)[0] == ""


def test_a_filter_in_python_decides_about_every_call_of_the_client(client: Client) -> None:
    path = client.write(
        client.home / "filters.py",
        "def careful(context, tool) -> bool:\n    return tool.name != 'push' and context.agent.name != 'x'\n",
    )
    client.rules(f'filters = ["{path}"]')
    client.servers("git")
    client.lists("git", "push", "status")
    assert client.call(GIT, **USER)[0] == "deny"
    assert client.call("mcp__git__status", **USER)[0] == ""
    assert client.call("Bash")[0] == ""
    assert client.call("Bash", agent_type="x", agent_id="a1")[0] == "deny"


def test_where_nobody_can_answer_the_client_a_refusal_names_the_rule_to_add_and_is_in_the_log(
    client: Client,
) -> None:
    def asked(entry: str) -> Any:
        answer = client.send(
            "PermissionRequest", tool_name=GIT, tool_input={}, entry=entry, mode="open", **USER
        )
        return answer.get("hookSpecificOutput", {}).get("decision")

    assert asked("cli") is None  # a person answers the client's own question
    decision = asked("sdk-cli")
    assert decision["behavior"] == "deny"
    assert "add" in decision["message"]
    assert f"adds `{GIT}` to `permissions.allow` in ~/.claude/settings.json" in decision["message"]
    assert [(call.tool, call.outcome) for call in client.calls()] == [(GIT, "refused")]
    client.servers("git")
    client.lists("git", "push")
    client.settings(permissions={"ask": [GIT]})
    assert f"the rule `{GIT}` asks about it" in asked("sdk-cli")["message"]


def test_a_call_whose_tool_cannot_be_read_is_not_let_through(client: Client) -> None:
    client.rules('block = ["Bash"]')
    assert client.call("")[0] == "deny"
    assert client.call("x" * 2_000)[0] == "deny"
    assert client.send("PreToolUse", mode="open") == {}


def test_a_use_is_counted_once_with_its_outcome(client: Client) -> None:
    for _ in range(2):
        client.send("PostToolUse", tool_name=GIT, tool_use_id="t1", duration_ms=7, tool_response="ok", **USER)
    client.send("PostToolUseFailure", tool_name=GIT, tool_use_id="t2", error="no", **USER)
    client.send("PostToolUseFailure", tool_name=GIT, tool_use_id="t3", error="", is_interrupt=True, **USER)
    assert client.uses() == {GIT: (3, 1)}
    assert [(call.outcome, call.duration_ms, call.session) for call in client.calls()] == [
        ("done", 7, "s"),
        ("failed", 0, "s"),
        ("cancelled", 0, "s"),
    ]


def test_the_gateway_counts_its_own_calls(client: Client) -> None:
    client.send("PostToolUse", tool_name="mcp__remit__git__push", tool_use_id="t1", tool_response="ok")
    assert client.calls() == []


def test_commands_that_fail_do_not_demote_the_shell(client: Client) -> None:
    client.send("PostToolUseFailure", tool_name="Bash", tool_use_id="t1", error="Exit code 3")
    assert client.uses() == {"Bash": (1, 0)}


def test_a_skill_counts_and_not_the_tool_that_starts_it_and_so_does_one_that_a_person_types(
    client: Client,
) -> None:
    client.write(client.shop / ".claude/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: x\n---\n")
    with client.registry() as registry:
        registry.catalog(client.context(registry))
    client.send("PostToolUse", tool_name="Skill", tool_input={"skill": "deploy"}, tool_use_id="t1")
    client.send("UserPromptExpansion", expansion_type="slash_command", command_name="deploy")
    client.send("UserPromptExpansion", expansion_type="slash_command", command_name="unknown")
    assert client.uses() == {"deploy": (2, 0)}


def test_a_success_sets_the_state_that_it_is_declared_to_set(client: Client) -> None:
    client.rules(
        '[states.checked]\nkind = "workflow"\non = ["mcp__git__check"]\n'
        '[tools."mcp__git__push"]\nstates = ["checked"]'
    )
    assert client.call(GIT, **USER)[0] == "deny"
    client.send("PostToolUseFailure", tool_name="mcp__git__check", tool_use_id="t1", error="no", **USER)
    assert client.call(GIT, **USER)[0] == "deny"
    client.send("PostToolUse", tool_name="mcp__git__check", tool_use_id="t2", tool_response="ok", **USER)
    assert client.call(GIT, **USER)[0] == ""


def test_an_agent_that_a_call_starts_counts_itself(client: Client) -> None:
    client.write(client.shop / ".claude/agents/reader.md", "---\nname: reader\ndescription: x\n---\n")
    with client.registry() as registry:
        tools = registry.catalog(client.context(registry)).tools
    assert any(tool.kind is Kind.SUBAGENT for tool in tools)
    client.send("PostToolUse", tool_name="Agent", tool_input={"subagent_type": "reader"}, tool_use_id="t1")
    assert client.uses() == {"reader": (1, 0)}


def test_the_size_of_a_call_is_logged_and_never_its_content(client: Client) -> None:
    secret = "hunter2" * 3
    client.send(
        "PostToolUse", tool_name=GIT, tool_input={"q": secret}, tool_use_id="t", tool_response=secret, **USER
    )
    (call,) = client.calls()
    assert call.bytes_in == len(json.dumps({"q": secret}))
    assert secret.encode() not in (client.data / "remit.sqlite-wal").read_bytes()
