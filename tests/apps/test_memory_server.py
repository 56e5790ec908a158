"""Memory over MCP: the seed's three stories, literally, with a real client of each era and a real process."""

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from memory_calls import context, decision, entity, pattern, session
from remit.apps.memory_server import server_of
from remit.core.memory.scopes import TOOLS
from support import Desk, stored

Era = Literal["legacy", "2026-07-28"]
Call = Callable[..., Awaitable[dict[str, Any]]]
ERAS: tuple[Era, ...] = ("legacy", "2026-07-28")


Story = Callable[[Client, Call], Awaitable[None]]


def run(desk: Desk, era: Era, story: Story, *, in_process: bool = True) -> None:
    """Tell a story to a server: in this process, or as a client would start it."""
    if not (desk.root / "code/shop").exists():
        desk.project("shop")

    async def tell(client: Client) -> None:
        async def call(name: str, **arguments: object) -> dict[str, Any]:
            result = await client.call_tool(name, arguments)
            assert isinstance(result, CallToolResult)
            (content,) = result.content
            assert isinstance(content, TextContent)
            assert json.loads(content.text) == result.structured_content
            return {**json.loads(content.text), "is_error": result.is_error}

        await story(client, call)

    async def start() -> None:
        if in_process:
            with desk.memory() as memory:
                async with Client(server_of(memory, memory.workspace), mode=era) as client:
                    await tell(client)
            return
        started = StdioServerParameters(
            command=sys.executable,
            args=["-m", "remit", "serve", "--memory"],
            env=desk.environment,
            cwd=desk.root / "code/shop",
        )
        async with Client(started, mode=era) as client:
            await tell(client)

    anyio.run(start)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("in_process", [True, False])
def test_a_new_project(desk: Desk, era: Era, in_process: bool) -> None:
    async def story(_: Client, call: Call) -> None:
        state = await call("get_scope_state", project_id="my-new-project")
        assert (state["scope_state"], state["project_exists"]) == ("uncertain", False)
        saved = await call("save_session", session=session(), project_id="my-new-project")
        assert (saved["status"], saved["is_error"]) == ("saved", False)
        state = await call("get_scope_state", project_id="my-new-project")
        assert (state["scope_state"], state["project_exists"]) == ("resolved", True)

    run(desk, era, story, in_process=in_process)


@pytest.mark.parametrize("era", ERAS)
def test_using_focus_areas(desk: Desk, era: Era) -> None:
    async def story(_: Client, call: Call) -> None:
        await call("save_session", session=session(), project_id="my-project")
        state = await call("get_scope_state", project_id="my-project", focus="auth-refactor")
        assert state["scope_state"] == "uncertain"
        saved = await call(
            "save_context",
            context={"content": "...", "topic": "auth", "scope": "focus", "relevance_score": 1.0},
            project_id="my-project",
            focus="auth-refactor",
        )
        assert saved["status"] == "saved"
        state = await call("get_scope_state", project_id="my-project", focus="auth-refactor")
        assert (state["scope_state"], state["project_exists"]) == ("resolved", True)

    run(desk, era, story)


@pytest.mark.parametrize("era", ERAS)
def test_a_write_that_is_blocked(desk: Desk, era: Era) -> None:
    writes: dict[str, dict[str, object]] = {
        "save_decision": {"decision": decision("Use X")},
        "save_pattern": {"pattern": pattern()},
        "save_context": {"context": context("x")},
        "upsert_entity_with_deps": {"entity": entity("e", "f")},
    }

    async def story(_: Client, call: Call) -> None:
        blocked: dict[str, Any] = {}
        for tool, given in writes.items():
            blocked = await call(tool, **given, project_id="nowhere")
            assert (blocked["status"], blocked["is_error"]) == ("blocked_scope", True)
            assert (await call("get_scope_state", project_id="nowhere"))["project_exists"] is False
        fix = blocked["next_step"].removeprefix("Create it first: save_session(").removesuffix(")")
        assert (await call("save_session", **json.loads(fix)))["status"] == "saved"
        for tool, given in writes.items():
            assert (await call(tool, **given, project_id="nowhere"))["status"] == "saved"
        assert (await call("delete_project", project_id="nowhere"))["status"] == "deleted"
        assert (await call("get_scope_state", project_id="nowhere"))["scope_state"] == "uncertain"

    run(desk, era, story)


@pytest.mark.parametrize("era", ERAS)
def test_the_tools_are_listed_with_what_they_do_and_take(desk: Desk, era: Era) -> None:
    async def story(client: Client, _: Call) -> None:
        listed = (await client.list_tools()).tools
        assert tuple(tool.name for tool in listed) == TOOLS
        assert all(tool.description and tool.input_schema["type"] == "object" for tool in listed)
        hints = {tool.name: tool.annotations for tool in listed}
        assert [name for name, hint in hints.items() if hint and hint.destructive_hint] == ["delete_project"]
        if era == "legacy":
            assert "project_id `shop-" in str(client.instructions)
        with pytest.raises(MCPError, match="no tool is called `save_all`"):
            await client.call_tool("save_all", {})

    run(desk, era, story)


