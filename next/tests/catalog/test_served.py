"""What an endpoint serves, and what a call by a name means."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remit.catalog import Served, Target, make_plan, serve
from remit.decision import Authority, Decision, Gate, Snapshot, Tool, Verdict
from remit.store import Call
from support.catalogs import World, big_tool


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def served(world: World, before: Served | None = None, **options: Any) -> Served:
    catalog = world.registry.catalog(world.here(gateway=True))
    return serve(catalog, make_plan(catalog.configuration, **options), before)


def deciding(endpoint: Served, world: World) -> Callable[[Tool], Decision]:
    snapshot = world.registry.snapshot(endpoint.catalog)
    return lambda tool: endpoint.catalog.decide(tool, snapshot)


def target(world: World, name: str, endpoint: Served | None = None) -> Target | None:
    endpoint = endpoint or served(world)
    return endpoint.target(name, deciding(endpoint, world))


def names(world: World, endpoint: Served) -> list[str]:
    listed = endpoint.catalog.at(world.registry.snapshot(endpoint.catalog))
    return [entry.name for entry in endpoint.present(listed).entries]


def test_two_servers_of_one_tool_are_both_listed_and_called_by_name(world: World) -> None:
    world.servers("clock", "wiki")
    world.lists("clock", "now")
    world.lists("wiki", "read")
    endpoint = served(world)
    assert names(world, endpoint) == ["clock__now", "wiki__read"]
    called = target(world, "clock__now", endpoint)
    assert called is not None
    assert (called.tool.name, called.own_name, called.decision.verdict) == (
        "mcp__clock__now",
        "now",
        Verdict.VISIBLE,
    )


def test_a_server_known_from_before_is_listed_from_its_stored_definitions(world: World) -> None:
    world.servers("slow")
    world.lists("slow", {"name": "wait", "description": "Waits.", "inputSchema": {"type": "object"}})
    world.registry = world.registry_of_another_process()  # which never asked the server
    (item,) = served(world).items.values()
    assert item == {"name": "slow__wait", "description": "Waits.", "inputSchema": {"type": "object"}}


def test_only_what_a_file_declares_and_its_server_listed_is_served(world: World) -> None:
    world.servers("git")
    world.lists("git", "status")
    world.store.usage.report("mcp__git__push", "claude-code", Authority.HOOK, world.workspace(), 1)
    endpoint = served(world)
    assert [tool.name for tool in endpoint.catalog.tools if endpoint.names.get(tool.key)] == [
        "mcp__git__status"
    ]
    pushed = target(world, "git__push", endpoint)
    assert pushed is None  # its list is current, and has no such tool


def test_a_name_once_given_stays_with_its_tool_and_goes_to_no_other_server(world: World) -> None:
    world.servers("a.b")
    world.lists("a.b", "t")
    before = served(world)
    world.servers("a.b", "a_b")
    world.lists("a_b", "t")
    after = served(world, before)
    by_server = {
        tool.server: after.names.get(tool.key) for tool in after.catalog.tools if tool.kind == "mcp_tool"
    }
    assert by_server["a.b"] == "a_b__t"
    assert str(by_server["a_b"]).startswith("a_b__t_")


def test_only_tools_rated_as_reading_keep_their_read_only_hint(world: World) -> None:
    world.servers("disk")
    hint = {"annotations": {"readOnlyHint": True, "title": "x"}, "inputSchema": {}}
    world.lists("disk", {"name": "wipe", **hint}, {"name": "usage", **hint})
    world.mine('[tools."mcp__disk__wipe"]\ndanger = "destructive"')
    items = {item["name"]: item["annotations"] for item in served(world).items.values()}
    assert items == {
        "disk__usage": {"readOnlyHint": True, "title": "x"},
        "disk__wipe": {"title": "x"},
    }


def test_texts_are_cleaned_and_names_and_values_stay(world: World) -> None:
    world.servers("odd")
    schema = {"properties": {"a\u200bb": {"description": "x\u202ey", "default": "z\u200b"}}}
    world.lists("odd", {"name": "t", "description": "do\u200b it", "inputSchema": schema})
    (item,) = served(world).items.values()
    assert item["description"] == "do it"
    assert item["inputSchema"]["properties"] == {"a\u200bb": {"description": "xy", "default": "z\u200b"}}


def test_items_are_made_once_for_the_same_definition(world: World) -> None:
    world.servers("git")
    world.lists("git", "log", "status")
    before = served(world)
    first = dict(before.items)
    world.mine('block = ["mcp__git__nothing"]')
    after = served(world, before)
    assert [after.items[key] is item for key, item in first.items()] == [True, True]


def test_an_unlisted_tool_of_a_server_that_was_never_listed_is_judged_by_the_servers_row(
    world: World,
) -> None:
    world.servers("git")
    called = target(world, "git__status")
    assert called is not None
    assert (called.is_listed, called.own_name, called.decision.verdict) == (False, "status", Verdict.VISIBLE)
    world.mine('block = ["mcp__git__*"]')
    blocked = target(world, "mcp__remit__git__status")
    assert blocked is not None
    assert blocked.decision.gate is Gate.POLICY
    assert target(world, "nobody__status") is None


def test_a_name_that_may_mean_two_servers_means_none(world: World) -> None:
    world.servers("git", "git__hub")
    world.lists("git", "hub__read")
    world.lists("git__hub", "read")
    endpoint = served(world)
    assert target(world, "git__hub__read", endpoint) is None
    assert {server for _, server in endpoint.meanings("git__hub__read")} == {"git", "git__hub"}
    for name, server in endpoint.meanings("git__hub__read"):
        called = target(world, name, endpoint)
        assert called is not None
        assert called.tool.server == server


def test_an_untrusted_server_of_the_project_takes_no_name_of_the_users(world: World) -> None:
    world.servers("git")
    world.lists("git", "status")
    world.write(world.shop / ".mcp.json", json.dumps({"mcpServers": {"git": {"command": "evil"}}}))
    world.write(world.home / ".claude/settings.json", json.dumps({"enableAllProjectMcpServers": True}))
    endpoint = served(world)
    assert names(world, endpoint) == ["git__status"]
    called = target(world, "git__status", endpoint)
    assert called is not None
    assert called.tool.scope == "global"


def test_later_calls_do_not_change_what_is_listed(world: World) -> None:
    world.servers("git")
    world.lists("git", *(big_tool(f"tool_{at:02}", 400) for at in range(30)))
    before = served(world)
    assert names(world, before) == []
    call = Call(world.now, "stdio", "claude-code", None, None, "mcp__git__tool_07", "visible", None, "done")
    world.store.calls.add([call], world.workspace())
    world.mine('block = ["mcp__git__tool_29"]')
    assert names(world, served(world, before)) == []
    assert names(world, served(world)) == ["git__tool_07"]


def test_prompts_have_names_of_their_own(world: World) -> None:
    world.servers("git")
    world.lists("git", prompts=[{"name": "review"}])
    endpoint = served(world)
    (key,) = endpoint.catalog.offers
    assert endpoint.prompt_names.of((key, "review")) == "git__review"


def test_a_room_has_its_own_tools_and_flat_ignores_states(world: World) -> None:
    world.servers("git", "wiki")
    world.lists("git", "log")
    world.lists("wiki", "read")
    world.mine('[tools."mcp__wiki__read"]\nstates = ["never"]\n[states.never]\nfile = "never"\n')
    world.shared('[rooms.git]\ntools = ["mcp__git__*"]\n')
    assert names(world, served(world)) == ["git__log"]
    assert names(world, served(world, strategy="flat")) == ["git__log", "wiki__read"]
    room = served(world, room="git", strategy="flat")
    assert names(world, room) == ["git__log"]
    refused = target(world, "wiki__read", room)
    assert refused is not None
    assert refused.decision.gate is Gate.POLICY


def test_lists_and_calls_agree_in_every_state(world: World) -> None:
    world.servers("git", "wiki")
    world.lists("git", "log", "push", big_tool("blame", 50))
    world.lists("wiki", "read")
    world.shared('[states.ready]\nfile = "ready"\n[tools."mcp__git__push"]\nstates = ["ready"]\n')
    for _ in range(2):
        endpoint = served(world)
        listed = endpoint.catalog.at(world.registry.snapshot(endpoint.catalog))
        for tool, decision in listed:
            if (name := endpoint.names.get(tool.key)) is not None:
                called = target(world, name, endpoint)
                assert called is not None
                assert (called.tool, called.decision) == (tool, decision)
        (world.shop / "ready").touch()


def test_an_output_schema_is_known_of_a_target(world: World) -> None:
    world.servers("git")
    world.lists("git", {"name": "log", "inputSchema": {}, "outputSchema": {"type": "object"}}, "status")
    called = [target(world, name) for name in ("git__log", "git__status")]
    assert [item is not None and item.has_output_schema for item in called] == [True, False]
    assert served(world).catalog.at(Snapshot())
