"""What an endpoint lists and calls: both by the same decisions."""

import json
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from remit.audit.audit_log import CallQuery
from remit.decision.gates import ASK_THE_USER
from remit.errors import AgentError, UnknownRoomError, UpstreamError
from remit.gateway import inventory_refresh
from remit.gateway.inventory import Inventory
from remit.presentation.serving_plan import EndpointChoice
from remit.protocol.json_rpc import Answer, JsonRpcError, Params
from remit.upstream.ports import ServerLists
from remit.upstream.upstream_model import Sharing
from support.builders import servers
from support.databases import run_sql
from support.gateway_fakes import (
    YES,
    FakeCaller,
    FakeLinks,
    accept_added_tools,
    call,
    endpoint,
    names,
    offered,
    told,
)
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("git")
    return sandbox.project("shop")


@pytest.fixture
def links() -> FakeLinks:
    return FakeLinks(
        {"git": ServerLists(tools=[offered("status"), offered("push"), offered("delete_branch")])}
    )


async def test_a_tool_is_listed_as_its_server_gave_it_and_called_by_each_of_its_names(
    sandbox: Sandbox, shop: Path
) -> None:
    icon = {"src": "data:image/png;base64,AA=="}
    given = offered(
        "status",
        title="Status",
        outputSchema={"type": "object"},
        annotations={"readOnlyHint": True},
        icons=[icon],
        execution={"taskSupport": "optional"},
        _meta={"x": {"y": 1}},
    )
    links = FakeLinks({"git": ServerLists(tools=[given])})
    async with endpoint(sandbox, links, shop) as served:
        listing = await served.tools({})
        assert listing.items[0] == {**given, "name": "git__status"}
        assert list(listing.items[0]) == list(given)
        for name in ("git__status", "mcp__git__status", "mcp__remit__git__status"):
            answer = await call(served, name, {"path": "x"}, _meta={"progressToken": 1})
            assert told(answer) == "git did status"
        params = {"name": "status", "arguments": {"path": "x"}, "_meta": {"progressToken": 1}}
        assert [asked.params for asked in links.asked] == [params] * 3
        assert served.input_schema("mcp__remit__git__status") == given["inputSchema"]
        assert served.input_schema("call_tool") is not None
        assert served.input_schema("nothing") is None