BAD: list[tuple[str, dict[str, object], str]] = [
    ("save_decision", {"project_id": "p"}, "decision"),
    ("save_decision", {"project_id": "p", "decision": "x"}, "decision"),
    ("save_decision", {"project_id": "p", "decision": decision("x", confidence=7)}, "decision.confidence"),
    ("save_decision", {"project_id": "p", "decision": decision("x", date="soon")}, "decision.date"),
    ("save_decision", {"project_id": "p", "decision": decision("x"), "supersedes": "y"}, "supersedes"),
    ("save_context", {"project_id": "p", "context": context("x" * 5_000_000)}, "context.content"),
    ("save_context", {"project_id": "a/b", "context": context("x")}, "project_id"),
    ("save_context", {"project_id": "a\0b", "context": context("x")}, "project_id"),
    ("save_context", {"project_id": "x" * 10_000, "context": context("x")}, "project_id"),
    ("save_context", {"project_id": 7, "context": context("x")}, "project_id"),
    ("save_context", {"project_id": "p", "focus": "a\\b", "context": context("x")}, "focus"),
    ("get_scope_state", {"project": "p"}, "project"),
    ("retrieve_context", {"project_id": "p"}, "scope"),
    ("retrieve_context", {"project_id": "p", "scope": "focus"}, "focus"),
    ("memory_surface", {"project_id": "p", "query": ""}, "query"),
    ("memory_surface", {"project_id": "p", "query": "x", "limit": 0}, "limit"),
    ("run_hygiene", {"project_id": "p", "check_pending_only": "yes"}, "check_pending_only"),
    ("delete_project", {"project_id": []}, "project_id"),
]


def test_bad_input_is_a_typed_error_and_writes_nothing(desk: Desk) -> None:
    async def story(_: Client, call: Call) -> None:
        await call("save_session", session=session(), project_id="p")
        for tool, given, field in BAD:
            error = await call(tool, **given)
            assert (error["error"], error["code"], error["is_error"]) == (True, "INVALID_INPUT", True), error
            assert error["context"]["field"] == field
            assert error["context"]["rule"] in error["message"]
            assert len(json.dumps(error)) < 2_000
        found = await call("retrieve_context", project_id="p", scope="project")
        assert len(found["items"]) == 1

    run(desk, "legacy", story)


def test_each_refusal_has_its_code(desk: Desk) -> None:
    async def story(_: Client, call: Call) -> None:
        await call("save_session", session=session(), project_id="p")
        error = await call("save_context", project_id="p", context=context("x", scope="global"))
        assert error["code"] == "WRITE_NOT_APPROVED"
        assert error["context"]["approval_id"] in error["next_step"]
        error = await call("memory_surface", query="x")
        assert (error["code"], error["context"]) == ("SCOPE_VIOLATION", {})
        error = await call("save_decision", project_id="p", decision=decision("x"), supersedes=["y"])
        assert (error["code"], error["context"]["project_id"]) == ("ENTITY_NOT_FOUND", "p")

    run(desk, "legacy", story)


def test_a_broken_database_is_told_and_the_server_goes_on(desk: Desk) -> None:
    async def story(_: Client, call: Call) -> None:
        await call("save_session", session=session(), project_id="p")
        stored(desk.database, "alter table memory_nodes rename to gone")
        error = await call("get_scope_state", project_id="p")
        assert (error["code"], error["is_error"]) == ("GRAPH_UNHEALTHY", True)
        stored(desk.database, "alter table gone rename to memory_nodes")
        assert (await call("get_scope_state", project_id="p"))["scope_state"] == "resolved"

    run(desk, "legacy", story)


def test_a_whole_session_is_stored_at_once_and_its_sum_is_true(desk: Desk) -> None:
    async def story(_: Client, call: Call) -> None:
        given = {"session": session(), "decisions": [decision("Use X")], "patterns": [pattern()]}
        blocked = await call("store_session_with_learnings", **given, project_id="p")
        assert (blocked["overall"], blocked["is_error"]) == ("blocked_scope", True)
        await call("save_session", session=session(), project_id="p")
        kept = await call("store_session_with_learnings", **given, project_id="p")
        assert (kept["overall"], kept["decisions"][0]["status"]) == ("saved", "saved")
        again = await call("store_session_with_learnings", **given, project_id="p")
        assert (again["overall"], again["decisions"][0]["status"]) == ("saved", "duplicate_skip")

    run(desk, "legacy", story)


def test_a_server_that_cannot_start_says_why(desk: Desk, tmp_path: Path) -> None:
    desk.project("shop")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    desk.variables["REMIT_HOME"] = str(tmp_path / "file")
    done = subprocess.run(
        [sys.executable, "-m", "remit", "serve", "--memory"],
        env=desk.environment,
        cwd=desk.root / "code/shop",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: `")
    assert "hint: " in done.stderr
