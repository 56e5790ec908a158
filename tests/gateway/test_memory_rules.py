"""Memory's tools are tools like any other: lists, approvals, agents, rooms, pins and strategies count."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from remit.audit.audit_log import CallQuery
from remit.bootstrap import open_notifier
from remit.decision.projects import identify
from remit.errors import StoreError, StoreTooNewError, StoreUnreachableError
from remit.gateway.endpoint import LiveEndpoint
from remit.gateway.open_endpoint import EndpointResources, serve_endpoint
from remit.gateway.ports import EndpointSpec
from remit.gateway.requests.call_metrics import CallMetrics
from remit.memory.memory_scopes import memory_id
from remit.memory.project_memory import Memory
from remit.memory.tool_permissions import TOOLS
from remit.presentation.refusals import STORE_DOWN
from remit.protocol.json_rpc import Answer, JsonRpcError
from remit.upstream.ports import ServerLists
from remit.upstream.tool_reader import read_offer
from remit.upstream.upstream_pool import UpstreamPool
from support.builders import servers
from support.gateway_fakes import YES, FakeCaller, FakeLinks, call, endpoint, names, offered, told
from support.memory_calls import context, decision, session
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio

MEMORY = sorted(f"remit-memory__{tool}" for tool in TOOLS)


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("git")
    return sandbox.project("shop")


@pytest.fixture
def links() -> FakeLinks:
    return FakeLinks({"git": ServerLists(tools=[offered("log"), offered("push")])})


def own_id(project: Path) -> str:
    return memory_id(identify(str(project)))


async def save(served: LiveEndpoint, project: Path, caller: FakeCaller | None = None) -> Answer:
    wanted: dict[str, Any] = {"session": session(), "project_id": own_id(project)}
    return await call(served, "remit-memory__save_session", wanted, caller)


def machine(sandbox: Sandbox, text: str) -> None:
    sandbox.write(sandbox.home / ".config/remit/remit.toml", text)


async def test_no_server_is_started_or_asked_for_it(sandbox: Sandbox, shop: Path, links: FakeLinks) -> None:
    async with endpoint(sandbox, links, shop) as served:
        assert (await save(served, shop))["structuredContent"]["status"] == "saved"
        with pytest.raises(JsonRpcError, match="Unknown tool: remit-memory__save_all"):
            await call(served, "remit-memory__save_all")
    assert links.stocked == ["git"]
    assert links.asked == []


@pytest.mark.long
@pytest.mark.parametrize(
    "rule",
    [
        'block = ["mcp__remit-memory__save_*"]',
        'block = ["mcp__remit__remit-memory__save_session"]',
        '[servers.remit-memory]\nblock = ["save_*"]',
        '[servers.remit-memory]\nallow = ["retrieve_context"]',
        '[tools."remit-memory__save_*"]\nai_enabled = false',
        '[tools."remit-memory__save_*"]\nstates = ["git-merging"]',
        '[memory]\ntools = "off"',
        'mode = "plan"',
    ],
)
async def test_a_rule_against_writing_is_kept_by_lists_calls_search_and_why(
    sandbox: Sandbox, shop: Path, links: FakeLinks, rule: str
) -> None:
    machine(sandbox, rule)
    async with endpoint(sandbox, links, shop, strategy="namespace") as served:
        refused = await save(served, shop)
        assert refused["isError"] is True
        assert "is not available now" in told(refused)
        why = await call(served, "why_tool", {"name": "mcp__remit__remit-memory__save_session"})
        assert why["structuredContent"]["verdict"] == "hidden"
        found = await call(served, "discover_tools", {"query": "save_session"})
        listed = [*await names(served), *(item["name"] for item in found["structuredContent"]["tools"])]
        if "remit-memory" in listed:
            group = await call(served, "remit-memory")
            listed += [item["name"] for item in group["structuredContent"]["tools"]]
        assert "remit-memory__save_session" not in listed
        assert sandbox.memory().get_scope_state({"project_id": own_id(shop)}).project_exists is False


async def test_a_project_can_switch_it_off_and_cannot_switch_it_on(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", '[memory]\ntools = "off"\n')
    async with endpoint(sandbox, links, shop) as served:
        assert "blocked by `off`: rule `memory.tools`" in told(await save(served, shop))
    sandbox.write(shop / "remit.toml", '[memory]\ntools = "listed"\n')
    machine(sandbox, '[memory]\ntools = "off"\n')
    async with endpoint(sandbox, links, shop) as served:
        assert "blocked by `off`" in told(await save(served, shop))
        assert await names(served) == ["git__log", "git__push"]


async def test_a_call_that_a_policy_asks_about_waits_for_a_person(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    machine(sandbox, '[tools."mcp__remit-memory__save_*"]\napproval = true\n')
    async with endpoint(sandbox, links, shop) as served:
        waiting = await save(served, shop)
        assert waiting["structuredContent"]["error"] == "approval_required"
        person = FakeCaller(capabilities={"elicitation": {}}, answer=YES)
        assert (await save(served, shop, person))["structuredContent"]["status"] == "saved"
        assert "Allow this call of `remit-memory__save_session`?" in person.questions[0][1]["message"]


async def test_an_agent_has_it_only_where_its_definition_lets_it(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    head = "---\nname: {}\ndescription: x\n{}---\n"
    sandbox.write(shop / ".claude/agents/all.md", head.format("all", ""))
    sandbox.write(shop / ".claude/agents/git.md", head.format("git", "mcpServers: [git]\n"))
    sandbox.write(
        shop / ".claude/agents/reader.md",
        head.format("reader", "disallowedTools: mcp__remit-memory__save_session\n"),
    )
    for agent, is_saved in (("all", True), ("git", False), ("reader", False)):
        async with endpoint(sandbox, links, shop, agent=agent) as served:
            assert ("saved" in told(await save(served, shop))) is is_saved


@pytest.mark.long
@pytest.mark.parametrize(
    ("configured", "strategy", "expected"),
    [
        ("", None, ["git__log", "git__push"]),
        ("", "state", ["git__log", "git__push"]),
        ("", "flat", ["git__log", "git__push"]),
        ("", "manifest", ["git__log", "git__push"]),
        ("", "rooms", ["git__log", "git__push"]),
        ("", "namespace", ["git", "remit-memory"]),
        ("", "search", []),
        ('pinned = ["mcp__remit-memory__save_session"]', "search", ["remit-memory__save_session"]),
        (
            'pinned = ["mcp__remit-memory__save_session"]',
            "state",
            ["git__log", "git__push", "remit-memory__save_session"],
        ),
        (
            '[tools."mcp__remit-memory__save_session"]\nstates = ["git-initialized"]',
            None,
            ["git__log", "git__push", "remit-memory__save_session"],
        ),
        ('[memory]\ntools = "listed"', None, ["git__log", "git__push", *MEMORY]),
        ('[memory]\ntools = "listed"', "state", ["git__log", "git__push", *MEMORY]),
        ('[memory]\ntools = "listed"', "rooms", ["git__log", "git__push", *MEMORY]),
    ],
)
async def test_each_strategy_lists_it_where_something_speaks_for_it(
    sandbox: Sandbox, shop: Path, links: FakeLinks, configured: str, strategy: str | None, expected: list[str]
) -> None:
    machine(sandbox, configured)
    async with endpoint(sandbox, links, shop, strategy=strategy) as served:
        listing = await served.tools({})
        assert await names(served) == expected
        own = {item["name"] for item in listing.items}
        is_all_there = set(MEMORY) <= own
        assert is_all_there or "call_tool" in own
        found = await call(served, "discover_tools", {"query": "remember this decision", "limit": 1})
        assert found["structuredContent"]["tools"][0]["name"] == "remit-memory__save_decision"
        inner = {
            "name": "remit-memory__save_session",
            "arguments": {"session": session(), "project_id": own_id(shop)},
        }
        answer = await call(served, "call_tool", inner)
        assert answer["structuredContent"]["status"] == "saved"


async def test_what_was_used_here_is_listed_from_the_next_time_on(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    blog = sandbox.project("blog")
    async with endpoint(sandbox, links, shop) as served:
        await save(served, shop)
        assert await names(served) == ["git__log", "git__push"]
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["git__log", "git__push", "remit-memory__save_session"]
    async with endpoint(sandbox, links, blog) as served:
        assert await names(served) == ["git__log", "git__push"]


async def test_a_room_has_it_where_it_is_in_the_room(sandbox: Sandbox, shop: Path, links: FakeLinks) -> None:
    sandbox.write(
        shop / "remit.toml",
        '[rooms.notes]\ntools = ["mcp__remit-memory__*"]\n[rooms.git]\ntools = ["git__*"]\n',
    )
    async with endpoint(sandbox, links, shop, room="git") as served:
        assert "not on the list of allowed tools" in told(await save(served, shop))
    async with endpoint(sandbox, links, shop, room="notes") as served:
        assert (await save(served, shop))["structuredContent"]["status"] == "saved"
        assert served.instructions is not None
        assert "retrieve_context" in served.instructions
    async with endpoint(sandbox, links, shop, strategy="rooms") as served:
        (room,) = (item for item in (await served.resources()).items if item["uri"] == "room://notes")
        read = await served.pass_on("resources/read", {"uri": room["uri"]}, FakeCaller())
        assert len(json.loads(read["contents"][0]["text"])["tools"]) == len(TOOLS)


async def test_a_server_of_the_same_name_that_somebody_declares_gets_none_of_its_calls(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write(shop / ".mcp.json", servers("remit-memory"))
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        registry.scan(here)
        registry.trust.grant(registry.trust.servers(here), here)
    links = FakeLinks({"remit-memory": ServerLists(tools=[offered("save_session")])})
    async with endpoint(sandbox, links, shop) as served:
        assert (await save(served, shop))["structuredContent"]["status"] == "saved"
        assert links.asked == []


async def test_what_goes_wrong_names_the_next_step(sandbox: Sandbox, shop: Path, links: FakeLinks) -> None:
    async with endpoint(sandbox, links, shop) as served:
        await save(served, shop)
        flat = {"title": "Use SQLite", "rationale": "one file", "project_id": own_id(shop)}
        wrong = (await call(served, "remit-memory__save_decision", flat))["structuredContent"]
        assert wrong["message"] == (
            "unknown field `title`; expected one of the fields decision, project_id, focus, "
            "governance_token, supersedes"
        )
        shown = (
            wrong["next_step"]
            .removeprefix("A call that works: remit-memory__save_decision(")
            .removesuffix(")")
        )
        right = await call(served, "remit-memory__save_decision", json.loads(shown))
        assert right["structuredContent"]["status"] == "saved"
        slip = {"contxt": context("x"), "project_id": own_id(shop)}
        wrong = (await call(served, "remit-memory__save_context", slip))["structuredContent"]
        assert wrong["next_step"].startswith(
            "did you mean `context`? A call that works: remit-memory__save_context({"
        )
        secret = {"context": context("ghp_" + "aB3" * 12), "project_id": own_id(shop)}
        wrong = (await call(served, "remit-memory__save_context", secret))["structuredContent"]
        assert wrong["next_step"].startswith("say where it is kept, not what it is. A call that works: ")


async def test_who_is_bound_to_projects_has_no_say_in_what_all_of_them_see(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    everywhere = {"context": context("for all", scope="global"), "project_id": own_id(shop)}
    mine = frozenset({own_id(shop)})
    bound = FakeCaller(capabilities={"elicitation": {}}, answer=YES, bound_projects=mine)
    free = FakeCaller(capabilities={"elicitation": {}}, answer=YES)
    mute = FakeCaller(capabilities={"elicitation": {}})
    async with endpoint(sandbox, links, shop) as served:
        await save(served, shop)
        for caller, expected in ((bound, "WRITE_NOT_APPROVED"), (mute, "WRITE_NOT_APPROVED"), (free, None)):
            said = await call(served, "remit-memory__save_context", everywhere, caller)
            assert said["structuredContent"].get("code") == expected
        assert (len(bound.questions), len(mute.questions), len(free.questions)) == (0, 1, 1)


async def test_calls_of_it_are_counted_and_kept_in_the_audit(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(sandbox, links, shop) as served:
        await save(served, shop)
        await call(served, "remit-memory__save_decision", {"decision": decision("Use X"), "project_id": "q"})
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        audit = registry.audit.find(CallQuery(), here).entries
        assert [(entry.tool, entry.outcome) for entry in reversed(audit)] == [
            ("mcp__remit-memory__save_session", "done"),
            ("mcp__remit-memory__save_decision", "failed"),
        ]
        uses = {item.tool.name: item.tool.usage_count for item in registry.tools(here)}
        assert uses["mcp__remit-memory__save_session"] == 1


@pytest.mark.parametrize(
    ("error", "told_to_the_model"),
    [
        (StoreError("the disk is full"), "the disk is full"),
        (StoreUnreachableError("PostgreSQL at db.internal cannot be reached"), STORE_DOWN),
        (StoreTooNewError("`postgresql://db.internal` was created by a newer Remit"), STORE_DOWN),
    ],
)
async def test_a_memory_that_cannot_be_opened_is_told_and_the_gateway_goes_on(
    sandbox: Sandbox, shop: Path, links: FakeLinks, error: StoreError, told_to_the_model: str
) -> None:
    reasons = [error]

    def open_memory(directory: str) -> Memory:
        if reasons:
            raise reasons.pop()
        return sandbox.memory_of(directory)

    means = EndpointResources(
        sandbox.registry,
        open_notifier,
        read_offer,
        lambda: sandbox.time,
        open_memory,
        str(sandbox.database.parent),
        CallMetrics(),
    )
    async with serve_endpoint(EndpointSpec(str(shop)), cast("UpstreamPool", links), means) as served:
        refused = await save(served, shop)
        assert refused["structuredContent"]["code"] == "GRAPH_UNHEALTHY"
        assert refused["structuredContent"]["message"] == told_to_the_model
        assert told(await call(served, "git__log")) == "git did log"
        assert (await save(served, shop))["structuredContent"]["status"] == "saved"


def test_the_command_line_knows_it_where_the_client_starts_the_gateway(sandbox: Sandbox, shop: Path) -> None:
    def rows() -> dict[str, tuple[str, str]]:
        with sandbox.registry() as registry:
            here = registry.at(str(shop))
            registry.refresh(here)
            return {tool.name: (said.verdict, said.reason) for tool, said in registry.tools(here)}

    assert "mcp__remit-memory__save_session" not in rows()
    sandbox.write(
        sandbox.home / ".claude.json", servers(remit={"command": "remit", "args": ["serve", "--memory"]})
    )
    assert "mcp__remit-memory__save_session" not in rows()
    sandbox.write(sandbox.home / ".claude.json", servers(remit={"command": "remit", "args": ["serve"]}))
    found = rows()["mcp__remit-memory__save_session"]
    assert found == ("visible", "its server `remit-memory` is shipped with Remit")
    sandbox.write_state("git")
    verdict, reason = rows()["mcp__remit-memory__save_session"]
    assert verdict == "hidden"
    assert "served only by Remit's gateway, which the client does not start" in reason