async def test_an_unknown_tool_and_another_projects_get_the_same_answer(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    blog = sandbox.project("blog")
    sandbox.write(blog / ".mcp.json", servers("secret"))
    async with endpoint(sandbox, links, blog) as other:
        assert "secret" not in await names(other)
    async with endpoint(sandbox, links, shop) as served:
        errors: list[tuple[int, str, object]] = []
        for name in ("secret__do", "nobody__do"):
            with pytest.raises(JsonRpcError) as raised:
                await call(served, name)
            errors.append((raised.value.code, str(raised.value).replace(name, "X"), raised.value.data))
        assert errors == [(-32602, "Unknown tool: X", None)] * 2
        for name in ("secret__do", "nobody__do"):
            answer = await call(served, "why_tool", {"name": name})
            assert told(answer) == f"Unknown tool: {name}"


async def test_for_a_client_without_a_terminal_nothing_waits_for_approval_but_all_for_trust(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(sandbox.home / ".claude/settings.json", {})
    sandbox.write(shop / ".mcp.json", servers("till"))
    said: list[str] = []
    for is_headless in (False, True):
        async with endpoint(sandbox, links, shop, is_headless=is_headless) as served:
            said.append(told(await call(served, "why_tool", {"name": "till"})).splitlines()[0])
    assert said == [
        "`mcp__till__*` is hidden: waiting for approval in Claude Code, and not trusted in Remit",
        "`mcp__till__*` is hidden: not trusted",
    ]


async def test_why_tool_says_that_a_server_cannot_be_started(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(sandbox.home / ".claude.json", servers(lamp={"command": "/nowhere/lamp"}))
    async with endpoint(sandbox, links, shop) as served:
        answer = await call(served, "why_tool", {"name": "lamp"})
    assert "cannot start: `/nowhere/lamp` does not exist" in told(answer).splitlines()
    assert answer["structuredContent"]["obstacle"] == "cannot start: `/nowhere/lamp` does not exist"


async def test_why_tool_says_that_the_server_of_a_tool_failed_and_that_a_rule_asks(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write_state("git", "broken")
    sandbox.write(shop / "remit.toml", '[tools."git__push"]\napproval = true\n')
    links.stocks["broken"] = UpstreamError("`broken` fell over", reason="fell over")
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        failed = told(await call(served, "why_tool", {"name": "broken__x"})).splitlines()
        asks = told(await call(served, "why_tool", {"name": "git__push"}))
    assert failed[1:3] == ["the last connection failed: fell over", ASK_THE_USER]
    assert asks.startswith("`git__push` asks: needs approval: rule")
    assert "\n  asks danger: needs approval" in asks


async def test_an_answer_and_an_error_of_a_server_pass_unchanged(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    answer: Answer = {"content": [], "structuredContent": {"a": 1}, "isError": True, "_meta": {"b": 2}}
    links.answers["git"] = lambda _: answer
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        assert await call(served, "git__status") is answer
        links.answers["git"] = _raise(JsonRpcError(-32042, "sign in", {"url": "u"}))
        with pytest.raises(JsonRpcError, match="sign in") as raised:
            await call(served, "git__status")
        assert (raised.value.code, raised.value.data) == (-32042, {"url": "u"})
        links.answers["git"] = _raise(
            UpstreamError("`git` does not answer", hint="read its log", next_step="wait")
        )
        refused = await call(served, "git__status")
        assert refused["isError"]
        assert told(refused) == "`git` does not answer\nNext step: wait."


async def test_a_hidden_tool_is_not_listed_and_its_call_is_refused_with_what_would_unlock_it(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(
        shop / "remit.toml", '[states.ready]\nfile = "ready"\n[tools."git__push"]\nstates = ["ready"]\n'
    )
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["git__delete_branch", "git__status"]
        refused = await call(served, "git__push")
        assert refused["isError"]
        assert refused["structuredContent"]["gate"] == "state"
        assert refused["structuredContent"]["tool"] == "git__push"
        assert "ready" in told(refused)
        assert links.asked == []
        deferred = await call(served, "call_tool", {"name": "git__push"})
        assert deferred == refused
        (shop / "ready").write_text("x")
        assert await names(served) == ["git__delete_branch", "git__push", "git__status"]
        assert told(await call(served, "git__push")) == "git did push"
        (shop / "ready").unlink()
        assert (await call(served, "git__push"))["isError"]


async def test_where_a_tool_has_an_output_schema_the_refusal_is_beside_its_content(
    sandbox: Sandbox, shop: Path
) -> None:
    links = FakeLinks({"git": ServerLists(tools=[offered("push", outputSchema={"type": "object"})])})
    sandbox.write(shop / "remit.toml", 'block = ["git__push"]\n')
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        refused = await call(served, "git__push")
        assert "structuredContent" not in refused
        assert refused["_meta"]["remit/refusal"]["gate"] == "policy"


async def test_flat_switches_the_gate_of_states_off_in_lists_and_calls_and_no_other(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(
        shop / "remit.toml", 'block = ["git__delete_*"]\n[tools."git__push"]\nstates = ["git-merging"]\n'
    )
    async with endpoint(sandbox, links, shop, strategy="flat") as served:
        assert await names(served) == ["git__push", "git__status"]
        assert told(await call(served, "git__push")) == "git did push"
        assert (await call(served, "git__delete_branch"))["isError"]


async def test_a_project_cannot_choose_flat(sandbox: Sandbox, shop: Path, links: FakeLinks) -> None:
    sandbox.write(shop / "remit.toml", 'strategy = "flat"\n')
    sandbox.write(
        sandbox.home / ".config/remit/remit.toml", '[tools."git__push"]\nstates = ["git-merging"]\n'
    )
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["git__delete_branch", "git__status"]
    with sandbox.registry() as registry:
        problems = registry.configuration.problems(registry.at(str(shop)).workspace)
    assert "a project cannot choose `flat`" in problems[0].reason


async def test_a_projects_server_is_neither_started_nor_called_before_it_is_trusted(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / ".mcp.json", servers("till"))
    links.stocks["till"] = ServerLists(tools=[offered("open")])
    async with endpoint(sandbox, links, shop) as served:
        assert "till__open" not in await names(served)
        refused = await call(served, "till__open")
        assert "not trusted" in told(refused)
        assert "till" not in links.stocked
        with sandbox.registry() as registry:
            at = registry.at(str(shop))
            registry.trust.grant(registry.trust.servers(at, ["till"]), at)
        async with served.changes() as changes:
            await anext(changes)
        assert "till__open" in await names(served)
        assert told(await call(served, "till__open")) == "till did open"


@pytest.mark.long
async def test_what_was_approved_for_one_agent_or_token_is_not_for_another(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", '[tools."git__push"]\napproval = true\n')
    sandbox.write(shop / ".claude/agents/clerk.md", "---\nname: clerk\ndescription: x\n---\n")

    async def asked(caller: FakeCaller, **opening: str) -> str:
        async with endpoint(sandbox, links, shop, **opening) as served:
            await names(served)
            return told(await call(served, "git__push", {"path": "p"}, caller))

    assert "approval_required" in await asked(FakeCaller(principal="ci"))
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        (waiting,) = registry.approvals.waiting(at)
        registry.approvals.answer(waiting.id, at, approve=True)
    assert "approval_required" in await asked(FakeCaller(principal="ci"), agent="clerk")
    assert "approval_required" in await asked(FakeCaller(principal="claude-code"))
    assert "approval_required" in await asked(FakeCaller())
    assert await asked(FakeCaller(principal="ci")) == "git did push"


@pytest.mark.parametrize("spelling", ["git__{}", "mcp__git__{}", "mcp__remit__git__{}"])
async def test_what_is_hidden_is_hidden_however_it_is_spelt(
    sandbox: Sandbox, shop: Path, spelling: str
) -> None:
    harmful = offered("tidy.up", annotations={"destructiveHint": True})
    links = FakeLinks({"git": ServerLists(tools=[harmful])})
    async with endpoint(sandbox, links, shop, mode="plan") as served:
        assert await names(served) == []
        for own in ("tidy_up", "tidy.up", "tidy up"):
            name = spelling.format(own)
            assert "mode `plan`" in told(await call(served, name))
            assert "mode `plan`" in told(await call(served, "call_tool", {"name": name}))
    assert links.asked == []


async def test_what_is_hidden_is_hidden_where_two_servers_have_no_prefix(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write_state("git", "hg")
    machine = "[servers.git]\nprefix = false\n[servers.hg]\nprefix = false\n"
    sandbox.write(sandbox.home / ".config/remit/remit.toml", machine)
    harmful = offered("tidy", annotations={"destructiveHint": True})
    links = FakeLinks({label: ServerLists(tools=[harmful]) for label in ("git", "hg")})
    async with endpoint(sandbox, links, shop, mode="plan") as served:
        assert await names(served) == []
        assert "mode `plan`" in told(await call(served, "tidy"))
    assert links.asked == []


async def test_an_entry_that_changed_since_it_was_trusted_is_not_started_to_ask_what_it_offers(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / ".mcp.json", servers("till"))
    links.stocks["till"] = ServerLists(tools=[offered("open")])
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        registry.scan(at)
        registry.trust.grant(registry.trust.servers(at, ["till"]), at)
    async with endpoint(sandbox, links, shop) as served:
        assert "till__open" in await names(served)
        sandbox.write(shop / ".mcp.json", servers(till={"command": "run-something-else"}))
        links.stocked.clear()
        was_asked = anyio.Event()

        async def note(label: str) -> None:
            if label == "git":
                was_asked.set()

        links.before_stock = note
        links.tell("till", "notifications/tools/list_changed")
        links.tell("git", "notifications/tools/list_changed")
        await was_asked.wait()
        assert links.stocked == ["git"]
        assert "not trusted" in told(await call(served, "till__open"))


async def test_what_a_client_is_told_to_ask_about_is_asked_by_the_client(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", '[tools."git__push"]\napproval = true\n')
    async with endpoint(sandbox, links, shop) as served:
        assert "git__push" in await names(served)
        yes = FakeCaller(capabilities={"elicitation": {}}, answer=YES)
        assert told(await call(served, "git__push", {"path": "p"}, yes)) == "git did push"
        ((method, question),) = yes.questions
        assert method == "elicitation/create"
        assert "git__push" in question["message"]
        assert '"path": "p"' in question["message"]
        no = FakeCaller(capabilities={"elicitation": {"form": {}}}, answer={"action": "decline"})
        refused = await call(served, "git__push", {"path": "p"}, no)
        assert refused["structuredContent"]["error"] == "denied"
        assert len(links.asked) == 1


@pytest.mark.long
@pytest.mark.parametrize(
    "caller",
    [
        FakeCaller(),
        FakeCaller(capabilities={"elicitation": {"url": {}}}, answer={"action": "accept"}),
        FakeCaller(capabilities={"elicitation": {}}),
        FakeCaller(capabilities={"elicitation": {}}, answer={"action": "cancel"}),
        FakeCaller(capabilities={"elicitation": {}}, answer={"action": "accept"}),  # filled in by no one
        FakeCaller(capabilities={"elicitation": {}}, answer={"action": "accept", "content": {}}),
        FakeCaller(capabilities={"elicitation": {}}, answer={"action": "accept", "content": {"approve": 1}}),
    ],
)
async def test_where_nobody_answers_a_person_can_approve_elsewhere(
    sandbox: Sandbox, shop: Path, links: FakeLinks, caller: FakeCaller
) -> None:
    sandbox.write(shop / "remit.toml", '[tools."git__push"]\napproval = true\n')
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        refused = await call(served, "git__push", {"path": "p"}, caller)
        assert refused["structuredContent"]["error"] == "approval_required"
        id = refused["structuredContent"]["approval"]
        assert f"approval `{id}`" in told(refused)
        assert "remit approve" not in told(refused)  # a model with a shell could run it
        with sandbox.registry() as registry:
            registry.approvals.answer(id, registry.at(str(shop)), approve=True)
        assert told(await call(served, "git__push", {"path": "p"}, caller)) == "git did push"
        again = await call(served, "git__push", {"path": "p"}, caller)
        assert again["structuredContent"]["error"] == "approval_required"


@pytest.mark.parametrize("no", [{"action": "decline"}, {"action": "accept", "content": {"approve": False}}])
async def test_a_no_is_told_and_a_later_yes_counts_at_once(
    sandbox: Sandbox, shop: Path, links: FakeLinks, no: Answer
) -> None:
    sandbox.write(shop / "remit.toml", '[tools."git__push"]\napproval = true\n')
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        refused = await call(served, "git__push", {}, FakeCaller(capabilities={"elicitation": {}}, answer=no))
        assert "a person said no" in told(refused)
        assert refused["structuredContent"].keys().isdisjoint({"approval"})
        yes = FakeCaller(capabilities={"elicitation": {}}, answer=YES)
        assert told(await call(served, "git__push", {}, yes)) == "git did push"
        assert len(yes.questions) == 1


async def test_a_question_that_a_client_declines_by_itself_can_be_answered_in_a_terminal(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", '[tools."git__push"]\napproval = true\n')
    headless = FakeCaller(capabilities={"elicitation": {}}, answer={"action": "decline"})
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        await call(served, "git__push", {}, headless)
        with sandbox.registry() as registry:
            at = registry.at(str(shop))
            (waiting,) = registry.approvals.waiting(at)
            assert waiting.declined_at is not None
            registry.approvals.answer(waiting.id, at, approve=True)
        assert told(await call(served, "git__push", {}, headless)) == "git did push"
        assert len(headless.questions) == 1


async def test_a_denial_in_a_terminal_is_told_once_and_the_next_call_asks_anew(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", '[tools."git__push"]\napproval = true\n')
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        first = (await call(served, "git__push"))["structuredContent"]["approval"]
        with sandbox.registry() as registry:
            registry.approvals.answer(first, registry.at(str(shop)), approve=False)
        denied = await call(served, "git__push")
        assert denied["structuredContent"]["error"] == "denied"
        assert "a person said no" in told(denied)
        assert first not in str(denied)
        asked = (await call(served, "git__push"))["structuredContent"]
        assert asked["error"] == "approval_required"
        with sandbox.registry() as registry:
            registry.approvals.answer(asked["approval"], registry.at(str(shop)), approve=True)
        assert told(await call(served, "git__push")) == "git did push"


async def test_a_yes_counts_however_long_the_person_thought_about_it(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", '[tools."git__push"]\napproval = true\n')

    class Slow(FakeCaller):
        async def send_request(self, method: str, params: Params) -> Answer:
            sandbox.time += 3_600_000
            return await super().send_request(method, params)

    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        slow = Slow(capabilities={"elicitation": {}}, answer=YES)
        assert told(await call(served, "git__push", {}, slow)) == "git did push"


async def test_an_approval_does_not_help_a_tool_that_is_blocked_meanwhile(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", '[tools."git__push"]\napproval = true\n')

    class Slow(FakeCaller):
        async def send_request(self, method: str, params: object) -> dict[str, object]:  # noqa: ARG002
            sandbox.write(shop / "remit.toml", 'block = ["git__push"]\n')
            return {"action": "accept", "content": {"approve": True}}

    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        refused = await call(served, "git__push", {}, Slow(capabilities={"elicitation": {}}))
        assert refused["isError"]
        assert links.asked == []


async def test_a_tool_of_a_server_that_listed_nothing_yet_is_decided_by_the_servers_row(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", 'block = ["git__new_bad"]\n')
    silent = FakeLinks({"git": UpstreamError("it does not say what it has")})
    async with endpoint(sandbox, silent, shop) as served:
        await served.tools({})
        assert told(await call(served, "git__new.good")) == "git did new.good"
        assert (await call(served, "git__new_bad"))["structuredContent"]["gate"] == "policy"
    sandbox.write(sandbox.home / ".claude/settings.json", {"deniedMcpServers": [{"serverName": "git"}]})
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == []
        for name in ("git__new", "git__status"):
            assert (await call(served, name))["structuredContent"]["gate"] == "config"


async def test_a_name_that_its_server_does_not_list_is_unknown_and_near_ones_are_told(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        for name in ("git__statuss", "mcp__git__statuss", "mcp__remit__git__statuss"):
            with pytest.raises(JsonRpcError) as raised:
                await call(served, name)
            assert str(raised.value) == f"Unknown tool: {name}; did you mean `git__status`?"
            answer = await call(served, "call_tool", {"name": name})
            assert answer["isError"]
            assert told(answer) == f"Unknown tool: {name}\nhint: did you mean `git__status`?"
            why = await call(served, "why_tool", {"name": name})
            assert told(why) == f"Unknown tool: {name}\nhint: did you mean `git__status`?"
        assert links.asked == []


async def test_nobody_is_asked_about_a_call_that_cannot_run(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / "remit.toml", '[tools."git__push"]\napproval = true\n')
    schema = {"type": "object", "properties": {"force": {"type": "boolean"}}, "required": ["force"]}
    links = FakeLinks({"git": ServerLists(tools=[offered("push", inputSchema=schema)])})
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        caller = FakeCaller(capabilities={"elicitation": {}}, answer=YES)
        missing = await call(served, "git__push", {}, caller=caller)
        assert told(missing) == "`git__push`: the parameter `force` is missing"
        wrong = await call(
            served, "call_tool", {"name": "git__push", "arguments": {"force": 3}}, caller=caller
        )
        assert told(wrong) == "`git__push`: `force`: 3 is not of type 'boolean'"
        assert (missing["isError"], wrong["isError"], links.asked) == (True, True, [])
    with sandbox.registry() as registry:
        assert registry.approvals.waiting(registry.at(str(shop))) == []


@pytest.mark.parametrize("is_removed", [False, True], ids=["unapproved", "no longer configured"])
async def test_a_hidden_declaration_does_not_answer_for_a_server_that_another_one_serves(
    sandbox: Sandbox, shop: Path, links: FakeLinks, is_removed: bool
) -> None:
    sandbox.write(shop / ".mcp.json", servers("git"))
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
    if is_removed:
        sandbox.write(shop / ".mcp.json", servers())
    async with endpoint(sandbox, links, shop) as served:
        assert "git__status" in await names(served)
        with pytest.raises(JsonRpcError, match=r"^Unknown tool: git__statuss; did you mean `git__status`"):
            await call(served, "git__statuss")
        for own in ("call_tool", "why_tool"):
            answer = await call(served, own, {"name": "git__statuss"})
            assert told(answer) == "Unknown tool: git__statuss\nhint: did you mean `git__status`?"


async def test_a_known_server_is_not_asked_again_until_its_entry_changes(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(sandbox, links, shop) as served:
        first = await served.tools({})
    assert links.stocked == ["git"]
    async with endpoint(sandbox, links, shop) as served:
        assert (await served.tools({})).revision == first.revision
        assert links.stocked == ["git"]
        sandbox.write(sandbox.home / ".claude.json", servers(git={"command": "another"}))
        await served.tools({})  # which finds that the entry is another one
        await served.tools({})
        assert links.stocked == ["git", "git"]
        assert len(links.dropped) == 1


async def test_the_first_list_waits_for_servers_but_not_for_ever(
    sandbox: Sandbox, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox.write_state("git", "slow")
    links = FakeLinks(
        {"git": ServerLists(tools=[offered("status")]), "slow": ServerLists(tools=[offered("late")])}
    )
    arrived, release = anyio.Event(), anyio.Event()

    async def wait(label: str) -> None:
        if label == "slow":
            arrived.set()
            await release.wait()

    links.before_stock = wait
    monkeypatch.setattr(inventory_refresh, "FIRST_LIST", 0)
    async with endpoint(sandbox, links, shop) as served:
        await arrived.wait()
        while not await names(served):
            await anyio.lowlevel.checkpoint()
        assert await names(served) == ["git__status"]
        async with served.changes() as changes:
            release.set()
            assert (await anext(changes)).part == "tools"
        assert await names(served) == ["git__status", "slow__late"]


async def test_a_server_that_fails_costs_the_others_nothing(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write_state("git", "broken")
    links.stocks["broken"] = UpstreamError("`broken` fell over; next attempt in 2 s", reason="fell over")
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["git__delete_branch", "git__push", "git__status"]
    with sandbox.registry() as registry:
        failed = [tool.failure for tool, _ in registry.tools(registry.at(str(shop))) if tool.failure]
    assert failed == ["fell over"]  # as `remit scan --connect` stores it


async def test_why_a_server_does_not_answer_is_said_once_however_often_it_is_asked(
    sandbox: Sandbox, shop: Path, links: FakeLinks, caplog: pytest.LogCaptureFixture
) -> None:
    links.stocks["git"] = UpstreamError("`git` fell over")
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        for times in (2, 3):  # each is begun when the one before it has been heard of
            links.tell("git", "notifications/tools/list_changed")
            while len(links.stocked) < times:
                await anyio.lowlevel.checkpoint()
    assert caplog.text.count("could not list the tools of git: `git` fell over") == 1


async def test_what_a_known_server_offers_is_looked_at_again_when_it_runs(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    accept_added_tools(sandbox)
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
    links.stocks["git"] = ServerLists(tools=[offered("status"), offered("get_new")])
    async with endpoint(sandbox, links, shop) as served:
        assert "git__get_new" not in await names(served)
        async with served.changes() as changes:
            await call(served, "git__status")
            assert await anext(changes) == ("tools", None)
        assert await names(served) == ["git__get_new", "git__status"]
        await call(served, "git__status")
    assert links.stocked == ["git", "git"]


async def test_a_tool_that_is_not_listed_cannot_be_approved(sandbox: Sandbox, shop: Path) -> None:
    links = FakeLinks({"git": UpstreamError("it does not say what it has")})
    sandbox.write(shop / "remit.toml", '[tools."git__*"]\napproval = true\n')
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        refused = await call(served, "git__unheard", {}, FakeCaller(capabilities={"elicitation": {}}))
        assert refused["structuredContent"]["next_step"] == "Next step: list the tools, then call it again."
        assert links.asked == []


async def test_each_call_is_counted_once_and_audited_without_what_was_said(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", 'block = ["git__push"]\n')
    links.answers["git"] = lambda params: {"content": [], "isError": params["arguments"].get("path") == "bad"}
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        await call(served, "git__status", {"path": "hunter2"}, _meta={"claudecode/toolUseId": "toolu_1"})
        await call(served, "git__status", {"path": "bad"})
        await call(served, "git__push")
        with pytest.raises(JsonRpcError):
            await call(served, "nobody__knows")
        await call(served, "why_tool", {"name": "git__push"})
        await call(served, "call_tool", {"name": "git__push"})
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        assert registry.usage.record("mcp__git__status", at, session_id="s", call_id="toolu_1") is False
        used = {tool.name: (tool.usage_count, tool.outcomes) for tool, _ in registry.tools(at)}
        audit = registry.audit.find(CallQuery(), at).entries
    assert used["mcp__git__status"] == (2, "+-")
    assert used["mcp__git__push"][0] == 0
    outcomes = [(entry.tool, entry.verdict, entry.gate, entry.outcome) for entry in reversed(audit)]
    assert outcomes == [
        ("mcp__git__status", "visible", None, "done"),
        ("mcp__git__status", "visible", None, "failed"),
        ("mcp__git__push", "hidden", "policy", "refused"),
        ("nobody__knows", "hidden", "scope", "unknown"),
        ("why_tool", "visible", None, "done"),
        ("mcp__git__push", "hidden", "policy", "refused"),
    ]
    assert audit[-1].bytes_in == len('{"path":"hunter2"}')
    assert "hunter2" not in str(run_sql(sandbox.database, "select * from audit"))


async def test_a_made_up_name_that_its_server_refuses_becomes_no_tool(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    links.stocks["git"] = UpstreamError("it does not say what it has")
    links.answers["git"] = lambda params: {"content": [], "isError": params["name"] == "made_up"}
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        await call(served, "git__made_up")
        await call(served, "git__unlisted")
    with sandbox.registry() as registry:
        at = registry.at(str(shop))
        known = {tool.name for tool, _ in registry.tools(at)}
        assert "mcp__git__made_up" not in known
        assert "mcp__git__unlisted" in known
        assert "mcp__git__made_up" in {entry.tool for entry in registry.audit.find(CallQuery(), at).entries}


async def test_what_was_answered_is_recorded_when_the_endpoint_is_cancelled(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    with anyio.CancelScope() as scope:
        async with endpoint(sandbox, links, shop) as served:
            await served.tools({})
            await call(served, "git__status")
            scope.cancel()
            await anyio.sleep_forever()
    with sandbox.registry() as registry:
        assert [entry.tool for entry in registry.audit.find(CallQuery(), registry.at(str(shop))).entries] == [
            "mcp__git__status"
        ]


async def test_a_success_that_changes_a_state_counts_for_the_very_next_call(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(
        shop / "remit.toml",
        '[states.ready]\non = "git__status"\noff = "git__push"\n[tools."git__push"]\nstates = ["ready"]\n',
    )
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        assert (await call(served, "git__push"))["isError"]
        await call(served, "git__status")
        assert told(await call(served, "git__push")) == "git did push"
        assert (await call(served, "git__push"))["isError"]


async def test_lists_are_the_same_object_until_what_is_visible_changes(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(sandbox, links, shop) as served:
        first = await served.tools({})
        await call(served, "git__status")
        sandbox.write(shop / "remit.toml", "token_budget = 5999\n")
        assert await served.tools({}) is first
        sandbox.write(shop / "remit.toml", 'block = ["git__push"]\n')
        second = await served.tools({})
        assert second.revision != first.revision
        sandbox.write(shop / "remit.toml", "token_budget = 6001\n")
        assert json.dumps((await served.tools({})).items) == json.dumps(first.items)


async def test_a_change_is_told_once_and_only_where_something_changed(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        async with served.changes() as changes:
            sandbox.write(shop / "remit.toml", "token_budget = 5999\n")  # changes nothing
            sandbox.write(shop / "remit.toml", 'block = ["git__push"]\n')
            assert await anext(changes) == ("tools", None)
            links.stocks["git"] = ServerLists(tools=[offered("status")], prompts=[{"name": "say"}])
            links.tell("git", "notifications/tools/list_changed")
            links.tell("git", "notifications/prompts/list_changed")
            assert {(await anext(changes)).part, (await anext(changes)).part} == {"tools", "prompts"}
            links.tell("git", "notifications/resources/updated", uri="file:///x")
            assert await anext(changes) == ("resources", "file:///x")


async def test_a_tool_that_cannot_be_used_is_left_out_and_named_in_the_log_once(
    sandbox: Sandbox, shop: Path, caplog: pytest.LogCaptureFixture
) -> None:
    accept_added_tools(sandbox)
    tools = [offered("do.it"), offered("do/it"), offered("do.it"), {"name": "shapeless"}]
    links = FakeLinks({"git": ServerLists(tools=tools)})
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["git__do_it"]
        assert told(await call(served, "git__do_it")) == "git did do.it"
        links.stocks["git"] = ServerLists(tools=[*tools, offered("get_new")])
        async with served.changes() as changes:
            links.tell("git", "notifications/tools/list_changed")
            assert await anext(changes) == ("tools", None)
    warned = [record.getMessage() for record in caplog.records if "cannot be used" in record.getMessage()]
    assert warned == [
        "git: the tool `do.it` cannot be used: is listed more than once; the first counts",
        "git: the tool `do/it` cannot be used: collides with `do.it`: both are called `mcp__git__do_it`",
        "git: the tool `shapeless` cannot be used: inputSchema: is missing",
    ]


async def test_who_waits_for_a_first_list_is_told_of_no_change_meanwhile(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write_state("git", "slow")
    links.stocks["slow"] = ServerLists(tools=[offered("late")], prompts=[{"name": "say"}])
    release = anyio.Event()

    async def wait_for(label: str) -> None:
        if label == "slow":
            await release.wait()

    links.before_stock = wait_for
    async with endpoint(sandbox, links, shop) as served, served.changes() as changes:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(names, served)
            while not served.tool_counts.available:
                await served.pass_on("logging/setLevel", {"level": "error"}, FakeCaller())  # reads the lists
            release.set()
        links.tell("git", "notifications/resources/updated", uri="file:///x")
        assert await anext(changes) == ("resources", "file:///x")
        sandbox.write(shop / "remit.toml", 'block = ["git__push"]\n')
        assert await anext(changes) == ("tools", None)


async def test_who_begins_to_listen_is_told_nothing_of_what_was_listed_before(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})  # of which nothing was known when it was opened
        async with served.changes() as changes:
            links.tell("git", "notifications/resources/updated", uri="file:///x")
            assert await anext(changes) == ("resources", "file:///x")
            await names(served)
            sandbox.write(shop / "remit.toml", 'block = ["git__push"]\n')
            assert await anext(changes) == ("tools", None)


async def test_a_change_of_a_state_is_told(sandbox: Sandbox, shop: Path, links: FakeLinks) -> None:
    sandbox.write(
        shop / "remit.toml",
        '[states.ready]\nfile = "ready"\n[states.going]\nkind = "workflow"\n'
        '[tools."git__push"]\nstates = ["ready"]\n[tools."git__status"]\nstates = ["going"]\n',
    )
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["git__delete_branch"]
        async with served.changes() as changes:
            (shop / "ready").touch()
            assert await anext(changes) == ("tools", None)
            assert await names(served) == ["git__delete_branch", "git__push"]
            with sandbox.registry() as registry:
                registry.states.set("going", registry.at(str(shop)))
            assert await anext(changes) == ("tools", None)
            assert await names(served) == ["git__delete_branch", "git__push", "git__status"]


async def test_own_tools_can_be_switched_off(sandbox: Sandbox, shop: Path, links: FakeLinks) -> None:
    sandbox.write(shop / "remit.toml", 'own_tools = ["why_tool"]\n')
    async with endpoint(sandbox, links, shop, strategy="search") as served:
        assert [item["name"] for item in (await served.tools({})).items] == ["why_tool"]
        with pytest.raises(JsonRpcError, match="Unknown tool: call_tool"):
            await call(served, "call_tool", {"name": "git__status"})
        assert "is visible" in told(await call(served, "why_tool", {"name": "git__status"}))


async def test_one_server_may_be_served_without_its_name(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    machine = '[servers.git]\nprefix = false\nsessions = "shared"\ninherit_env = ["PATH"]\ndeadline = 7\n'
    sandbox.write(sandbox.home / ".config/remit/remit.toml", machine)
    links.stocks["git"] = ServerLists(
        tools=[offered("status"), offered("call_tool")], prompts=[{"name": "say"}]
    )
    async with endpoint(sandbox, links, shop) as served:
        listed = await names(served)
        assert listed[1] == "status"
        assert listed[0].startswith("call_tool_")
        for name in ("status", "git__status", "mcp__git__status", "mcp__remit__status", listed[0]):
            await call(served, name)
        assert [asked.params["name"] for asked in links.asked] == [*["status"] * 4, "call_tool"]
        upstream = links.asked[0].upstream
        assert (upstream.sharing, upstream.inherits, upstream.patience) == (Sharing.SHARED, ("PATH",), 7)
        assert [item["name"] for item in (await served.prompts()).items] == ["say"]


async def test_a_project_cannot_say_how_servers_are_run(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", '[servers.git]\nprefix = false\nsessions = "shared"\n')
    async with endpoint(sandbox, links, shop) as served:
        assert "git__status" in await names(served)
    with sandbox.registry() as registry:
        problems = registry.configuration.problems(registry.at(str(shop)).workspace)
    assert ["a project cannot set how servers run" in each.reason for each in problems] == [True, True]


async def test_an_agents_endpoint_serves_what_the_agent_has(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(
        shop / ".claude/agents/reviewer.md",
        "---\nname: reviewer\ndescription: x\ntools: mcp__git__status\n---\n",
    )
    async with endpoint(sandbox, links, shop, agent="reviewer") as served:
        assert await names(served) == ["git__status"]
        assert (await call(served, "git__push"))["structuredContent"]["gate"] == "agent"
    with pytest.raises(AgentError):
        async with endpoint(sandbox, links, shop, agent="nobody"):
            pass


async def test_a_rooms_endpoint_serves_the_room_and_nothing_else(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", '[rooms.look]\ntools = ["git__status"]\n')
    async with endpoint(sandbox, links, shop, room="look") as served:
        assert await names(served) == ["git__status"]
        refused = await call(served, "git__push")
        assert refused["structuredContent"]["gate"] == "policy"
        assert "rooms.look.tools" in told(refused)
    with pytest.raises(UnknownRoomError, match="no room is called `loook`") as raised:
        async with endpoint(sandbox, links, shop, room="loook"):
            pass
    assert raised.value.hint == "did you mean `look`?"


async def test_a_strategy_or_mode_that_is_none_is_refused(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    for wrong in ({"strategy": "wild"}, {"mode": "wild"}):
        with pytest.raises(ValueError, match="wild"):
            async with endpoint(sandbox, links, shop, **wrong):
                pass


async def test_what_goes_wrong_inside_reaches_the_one_who_opened_it(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    with pytest.raises(LookupError, match="outside"):
        async with endpoint(sandbox, links, shop):
            raise LookupError("outside")


def _raise(error: Exception) -> Callable[[Params], Answer]:
    def answer(_: object) -> Answer:
        raise error

    return answer


def test_a_catalog_is_made_anew_only_for_what_may_change_it(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / "remit.toml", 'pinned = ["x"]\n')
    with sandbox.registry() as registry:
        inventory = Inventory(registry, lambda: registry.at(str(shop)), EndpointChoice())
        first = inventory.catalog()
        assert inventory.catalog() is first  # though the file is so young that it is read again
        sandbox.later_ns = 10_000_000_000
        assert inventory.catalog() is first
        assert inventory.quick_target("git__status") is not None
        registry.usage.record("mcp__git__status", inventory.context)
        registry.usage.record("mcp__git__status", inventory.context)  # of which the first made a row
        second = inventory.catalog()
        assert second is not first
        registry.usage.record("mcp__git__status", inventory.context)
        assert inventory.catalog() is second
        (sandbox.home / ".claude.json").touch()
        assert inventory.catalog() is second
        registry.scan(inventory.context)
        assert inventory.catalog() is second
        sandbox.write_state("git", "web")
        assert inventory.catalog() is not second


async def test_a_configuration_that_cannot_be_used_is_named_in_the_log(
    sandbox: Sandbox, shop: Path, links: FakeLinks, caplog: pytest.LogCaptureFixture
) -> None:
    path = sandbox.write(sandbox.home / ".config/remit/remit.toml", "blok = []\n")
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == []
    [warned] = [record.getMessage() for record in caplog.records if str(path) in record.getMessage()]
    assert "`blok` is not a known key" in warned


async def test_a_reader_lists_and_searches_and_is_told_why_it_cannot_call(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    reader = FakeCaller(principal="oidc:ada", may_call=False)
    async with endpoint(sandbox, links, shop) as served:
        assert "git__status" in await names(served)
        found = await call(served, "discover_tools", {"query": "git status"}, reader)
        assert not found.get("isError")
        through: dict[str, object] = {"name": "git__status", "arguments": {}}
        for name, arguments in (("git__status", None), ("call_tool", through), ("nobody__do", None)):
            answer = await call(served, name, arguments, reader)
            assert answer["isError"]
            assert "the role `reader` can list and search tools, but not call them" in told(answer)
            assert "Ask the user" in told(answer)
        assert (await call(served, "report_available_tools", {"tools": []}, reader))["isError"]
        assert not links.asked
        assert not (await call(served, "git__status", {}, FakeCaller())).get("isError")
    with sandbox.registry() as registry:
        audit = registry.audit.find(CallQuery(), registry.at(str(shop))).entries
    refused = [(entry.principal, entry.gate, entry.outcome) for entry in audit if entry.tool == "git__status"]
    assert refused == [("oidc:ada", "policy", "refused")] * 2


async def test_a_person_who_is_no_approver_is_not_asked_to_approve_their_own_call(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", '[tools."mcp__git__push"]\napproval = true\n')
    can_ask: dict[str, object] = {"elicitation": {}}
    user = FakeCaller(principal="oidc:ada", may_approve=False, capabilities=can_ask, answer=YES)
    approver = FakeCaller(principal="oidc:grace", capabilities=can_ask, answer=YES)
    async with endpoint(sandbox, links, shop) as served:
        await names(served)
        assert "approval_required" in told(await call(served, "git__push", {}, user))
        assert not user.questions
        assert told(await call(served, "git__push", {}, approver)) == "git did push"
    with sandbox.registry() as registry:
        (waiting,) = registry.approvals.waiting(registry.at(str(shop)))
    assert "oidc:ada" in waiting.binding.principal
