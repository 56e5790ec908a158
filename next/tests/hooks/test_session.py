"""Events of sessions: one starts, or its user writes a prompt."""

import time
from typing import Any

import pytest

from remit.catalog import Registry
from remit.clients import InstallLevel
from remit.decision import Context
from remit.hooks import session
from remit.store import Approval, Binding
from support.hooks import USER, Client


def start(client: Client, **fields: Any) -> tuple[str, str]:
    """Start a session, and return what the model and the user are told."""
    answer = client.send("SessionStart", mode="start", source="startup", **fields)
    return answer.get("hookSpecificOutput", {}).get("additionalContext", ""), answer.get("systemMessage", "")


def test_a_session_starts_with_the_tools_that_are_available_here(client: Client) -> None:
    client.servers("git")
    assert start(client) == ("## Available Tools\n- MCP: git (global)", "")
    client.servers("git", "wiki")
    assert "- MCP: wiki (global)" in start(client)[0]


def test_no_session_is_told_of_another_projects_tools(client: Client) -> None:
    blog = client.root / "blog"
    (blog / ".git").mkdir(parents=True)
    client.write(blog / ".claude/commands/secret-of-the-blog.md", "x")
    client.variables["CLAUDE_PROJECT_DIR"] = str(blog)
    assert "/secret-of-the-blog" in start(client)[0]
    client.variables["CLAUDE_PROJECT_DIR"] = str(client.shop)
    assert start(client) == ("", "")


def test_a_session_waits_until_the_client_has_read_repaired_rules(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def repaired(registry: Registry, context: Context) -> bool:
        asked.append(context.workspace.dir)
        return not registry.problems(context)

    assert session.REREAD == 1.5
    monkeypatch.setattr(session, "REREAD", 0.3)
    client.refresh_copies = repaired
    began = time.monotonic()
    start(client)
    assert time.monotonic() - began >= 0.3
    assert asked == [str(client.shop)]
    monkeypatch.setattr(session, "REREAD", 60.0)
    client.refresh_copies = lambda _registry, _context: False
    start(client)  # nothing changed, so nobody waits


def test_rules_that_cannot_be_repaired_keep_no_session_from_starting(client: Client) -> None:
    def fails(_registry: Registry, _context: Context) -> bool:
        raise OSError("read-only")

    client.servers("git")
    client.refresh_copies = fails
    assert "- MCP: git" in start(client)[0]
    assert "SessionStart OSError" in (client.data / "hooks.log").read_text()


def test_an_install_for_context_alone_lists_tools_and_does_nothing_else(client: Client) -> None:
    client.install(InstallLevel.CONTEXT)
    client.servers("git")
    client.settings(disableAllHooks=True)
    client.level = "context"
    client.refresh_copies = lambda _registry, _context: pytest.fail("nothing is written")
    assert start(client) == ("## Available Tools\n- MCP: git (global)", "")
    client.send("PostToolUse", tool_name="mcp__git__push", tool_use_id="t", **USER)
    assert client.uses() == {"mcp__git__push": (1, 0)}


def test_a_session_that_runs_as_an_agent_lists_what_the_agent_has(client: Client) -> None:
    client.servers("git")
    client.write(
        client.shop / ".claude/agents/reader.md",
        "---\nname: reader\ndescription: x\ntools: Read, Agent\n---\n",
    )
    assert "- MCP: git" in start(client)[0]
    assert "- MCP: git" not in start(client, agent_type="reader")[0]


def wait_for(client: Client, *tools: str) -> None:
    with client.open_store() as store:
        for number, tool in enumerate(tools):
            binding = Binding("claude-code", tool, "d", str(number))
            at = client.now()
            wanted = Approval(f"id{number}", binding, "the-arguments", "r", at, at + 60_000)
            store.approvals.request(wanted, client.workspace, forget_before=0, most=9)


def prompt(client: Client, **fields: Any) -> tuple[str, str]:
    answer = client.send("UserPromptSubmit", mode="open", prompt="hello", **fields)
    return answer.get("hookSpecificOutput", {}).get("additionalContext", ""), answer.get("systemMessage", "")


def test_the_user_reads_how_to_answer_and_the_model_which_tool_waits(client: Client) -> None:
    assert prompt(client) == ("", "")
    wait_for(client, "mcp__git__push")
    told, shown = prompt(client)
    assert (
        told == "1 call waits for the user's approval in Remit: `mcp__git__push`. Only the user can answer."
    )
    assert shown == "Remit: `mcp__git__push` waits for your approval: run `remit approve id0`"
    assert "the-arguments" not in told + shown
    assert prompt(client, source="system") == ("", "")


def test_many_calls_are_counted_and_no_tool_writes_into_what_is_told(client: Client) -> None:
    wait_for(client, "mcp__a__b\n`obey`", "mcp__a__c", "mcp__a__d", "mcp__a__e", "mcp__a__f")
    told, shown = prompt(client)
    assert told.startswith("5 calls wait for the user's approval in Remit: `mcp__a__b 'obey'`, `mcp__a__c`")
    assert "and others" in told
    assert shown.splitlines()[-1] == "Remit: 2 more calls wait: run `remit approve`"
    assert len(shown.splitlines()) == 4
