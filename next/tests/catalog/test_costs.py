"""What tools cost: a server its tools once, an unlisted one nothing, and nobody knows is not free."""

import json
from pathlib import Path

import pytest

from remit.catalog.costs import charge
from remit.decision import Authority, Kind, Scope, Status, Tool, Winner, server_name
from remit.text import estimate
from support.builders import server
from support.catalogs import World, big_tool


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def tool(of: Tool, name: str, tokens: int | None) -> Tool:
    """A tool that is stored under a server."""
    return of._replace(name=f"{of.name[:-1]}{name}", kind=Kind.MCP_TOOL, tokens=tokens)


def costs(*tools: Tool) -> dict[tuple[str, str], int | None]:
    return {(item.name, item.scope): item.tokens for item in charge(tools) if item.kind is Kind.MCP_SERVER}


def test_a_server_costs_its_known_tools_once_and_an_unknown_one_is_not_free() -> None:
    git, wiki = server("git"), server("wiki")
    gone = tool(git, "old", 100)._replace(status=Status.UNLISTED)
    known = [tool(git, "commit", 40), tool(git, "log", 2), tool(git, "blame", None), gone]
    assert costs(git, wiki, *known) == {("mcp__git__*", "global"): 42, ("mcp__wiki__*", "global"): None}
    assert costs(server("none", listed_at=5)) == {("mcp__none__*", "global"): 0}


def test_of_two_servers_of_one_name_each_has_its_own_tools() -> None:
    mine = server("git", scope=Scope.LOCAL)
    ours = server("git", shadowed_by=Winner(Scope.LOCAL, "f"))
    assert costs(mine, ours, tool(mine, "commit", 40), tool(ours, "commit", 7)) == {
        ("mcp__git__*", "local"): 40,
        ("mcp__git__*", "global"): 7,
    }


def test_two_plugins_servers_of_one_label_are_told_apart_by_their_names() -> None:
    one, two = (
        server("db", scope=Scope.PLUGIN)._replace(name=server_name("db", plugin))
        for plugin in ("ink", "quill")
    )
    assert costs(one, two, tool(two, "query", 9)) == {
        ("mcp__plugin_ink_db__*", "plugin"): None,
        ("mcp__plugin_quill_db__*", "plugin"): 9,
    }


def test_a_tool_that_was_only_reported_counts_for_the_server_it_falls_under() -> None:
    git = server("git")
    reported = tool(server("git", scope=Scope.PROJECT), "commit", 40)._replace(authority=Authority.REPORT)
    assert costs(git, reported) == {("mcp__git__*", "global"): 40}
    assert costs(server("wiki"), reported) == {("mcp__wiki__*", "global"): None}


def no_search(world: World) -> None:
    """Let the client send definitions, instead of names that it searches itself."""
    world.write(world.home / ".claude/settings.json", json.dumps({"env": {"ENABLE_TOOL_SEARCH": "false"}}))


def test_a_client_that_searches_sends_names_and_the_sum_is_that_of_its_servers(world: World) -> None:
    world.servers("git", "wiki")
    world.lists("git", *(big_tool(f"tool_{at}", 500) for at in range(9)))
    world.lists("wiki", "read")
    cost = world.registry.request_cost(world.here())
    assert cost.searches
    assert 0 < cost.alone == sum(item.alone or 0 for item in cost.by_server) < 200
    assert cost.saved < 0


def test_a_first_request_costs_its_tools_and_with_remit_its_own_tools_and_texts_too(world: World) -> None:
    world.servers("git", "wiki", "silent")
    world.lists("git", big_tool("log", 200), big_tool("push", 100))
    world.lists("wiki", big_tool("read", 300))
    no_search(world)
    cost = world.registry.request_cost(world.here())
    tools = {name: item.tool.tokens or 0 for name, item in world.listed().items()}
    assert cost.alone == sum(tools[name] for name in world.visible())
    assert [(item.label, item.alone, item.with_remit, item.listed) for item in cost.by_server] == [
        ("git", tools["mcp__git__log"] + tools["mcp__git__push"], cost.by_server[0].alone, 2),
        ("wiki", tools["mcp__wiki__read"], tools["mcp__wiki__read"], 1),
        ("silent", None, 0, 0),
    ]
    assert [item.label for item in cost.unknown] == ["silent"]
    assert cost.with_remit > cost.alone
    text = "session text " * 10
    assert world.registry.request_cost(world.here(), [text]).with_remit == cost.with_remit + estimate(text)


def test_what_rules_hide_costs_nothing_with_remit_and_all_of_it_alone(world: World) -> None:
    world.servers("git")
    world.lists("git", big_tool("log", 200), big_tool("push", 100))
    before = world.registry.request_cost(world.here())
    world.mine('block = ["mcp__git__push"]\n')
    after = world.registry.request_cost(world.here())
    assert after.alone == before.alone
    assert after.by_server[0].listed == 1
    assert (
        before.with_remit - after.with_remit == before.by_server[0].with_remit - after.by_server[0].with_remit
    )


def test_with_many_tools_remit_saves(world: World) -> None:
    world.servers("git")
    world.lists("git", *(big_tool(f"tool_{at}", 500) for at in range(40)))
    no_search(world)
    cost = world.registry.request_cost(world.here())
    assert cost.with_remit < 900 < cost.saved


def test_a_model_calls_tools_by_the_clients_name_of_the_gateway_where_it_starts_it(world: World) -> None:
    world.servers("git")
    world.lists("git", "log")
    view = world.registry.view(world.here())
    log = world.listed()["mcp__git__log"].tool
    assert (view.prefix, view.name_of(log)) == (None, "mcp__git__log")
    assert view._replace(prefix="mcp__remit__").name_of(log) == "mcp__remit__git__log"
