"""How each strategy presents what is visible, and how the rest is reached."""

import json
from pathlib import Path
from typing import Any

import pytest

from remit.gateway.endpoint import LiveEndpoint
from remit.gateway.ports import PublishedList, SessionView
from remit.protocol.json_rpc import JsonRpcError
from remit.upstream.ports import ServerLists
from support.gateway_fakes import FakeCaller, FakeLinks, call, endpoint, names, offered, told
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio

OWN = {"discover_tools", "call_tool", "why_tool", "report_available_tools"}


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("git", "web")
    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[memory]\ntools = "off"\n')
    return sandbox.project("shop")


@pytest.fixture
def links() -> FakeLinks:
    git = [offered("status"), offered("push"), offered("log")]
    web = [offered("fetch", description="Fetch a page of the web"), offered("search")]
    return FakeLinks({"git": ServerLists(tools=git), "web": ServerLists(tools=web)})


ALL = ["git__log", "git__push", "git__status", "web__fetch", "web__search"]


def own(listing: PublishedList) -> set[str]:
    return {item["name"] for item in listing.items} & OWN


async def test_auto_shows_all_that_fits_and_no_way_to_find_more(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ALL
        assert own(await served.tools({})) == {"why_tool", "report_available_tools"}


@pytest.mark.long
async def test_auto_shows_the_pinned_and_the_most_used_where_not_all_fits(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        for _ in range(3):
            await call(served, "web__search")
        await call(served, "git__log")
    sandbox.write(shop / "remit.toml", 'token_budget = 80\npinned = ["git__push"]\n')
    async with endpoint(sandbox, links, shop) as served:
        listing = await served.tools({})
        assert await names(served) == ["git__push", "web__search"]
        assert own(listing) == OWN
        assert "tools of: git (2), web (1)." in (served.instructions or "")
        for _ in range(9):
            await call(served, "git__status")  # used most by now, and deferred
        assert await served.tools({}) is listing
        assert told(await call(served, "call_tool", {"name": "git__status"})) == "git did status"
        sandbox.write(shop / "remit.toml", "token_budget = 80\n")
        assert await names(served) == ["git__log", "web__search"]


async def test_a_tool_whose_state_comes_to_hold_joins_the_list_and_displaces_nothing(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(
        shop / "remit.toml",
        'token_budget = 150\n[states.ready]\nfile = "r"\n[tools."git__push"]\nstates = ["ready"]\n',
    )
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ALL[:1] + ALL[2:]  # which fit, without it
        (shop / "r").touch()
        assert await names(served) == ALL
        (shop / "r").unlink()
        assert await names(served) == ALL[:1] + ALL[2:]  # the decision hides it


@pytest.mark.long
async def test_a_session_that_crosses_the_budget_tool_by_tool_loses_none(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    tools = [f"tool_{at:02}" for at in range(16)]
    links.stocks["git"] = ServerLists(tools=[offered(name) for name in tools])
    before: set[str] = set()
    async with endpoint(sandbox, links, shop) as served:
        for count in range(17):
            blocked = ", ".join(f'"git__{name}"' for name in tools[count:])
            sandbox.write(shop / "remit.toml", f"token_budget = 400\nblock = [{blocked}]\n")
            now = {item["name"] for item in (await served.tools({})).items}
            assert before <= now
            before = now
    assert {"web__fetch", "git__tool_00", "discover_tools"} <= before
    assert "git__tool_15" not in before
    async with endpoint(sandbox, links, shop) as served:
        assert len(await names(served)) < len(before - OWN)  # a new session starts within the budget


@pytest.mark.long
async def test_where_the_client_searches_by_itself_an_installed_gateway_lists_what_was_used(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    async def listed(**opening: object) -> list[str]:
        async with endpoint(sandbox, links, shop, **opening) as served:
            return [item["name"] for item in (await served.tools({})).items]

    async with endpoint(sandbox, links, shop, is_installed=True) as served:
        found = [item["name"] for item in (await served.tools({})).items]
        assert found == ["discover_tools", "call_tool"]
        assert served.tool_counts == (0, len(ALL))
        through = {"name": "call_tool", "arguments": {"name": "git__log"}}
        assert not (await served.call(through, FakeCaller())).get("isError")
        inner = {"name": "why_tool", "arguments": {"name": "git__log"}}
        why = await served.call({"name": "call_tool", "arguments": inner}, FakeCaller())
        assert "git__log" in told(why)
    assert await listed(is_installed=True) == ["git__log", "discover_tools", "call_tool"]
    assert {*ALL} <= {*await listed()}  # an entry of the user's own
    sandbox.write(shop / "remit.toml", "token_budget = 6000\n")
    assert {*ALL} <= {*await listed(is_installed=True)}
    sandbox.write(shop / "remit.toml", "")
    sandbox.write(sandbox.home / ".claude/settings.json", {"env": {"ENABLE_TOOL_SEARCH": "false"}})
    assert {*ALL, "why_tool"} <= {*await listed(is_installed=True)}


async def test_a_deferred_tool_that_was_called_can_be_promoted(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", 'strategy = "search"\npinned = ["git__log"]\nblock = ["git__push"]\n')

    def promotes(served: LiveEndpoint, tool: str, **arguments: object) -> str | None:
        return served.promotes({"name": tool, "arguments": arguments})

    async with endpoint(sandbox, links, shop) as served:
        listing = await served.tools({})
        assert promotes(served, "call_tool", name="mcp__web__fetch") == "web__fetch"
        assert promotes(served, "mcp__remit__call_tool", name="web__fetch") == "web__fetch"
        assert promotes(served, "call_tool", name="git__log") is None  # listed already
        assert promotes(served, "call_tool", name="git__push") is None  # hidden
        assert promotes(served, "call_tool", name="nothing") is None
        assert promotes(served, "call_tool", name=7) is None
        assert promotes(served, "web__fetch") is None
        longer = await served.tools({}, SessionView(["web__search", "web__fetch", "git__push", "nothing"]))
        assert [item["name"] for item in longer.items[len(listing.items) :]] == ["web__search", "web__fetch"]
        assert longer.items[: len(listing.items)] == listing.items
        assert longer.revision != listing.revision
        assert await served.tools({}, SessionView(["nothing"])) is listing
        sandbox.write(shop / "remit.toml", 'strategy = "search"\npromote = "reopen"\n')
        await served.tools({})
        assert promotes(served, "call_tool", name="web__fetch") is None


async def test_a_budget_of_nothing_shows_only_what_is_pinned(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", 'token_budget = 0\npinned = ["mcp__web__*"]\n')
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["web__fetch", "web__search"]


async def test_search_shows_the_pinned_and_how_to_find_the_rest(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(
        shop / "remit.toml", 'strategy = "search"\npinned = ["git__status"]\nblock = ["git__push"]\n'
    )
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["git__status"]
        assert own(await served.tools({})) == OWN
        found = (await call(served, "discover_tools", {"query": "fetch a page"}))["structuredContent"]
        assert found["tools"][0]["name"] == "web__fetch"
        assert "input_schema" not in found["tools"][0]
        full = await call(served, "discover_tools", {"query": "fetch a page", "detail": "full", "limit": 1})
        assert [tool["name"] for tool in full["structuredContent"]["tools"]] == ["web__fetch"]
        assert full["structuredContent"]["tools"][0]["input_schema"]["type"] == "object"
        assert told(await call(served, "call_tool", {"name": "web__fetch"})) == "web did fetch"
        assert told(await call(served, "web__fetch")) == "web did fetch"
        for hidden, is_found in ((False, False), (True, True)):
            asked = {"query": "push", "include_hidden": hidden, "limit": 50}
            found = (await call(served, "discover_tools", asked))["structuredContent"]["tools"]
            listed = {tool["name"]: tool for tool in found}
            assert ("git__push" in listed) is is_found
        assert listed["git__push"]["gate"] == "policy"


async def test_what_is_found_follows_the_states(sandbox: Sandbox, shop: Path, links: FakeLinks) -> None:
    sandbox.write(
        shop / "remit.toml", '[states.ready]\nfile = "r"\n[tools."git__push"]\nstates = ["ready"]\n'
    )

    async def found(served: LiveEndpoint) -> list[str]:
        answer = await call(served, "discover_tools", {"query": "push"})
        return [tool["name"] for tool in answer["structuredContent"]["tools"]]

    async with endpoint(sandbox, links, shop, strategy="search") as served:
        await served.tools({})
        assert "git__push" not in await found(served)
        (shop / "r").touch()
        assert "git__push" in await found(served)
        sandbox.write(shop / "remit.toml", 'block = ["git__push"]\n')
        assert "git__push" not in await found(served)


async def test_a_server_that_is_called_like_a_tool_of_ours_is_an_entry_of_its_own(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write_state("call_tool")
    links.stocks["call_tool"] = ServerLists(tools=[offered("ring")])
    async with endpoint(sandbox, links, shop, strategy="namespace") as served:
        listed = [item["name"] for item in (await served.tools({})).items]
        assert listed.count("call_tool") == 1
        (group,) = [name for name in listed if name.startswith("call_tool_")]
        assert "call_tool__ring" in told(await call(served, group))
        assert told(await call(served, "call_tool", {"name": "call_tool__ring"})) == "call_tool did ring"


async def test_a_namespace_is_one_entry_that_returns_its_tools(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(
        shop / "remit.toml",
        'block = ["git__log"]\n[tools."git__*"]\nnamespace = "Version control"\n'
        '[tools."git__status"]\nnamespace = "look"\n',
    )
    async with endpoint(sandbox, links, shop, strategy="namespace") as served:
        listing = await served.tools({})
        assert await names(served) == ["Version_control", "look", "web"]
        assert own(listing) == {"call_tool", "why_tool", "report_available_tools"}
        assert "git__push" in listing.items[0]["description"]
        for name in ("web", "mcp__remit__web"):
            answer = await call(served, name)
            assert [item["name"] for item in answer["structuredContent"]["tools"]] == ALL[3:]
            assert "web__fetch: Fetch a page" in told(answer)
        opened = await call(served, "Version_control")
        assert [item["name"] for item in opened["structuredContent"]["tools"]] == ["git__push"]
        assert told(await call(served, "call_tool", {"name": "git__push"})) == "git did push"
        assert (await call(served, "call_tool", {"name": "git__log"}))["isError"]


async def test_rooms_are_resources_that_return_their_tools(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(
        shop / "remit.toml",
        'block = ["git__log"]\n[rooms.git]\ndescription = "Git work"\ntools = ["mcp__git__*"]\n'
        '[rooms.empty]\ntools = ["nothing"]\n',
    )
    async with endpoint(sandbox, links, shop, strategy="rooms") as served:
        assert await names(served) == ALL[3:]
        listed = (await served.resources()).items
        assert [(item["uri"], item["description"]) for item in listed] == [
            ("room://empty", "Tools of the room `empty` (0 tools)"),
            ("room://git", "Git work (2 tools)"),
        ]
        read = await served.pass_on("resources/read", {"uri": "room://git"}, FakeCaller())
        content = json.loads(read["contents"][0]["text"])
        assert [tool["name"] for tool in content["tools"]] == ["git__push", "git__status"]
        assert told(await call(served, "call_tool", {"name": "git__push"})) == "git did push"
        assert await served.pass_on("resources/subscribe", {"uri": "room://git"}, FakeCaller()) == {}
    async with endpoint(sandbox, links, shop, strategy="rooms", room="git") as served:
        assert await names(served) == ["git__push", "git__status"]


async def test_a_manifest_advertises_scopes_and_lists_the_one_that_is_asked_for(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(
        shop / "remit.toml", 'strategy = "manifest"\n[rooms.look]\ntools = ["git__status", "web__*"]\n'
    )
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ALL
        scopes = {"remit/scopes": {"scopes": ["git", "look", "web"], "stateAware": True}}
        assert served.capabilities["extensions"] == served.capabilities["experimental"] == scopes
        asked: list[dict[str, Any]] = [{"scope": "look"}, {"_meta": {"remit/scope": "look"}}]
        for params in asked:
            assert await names(served, params) == ["git__status", *ALL[3:]]
        assert await served.tools({"scope": "web"}) is await served.tools({"scope": "web"})
        with pytest.raises(JsonRpcError, match="Unknown scope: wild; expected one of `git`, `look`, `web`"):
            await served.tools({"scope": "wild"})


async def test_a_manifest_has_all_declared_scopes_whatever_the_states_are(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(
        shop / "remit.toml",
        """
strategy = "manifest"
[states.released]
file = "released.txt"
[tools."web__*"]
states = ["released"]
[tools."git__status"]
namespace = "requirement"
[namespaces.requirement]
description = "Requirement management tools"
[namespaces.later]
[rooms.look]
description = "Where one looks"
[tools."git__push"]
ai_enabled = false
""",
    )
    async with endpoint(sandbox, links, shop) as served:
        await names(served)
        manifest = served.capabilities["extensions"]["remit/scopes"]
        assert manifest["scopes"] == ["git", "later", "look", "requirement", "web"]
        assert manifest["stateAware"] is True
        assert manifest["descriptions"] == {
            "look": "Where one looks",
            "requirement": "Requirement management tools",
        }
        for scope in ("later", "look", "web"):
            assert (await served.tools({"scope": scope})).items == []
        assert await names(served, {"scope": "requirement"}) == ["git__status"]


async def test_a_client_sees_the_description_of_a_namespace(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(
        shop / "remit.toml",
        'strategy = "namespace"\n[tools."git__*"]\nnamespace = "requirement"\n'
        '[namespaces.requirement]\ndescription = "Requirement\\nmanagement tools"\n',
    )
    async with endpoint(sandbox, links, shop) as served:
        items = {each["name"]: each for each in (await served.tools({})).items}
    assert items["requirement"]["description"].startswith("Requirement management tools: git__")
    assert items["web"]["description"].startswith("Tools of `web`: ")


async def test_other_strategies_have_no_scopes(sandbox: Sandbox, shop: Path, links: FakeLinks) -> None:
    async with endpoint(sandbox, links, shop, strategy="state") as served:
        assert await names(served, {"scope": "wild"}) == ALL
        assert "extensions" not in served.capabilities


@pytest.mark.long
async def test_an_agent_and_a_room_may_have_a_strategy_of_their_own(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / ".claude/agents/scout.md", "---\nname: scout\ndescription: x\n---\n")
    sandbox.write(
        shop / "remit.toml",
        '[agents.scout]\nstrategy = "search"\n[rooms.all]\ntools = ["*"]\nstrategy = "namespace"\n',
    )
    for opening, expected in (
        ({}, ALL),
        ({"agent": "scout"}, []),
        ({"room": "all", "agent": "scout"}, ["git", "web"]),
        ({"room": "all", "strategy": "state"}, ALL),
    ):
        async with endpoint(sandbox, links, shop, **opening) as served:
            assert await names(served) == expected


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("discover_tools", {}, "`query` must be a non-empty string"),
        ("discover_tools", {"query": "x", "limit": 0}, "`limit` must be a number from 1 to 50"),
        ("discover_tools", {"query": "x", "limit": True}, "`limit` must be a number from 1 to 50"),
        ("discover_tools", {"query": "x", "scope": "wild"}, "`scope` must be one of managed"),
        ("call_tool", {"name": "mcp__remit__call_tool"}, "`call_tool` cannot call itself"),
        ("call_tool", {"name": "git__status", "arguments": []}, "`arguments` must be an object"),
        ("call_tool", [], "`arguments` must be an object"),
        ("why_tool", {"name": 7}, "`name` must be a non-empty string"),
        ("report_available_tools", {}, "`tools` must be a list of at most 200 tools"),
        ("report_available_tools", {"tools": ["x"]}, "`name` must be a non-empty string"),
        ("report_available_tools", {"tools": [{"name": "x" * 257}]}, "a name is longer than 256 characters"),
        ("report_available_tools", {"tools": [{"name": "x", "description": 1}]}, "the description of `x`"),
        ("report_available_tools", {"tools": [{"name": "x", "input_schema": 1}]}, "the input schema of `x`"),
    ],
)
async def test_an_own_tool_says_what_is_wrong_with_its_arguments(
    sandbox: Sandbox, shop: Path, links: FakeLinks, name: str, arguments: Any, complaint: str
) -> None:
    async with endpoint(sandbox, links, shop) as served:
        answer = await served.call({"name": name, "arguments": arguments}, FakeCaller())
        assert answer["isError"]
        assert complaint in told(answer)


async def test_an_agent_tells_of_its_tools_and_cannot_redefine_a_servers(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    reported = [
        {"name": "Sketch", "description": "Draws", "input_schema": {"type": "object"}},
        {"name": "mcp__git__status", "description": "evil words"},
        {"name": "mcp__git__made_up", "description": "evil words"},
    ]
    async with endpoint(sandbox, links, shop) as served:
        first = await served.tools({})
        answer = await call(served, "report_available_tools", {"tools": reported})
        assert answer["structuredContent"]["tools"] == [item["name"] for item in reported]
        assert (await served.tools({})).revision == first.revision
        assert "is visible: reported by an agent" in told(await call(served, "why_tool", {"name": "Sketch"}))


async def test_why_tells_every_gate_by_the_name_that_can_be_called(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    sandbox.write(shop / "remit.toml", 'block = ["git__push"]\n')
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        answer = await call(served, "why_tool", {"name": "mcp__git__push"})
        content = answer["structuredContent"]
        assert (content["tool"], content["verdict"], content["gate"]) == ("git__push", "hidden", "policy")
        assert [line["gate"] for line in content["gates"]][:2] == ["scope", "config"]
        assert "blocked by `git__push`" in told(answer)
        assert "did you mean" in told(await call(served, "why_tool", {"name": "gitt__status"}))
