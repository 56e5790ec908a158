"""Servers that know states: their tools appear as soon as a state holds, and no other changes."""

from pathlib import Path
from typing import Any

import pytest

from remit.catalog import make_plan, serve
from remit.decision import DeclaredStates, DeclaredTool, Definition, Gate, Offer
from remit.store import make_definition
from support.catalogs import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.servers("shop", "other")
    return world


def declared(label: str, *names: str) -> list[Definition]:
    return [make_definition(f"mcp__{label}__{name}", label, name, None, {"name": name}) for name in names]


def know(world: World, label: str, states: dict[str, dict[str, Any]], **needs: list[str]) -> None:
    """Store the offer of a server that lists `always` now, and declares tools under states."""
    always, *others = declared(label, "always", *needs)
    tools = [DeclaredTool(item, tuple(needs[item.tool or ""])) for item in others]
    offer = Offer([always], declared=DeclaredStates([DeclaredTool(always), *tools], states, str(world.shop)))
    world.keep(world.declaration(label), offer)


def test_a_tool_is_listed_as_soon_as_its_state_holds_without_asking_its_server_again(world: World) -> None:
    know(world, "shop", {"cart-open": {"file": "cart"}}, pay=["cart-open"])
    assert world.visible() == ["mcp__shop__always"]
    hidden = world.listed()["mcp__shop__pay"].decision
    assert (hidden.gate, "shop:cart-open" in hidden.reason) == (Gate.STATE, True)
    (world.shop / "cart").touch()
    assert world.visible() == ["mcp__shop__always", "mcp__shop__pay"]
    catalog = world.registry.catalog(world.here(gateway=True))
    endpoint = serve(catalog, make_plan(catalog.configuration))
    assert {item["name"] for item in endpoint.items.values()} == {"shop__always", "shop__pay"}


def test_states_of_two_servers_do_not_clash_and_the_projects_own_counts_for_both(world: World) -> None:
    know(world, "shop", {"ready": {"file": "shop-ready"}}, pay=["ready"])
    know(world, "other", {"ready": {"file": "other-ready"}}, run=["ready"])
    (world.shop / "other-ready").touch()
    assert "mcp__other__run" in world.visible()
    assert "mcp__shop__pay" not in world.visible()
    world.shared('[states.ready]\nfile = "really-ready"\n')
    assert world.visible() == ["mcp__other__always", "mcp__shop__always"]
    (world.shop / "really-ready").touch()
    assert {"mcp__other__run", "mcp__shop__pay"} <= set(world.visible())


def test_a_server_changes_no_tool_and_no_state_of_others(world: World) -> None:
    world.lists("other", "x")
    world.shared('[states."shop.open"]\nfile = "never"\n[tools."mcp__other__x"]\nstates = ["shop.open"]\n')
    tools = [DeclaredTool(declared("other", "x")[0], ("nothing",))]
    states = {"open": {"env": "PATH", "implies": ["shop.open"]}, "run": {"command": ["touch", "sprung"]}}
    offer = Offer(declared("shop", "y"), declared=DeclaredStates(tools, states))
    world.keep(world.declaration("shop"), offer)
    configuration = world.registry.config.current(world.workspace())
    assert [rule.pattern for rule in configuration.rules.tools] == ["mcp__other__x"]
    assert world.listed()["mcp__other__x"].decision.gate is Gate.STATE
    assert not (world.shop / "sprung").exists()


def test_a_command_of_a_server_never_runs(world: World) -> None:
    know(world, "shop", {"on": {"command": ["touch", "sprung"]}}, pay=["on"])
    assert "mcp__shop__pay" not in world.visible()
    assert not (world.shop / "sprung").exists()


def test_the_success_of_its_own_tool_sets_its_workflow_state(world: World) -> None:
    know(world, "shop", {"begun": {"on": ["always"], "off": ["pay"]}}, pay=["begun"])
    assert "mcp__shop__pay" not in world.visible()
    assert world.registry.states.advance("mcp__shop__always", world.here())
    assert "mcp__shop__pay" in world.visible()
    assert not world.registry.states.advance("mcp__other__always", world.here())


def test_the_first_sight_of_such_a_server_accepts_all_that_it_declares(world: World) -> None:
    know(world, "shop", {"cart-open": {"file": "cart"}}, pay=["cart-open"])
    (world.shop / "cart").touch()
    world.keep(world.declaration("shop"), Offer(declared("shop", "always", "pay")))
    assert world.visible() == ["mcp__shop__always", "mcp__shop__pay"]


def test_an_invalid_state_is_left_out_and_hides_its_tools(world: World) -> None:
    know(world, "shop", {"odd": {"file": 7}}, pay=["odd"])
    assert world.listed()["mcp__shop__pay"].decision.gate is Gate.STATE
    assert "mcp__shop__always" in world.visible()


def test_the_list_of_a_server_says_whether_its_tools_without_states_are_there(world: World) -> None:
    know(world, "shop", {"cart-open": {"file": "cart"}}, pay=[])
    assert world.visible() == ["mcp__shop__always"]
