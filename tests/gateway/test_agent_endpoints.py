"""Endpoints of agents: what they inherit, and the servers that their definitions declare."""

from pathlib import Path

import pytest

from remit.errors import AgentError
from remit.upstream.ports import ServerLists
from support.builders import servers
from support.gateway_fakes import FakeLinks, call, endpoint, names, offered, told
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio

SCOUT = "inheritProjectMcps: false\ninheritParentMcps: true\n"
LEAD = "mcpServers:\n  - git\n  - vault:\n      command: run-vault\n"
NO_PARENT = "agent `scout` inherits its parent's servers, and its parent is not known here"
OWN = "it is agent `lead`'s own"


def define(folder: Path, sandbox: Sandbox, name: str, fields: str) -> None:
    sandbox.write(folder / f".claude/agents/{name}.md", f"---\nname: {name}\ndescription: d\n{fields}---\n")


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("git", "wiki")
    define(sandbox.home, sandbox, "lead", LEAD)
    define(sandbox.home, sandbox, "scout", SCOUT)
    return sandbox.project("shop")


@pytest.fixture
def links() -> FakeLinks:
    return FakeLinks({label: ServerLists(tools=[offered("read")]) for label in ("git", "wiki", "vault")})


async def test_a_child_has_exactly_what_its_parent_gives_it(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(sandbox, links, shop, agent="scout", parents=("lead",)) as served:
        assert await names(served) == ["git__read", "vault__read"]
        assert told(await call(served, "git__read")) == "git did read"
        assert told(await call(served, "vault__read")) == "vault did read"
        refused = await call(served, "wiki__read")
        assert refused["isError"]
        assert "agent `scout` inherits from its parent, and agent `lead` has only the servers" in told(
            refused
        )


async def test_a_child_without_a_known_parent_is_told_so_by_every_face(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["git__read", "wiki__read"]
    async with endpoint(sandbox, links, shop, agent="scout") as served:
        assert await names(served) == []
        assert NO_PARENT in told(await call(served, "git__read"))
    shown = sandbox.remit("why", "git__read", "--project", str(shop), "--agent", "scout")
    assert NO_PARENT in shown.stdout
    assert "name its parent with `--parent`" in shown.stdout
    event: dict[str, object] = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": str(shop),
        "tool_name": "mcp__git__read",
        "tool_input": {},
        "agent_type": "scout",
        "agent_id": "a1",
    }
    assert NO_PARENT in sandbox.hook(event)["permissionDecisionReason"]
    sandbox.write(sandbox.root / "t/subagents/agent-a1.meta.json", {"agentType": "scout", "spawnDepth": 1})
    started = {**event, "transcript_path": str(sandbox.root / "t.jsonl")}
    assert sandbox.hook(started) == {}  # the main session started it, and has the server


async def test_a_parent_that_may_not_start_the_agent_is_an_error(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    define(sandbox.home, sandbox, "lead", "allowedAgents: []\n")
    with pytest.raises(AgentError, match="may not start"):
        async with endpoint(sandbox, links, shop, agent="scout", parents=("lead",)):
            raise AssertionError


async def test_an_agents_own_server_is_served_to_it_and_explained_to_others_in_the_same_words(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(sandbox, links, shop, agent="lead") as served:
        assert await names(served) == ["git__read", "vault__read"]
        assert told(await call(served, "vault__read")) == "vault did read"
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["git__read", "wiki__read"]
        refused = await call(served, "vault__read")
        assert refused["isError"]
        assert OWN in told(refused)
        assert OWN in told(await call(served, "why_tool", {"name": "vault__read"}))
    for arguments in (("why", "vault__read"), ("tools", "--all")):
        assert OWN in sandbox.remit(*arguments, "--project", str(shop)).stdout
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(shop)}
    answer = sandbox.hook({**event, "tool_name": "mcp__vault__read"})
    assert OWN in answer["permissionDecisionReason"]


async def test_an_agents_own_server_takes_the_place_of_the_projects(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write_state("git", "vault")
    async with endpoint(sandbox, links, shop, agent="lead") as served:
        assert await names(served) == ["git__read", "vault__read"]
        assert told(await call(served, "vault__read")) == "vault did read"
        assert links.asked[-1].upstream.key[5] == "lead"


async def test_a_repositorys_agents_own_server_is_not_started_without_trust(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    define(shop, sandbox, "guest", "mcpServers:\n  - vault:\n      command: run-vault\n")
    sandbox.write(shop / ".mcp.json", servers())
    async with endpoint(sandbox, links, shop, agent="guest") as served:
        assert await names(served) == []
        assert "not trusted" in told(await call(served, "vault__read"))
    assert "vault" not in links.stocked
