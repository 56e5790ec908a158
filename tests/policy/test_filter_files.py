"""Filters in files: one decision in lists, calls, search, explanations and hooks."""

import json
from pathlib import Path

import pytest

from remit.upstream.ports import ServerLists
from support.gateway_fakes import FakeLinks, call, endpoint, names, offered, told
from support.sandbox import Sandbox

REVIEWER = "Code Reviewer"
# As published: only the annotation of `tool` is missing, and no import is needed.
CONTEXT_AWARE = """\
async def context_aware_filter(context: ToolFilterContext, tool) -> bool:
    if context.agent.name == "Code Reviewer" and tool.name.startswith("danger_"):
        return False
    return True
"""
REFUSED = "hidden by the filter `context_aware_filter`"
LINKS = {"disk": ServerLists(tools=[offered("danger_wipe"), offered("usage")])}


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("disk")
    sandbox.write(
        sandbox.home / ".claude/agents/reviewer.md", f"---\nname: {REVIEWER}\ndescription: reviews\n---\n"
    )
    return sandbox.project("shop")


def filter_file(sandbox: Sandbox, code: str = CONTEXT_AWARE) -> Path:
    """Write a file of filters, and name it in the user's own configuration."""
    path = sandbox.write(sandbox.home / ".config/remit/filters.py", code)
    sandbox.write(sandbox.home / ".config/remit/remit.toml", f'[filters]\nfiles = ["{path}"]\n')
    return path


async def visit(sandbox: Sandbox, shop: Path, agent: str | None = None) -> list[str]:
    """List the tools through the gateway, which also stores them."""
    async with endpoint(sandbox, FakeLinks(dict(LINKS)), shop, agent=agent) as served:
        return await names(served)


def as_agent(agent: str | None) -> list[str]:
    return [] if agent is None else ["--agent", agent]


def listed(sandbox: Sandbox, shop: Path, agent: str | None = None) -> set[str]:
    shown = sandbox.remit("tools", "--json", "--project", str(shop), *as_agent(agent))
    return {tool["name"] for tool in json.loads(shown.stdout)["tools"]}


def hook(sandbox: Sandbox, shop: Path, name: str, agent: str | None = None) -> str | None:
    event = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": str(shop),
        "tool_name": name,
        "tool_input": {},
        "tool_use_id": "t",
        "agent_type": agent,
        "mcp_server": {"name": "disk", "source": "user"},
    }
    return sandbox.hook(event).get("permissionDecisionReason")


@pytest.mark.anyio
async def test_the_gateway_lists_finds_and_calls_what_the_filter_leaves_to_each_agent(
    sandbox: Sandbox, shop: Path
) -> None:
    filter_file(sandbox)
    links = FakeLinks(dict(LINKS))
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["disk__danger_wipe", "disk__usage"]
        assert told(await call(served, "disk__danger_wipe")) == "disk did danger_wipe"
    async with endpoint(sandbox, links, shop, agent=REVIEWER) as served:
        assert await names(served) == ["disk__usage"]
        refused = await call(served, "disk__danger_wipe")
        assert refused["isError"]
        assert REFUSED in told(refused)
        assert str(sandbox.home) not in told(refused)
        found = await call(served, "discover_tools", {"query": "danger wipe"})
        assert "disk__danger_wipe" not in json.dumps(found["structuredContent"])
        assert told(await call(served, "disk__usage")) == "disk did usage"
        assert REFUSED in told(await call(served, "why_tool", {"name": "disk__danger_wipe"}))


@pytest.mark.anyio
async def test_commands_and_hooks_decide_as_the_gateway_does(sandbox: Sandbox, shop: Path) -> None:
    path = filter_file(sandbox)
    await visit(sandbox, shop)
    assert "mcp__disk__danger_wipe" in listed(sandbox, shop)
    assert "mcp__disk__danger_wipe" not in listed(sandbox, shop, REVIEWER)
    assert {"mcp__disk__usage", "mcp__disk__*"} <= listed(sandbox, shop, REVIEWER)
    why = sandbox.remit("why", "disk__danger_wipe", "--project", str(shop), "--agent", REVIEWER)
    assert f"{REFUSED} ({path})" in why.stdout
    for name in ("mcp__disk__danger_wipe", "mcp__disk__danger_unlisted"):
        assert hook(sandbox, shop, name) is None
        for _ in range(3):  # decided, then with the states known, then recalled
            assert REFUSED in (hook(sandbox, shop, name, REVIEWER) or "")
    assert hook(sandbox, shop, "mcp__disk__usage", REVIEWER) is None


def test_a_tool_that_no_server_listed_yet_is_decided_by_its_name(sandbox: Sandbox, shop: Path) -> None:
    filter_file(sandbox)
    why = sandbox.remit("why", "mcp__disk__danger_new", "--project", str(shop), "--agent", REVIEWER)
    assert REFUSED in why.stdout
