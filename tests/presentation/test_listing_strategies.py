"""Which of the visible tools each strategy lists."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.configuration.config_model import Room, Strategy
from remit.decision.globs import tool_globs
from remit.decision.tool_names import REMIT
from remit.memory.memory_server import tool_definitions
from remit.presentation.listing_strategies import (
    NEVER,
    STRATEGIES,
    Presentation,
    ToolGroup,
    VisibleTool,
    definitions_of,
    group_item,
    in_words,
    present,
    promoted,
    room_resource,
    with_empty_scopes,
)
from remit.presentation.remit_tools import DEFINITIONS, OwnTool
from remit.presentation.serving_plan import ServingPlan
from support.builders import server

USUAL = ServingPlan()


def entry(
    name: str, *, tokens: int | None = 100, uses: tuple[int, int] = NEVER, is_wanted: bool = False
) -> VisibleTool:
    tool = server(name.partition("__")[0])._replace(name=f"mcp__{name}", tokens=tokens)
    return VisibleTool(tool, {"name": name, "description": f"does\n{name}"}, uses, is_wanted)


def shown(strategy: str, visible: Iterable[VisibleTool], plan: ServingPlan = USUAL) -> Presentation:
    return present(list(visible), plan._replace(strategy=Strategy(strategy)))


def listed(strategy: str, visible: Iterable[VisibleTool], plan: ServingPlan = USUAL) -> list[str]:
    return [each.name for each in shown(strategy, visible, plan).entries]


LOG, PUSH, FETCH = entry("git__log"), entry("git__push"), entry("web__fetch")
GIT = ServingPlan(
    rooms={"git": (Room("git", "Git work"), tool_globs("mcp__git__*")), "none": (Room("none"), ())}
)


def test_there_is_a_strategy_for_each_name() -> None:
    assert tuple(STRATEGIES) == tuple(Strategy)


@pytest.mark.parametrize("strategy", ["flat", "state", "manifest"])
def test_these_show_all_that_is_visible(strategy: str) -> None:
    assert listed(strategy, [LOG, PUSH]) == ["git__log", "git__push"]


def test_auto_shows_all_within_the_budget_without_a_way_to_find_more() -> None:
    found = shown("auto", [LOG, PUSH], ServingPlan(token_budget=200))
    assert (len(found.entries), found.own) == (2, (OwnTool.WHY, OwnTool.REPORT, OwnTool.READ))


def test_over_the_budget_what_is_pinned_comes_first_then_the_used_then_what_belongs_here() -> None:
    visible = [
        entry("a__unused"),
        entry("b__wanted", is_wanted=True),
        entry("c__used_once", uses=(1, 9)),
        entry("d__used_once", uses=(1, 10)),
        entry("e__used", uses=(5, 1), tokens=150),
        entry("f__pinned"),
    ]
    pins = tool_globs("f__*")
    chosen = {
        budget: listed("auto", visible, ServingPlan(token_budget=budget, pinned=pins))
        for budget in (0, 200, 250, 350, 450, 600)
    }
    assert chosen == {
        0: ["f__pinned"],
        200: ["f__pinned"],  # the most used does not fit
        250: ["e__used", "f__pinned"],
        350: ["d__used_once", "e__used", "f__pinned"],
        450: ["c__used_once", "d__used_once", "e__used", "f__pinned"],
        600: ["b__wanted", "c__used_once", "d__used_once", "e__used", "f__pinned"],
    }
    assert shown("auto", visible, ServingPlan(token_budget=0)).own == (
        OwnTool.DISCOVER,
        OwnTool.CALL,
        OwnTool.WHY,
        OwnTool.REPORT,
        OwnTool.READ,
    )


def test_a_tool_of_unknown_cost_costs_nothing() -> None:
    assert listed("auto", [entry("a__b", tokens=None)], ServingPlan(token_budget=0)) == ["a__b"]


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 3), st.booleans()), max_size=12),
    st.integers(0, 800),
)
def test_what_auto_shows_stays_in_the_budget_and_in_order(
    given_tools: list[tuple[int, int, bool]], budget: int
) -> None:
    visible = [
        entry(f"s__{at:02}", tokens=tokens, uses=(uses, 0), is_wanted=wanted)
        for at, (tokens, uses, wanted) in enumerate(given_tools)
    ]
    chosen = shown("auto", visible, ServingPlan(token_budget=budget)).entries
    assert sum(each.tool.tokens or 0 for each in chosen) <= budget
    assert list(chosen) == [each for each in visible if each in chosen]


def test_a_small_excess_drops_tools_from_the_end_of_the_ranking() -> None:
    visible = [*(entry(f"a__{at}") for at in range(5)), *(entry(f"b__{at}") for at in range(5))]
    visible[9] = entry("b__9", uses=(3, 1))
    kept = {
        budget: listed("auto", visible, ServingPlan(token_budget=budget)) for budget in range(400, 1100, 100)
    }
    assert {budget: len(names) for budget, names in kept.items()} == {
        400: 1,
        500: 1,
        600: 2,
        700: 4,
        800: 6,
        900: 8,
        1000: 10,
    }
    assert kept[900] == ["a__0", "a__1", "a__2", "b__0", "b__1", "b__2", "b__3", "b__9"]  # a's are used less


@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.integers(0, 3000))
def test_what_was_listed_stays_listed_however_many_tools_appear(costs: list[int], budget: int) -> None:
    plan, before = ServingPlan(token_budget=budget), None
    visible: list[VisibleTool] = []
    for at, cost in enumerate(costs):
        visible.append(entry(f"s__{at:02}", tokens=cost))
        now = present(visible, plan, before)
        if before is not None:
            assert {each.name for each in before.entries} <= {each.name for each in now.entries}
            assert {*before.own} <= {*now.own}
        before = now


def test_a_tool_that_is_no_longer_visible_is_no_longer_listed() -> None:
    before = shown("auto", [LOG, PUSH])
    assert [each.name for each in present([LOG], USUAL, before).entries] == ["git__log"]


def test_promoted_tools_are_deferred_ones_in_their_order_within_the_budget() -> None:
    plan = ServingPlan(strategy=Strategy.SEARCH, token_budget=200, pinned=tool_globs("git__log"))
    found = present([LOG, PUSH, FETCH], plan)
    asked = ["web__fetch", "git__log", "git__push", "gone"]
    assert [each.name for each in promoted(found, asked, plan)] == ["web__fetch", "git__push"]
    assert [each.name for each in promoted(found, asked, plan._replace(token_budget=100))] == ["web__fetch"]


def test_search_shows_what_is_pinned() -> None:
    found = shown("search", [LOG, PUSH], ServingPlan(pinned=tool_globs("git__push")))
    assert [each.name for each in found.entries] == ["git__push"]
    assert OwnTool.DISCOVER in found.own


def test_namespaces_are_groups_by_name() -> None:
    found = shown("namespace", [PUSH, FETCH, LOG])
    assert [(group.name, len(group.entries)) for group in found.groups] == [("git", 2), ("web", 1)]
    assert found.entries == []
    assert found.own == (OwnTool.CALL, OwnTool.WHY, OwnTool.REPORT, OwnTool.READ)


def test_rooms_are_resources_beside_what_is_in_none() -> None:
    found = shown("rooms", [LOG, PUSH, FETCH], GIT)
    assert [each.name for each in found.entries] == ["web__fetch"]
    assert [(group.name, len(group.entries)) for group in found.resources] == [("git", 2), ("none", 0)]
    pinned = GIT._replace(pinned=tool_globs("git__log"))
    assert listed("rooms", [LOG, PUSH, FETCH], pinned) == ["git__log", "web__fetch"]


@pytest.mark.parametrize("name", ["call_tool", "discover_tools", "git__log"])
def test_no_namespace_is_called_like_a_tool(name: str) -> None:
    visible = [LOG, entry("a__b")._replace(tool=server(name)._replace(name="mcp__a__b"))]
    found = [group.name for group in shown("namespace", visible).groups]
    assert len(found) == 2
    assert name not in found
    assert any(each.startswith(f"{name}_") for each in found)
    assert name in [group.name for group in shown("manifest", visible).scopes or ()]  # where it is no tool


def test_scopes_are_rooms_and_namespaces_each_name_once() -> None:
    found = shown("manifest", [LOG, PUSH, FETCH], GIT)
    assert found.scopes is not None
    assert [scope.name for scope in found.scopes] == ["git", "none", "web"]
    assert found.scopes[0].description == "Git work"


def test_declared_namespaces_are_scopes_even_without_tools_and_have_their_descriptions() -> None:
    plan = USUAL._replace(
        namespaces=(("code", tool_globs("mcp__git__*")), ("deploy", tool_globs("mcp__deploy__*"))),
        described={"code": "Code work", "later": ""},
    )
    found = shown("manifest", [LOG, FETCH], plan).scopes or ()
    assert [(scope.name, scope.description, len(scope.entries)) for scope in found] == [
        ("code", "Code work", 1),
        ("deploy", "Tools of `deploy`", 0),
        ("later", "Tools of `later`", 0),
        ("web", "Tools of `web`", 1),
    ]


def test_namespaces_whose_names_a_client_cannot_tell_apart_are_one_group() -> None:
    plan = USUAL._replace(
        namespaces=(("a.b", tool_globs("mcp__git__*")), ("a_b", tool_globs("mcp__web__*"))),
        described={"a.b": "Both"},
    )
    (group,) = shown("namespace", [LOG, FETCH], plan).groups
    assert (group.name, group.description, len(group.entries)) == ("a_b", "Both", 2)


def test_scopes_of_what_is_hidden_for_now_are_empty_and_replace_no_other() -> None:
    found = with_empty_scopes([ToolGroup("web", "x", [FETCH])], ["web", "git"])
    assert [(scope.name, len(scope.entries)) for scope in found] == [("git", 0), ("web", 1)]


def test_a_group_as_a_tool_names_what_is_in_it() -> None:
    many = ToolGroup("git", "Tools of `git`", [entry(f"git__{at:02}") for at in range(14)])
    item = group_item(many)
    assert item["name"] == "git"
    assert "git__00, git__01" in item["description"]
    assert "git__11 and 2 more." in item["description"]
    assert " more" not in group_item(ToolGroup("git", "x", [LOG]))["description"]


def test_a_room_as_a_resource_says_how_many_tools_it_has() -> None:
    resource = room_resource(ToolGroup("git", "Git work", [LOG]))
    assert (resource["uri"], resource["description"]) == ("room://git", "Git work (1 tools)")


def test_a_group_is_told_in_a_line_each() -> None:
    group = ToolGroup("git", "Git work", [LOG, entry("git__x")._replace(item={"name": "git__x"})])
    assert in_words(group).splitlines() == [
        "Git work. Call them with `call_tool`.",
        "- git__log: does git__log",
        "- git__x: ",
    ]
    assert definitions_of([LOG]) == [LOG.item]


def test_every_own_tool_is_defined_and_small() -> None:
    assert set(DEFINITIONS) == set(OwnTool)
    for own, item in DEFINITIONS.items():
        assert item["name"] == own
        assert item["inputSchema"]["type"] == "object"
        assert set(item["inputSchema"]["required"]) <= set(item["inputSchema"]["properties"])


def test_what_memory_adds_by_being_used_pushes_nothing_out_that_fits_without_it() -> None:
    def remembering(name: str, *, uses: tuple[int, int] = NEVER) -> VisibleTool:
        found = entry(f"remit-memory__{name}", uses=uses)
        return found._replace(tool=found.tool._replace(source=REMIT, is_held_back=True))

    visible = [
        LOG,
        PUSH,
        remembering("retrieve", uses=(1, 1)),
        remembering("save", uses=(2, 1)),
        remembering("surface"),
    ]
    assert listed("auto", visible, ServingPlan(token_budget=199)) == ["remit-memory__save"]
    found = shown("auto", visible, ServingPlan(token_budget=200))
    assert (len(found.entries), OwnTool.DISCOVER in found.own) == (4, True)


@pytest.mark.parametrize("definition", [*DEFINITIONS.values(), *tool_definitions().values()])
def test_every_parameter_has_a_type_and_a_description(definition: dict[str, Any]) -> None:
    def check(schema: dict[str, Any]) -> None:
        for name, about in schema.get("properties", {}).items():
            assert about.get("type"), (definition["name"], name)
            assert about.get("description"), (definition["name"], name)
            check(about)
            check(about.get("items", {}))

    check(definition["inputSchema"])


def test_for_a_client_that_searches_by_itself_auto_lists_only_used_wanted_and_pinned_tools() -> None:
    used, wanted = entry("a__used", uses=(1, 1)), entry("a__wanted", is_wanted=True)
    plan = ServingPlan(lists_unused=False, pinned=tool_globs("git__push"))
    found = shown("auto", [used, wanted, LOG, PUSH], plan)
    assert [each.name for each in found.entries] == ["a__used", "a__wanted", "git__push"]
    assert found.can_discover
    assert listed("auto", [LOG], ServingPlan(token_budget=0, lists_unused=False)) == []


def test_remits_extra_tools_are_listed_where_call_tool_does_not_reach_them() -> None:
    plan = ServingPlan(token_budget=100, lists_extras=False)
    found = shown("auto", [LOG, PUSH], plan)
    assert found.own == (OwnTool.DISCOVER, OwnTool.CALL)
    assert "`why_tool`" in found.hint
    whole = shown("auto", [LOG], plan)
    assert whole.own == (OwnTool.WHY, OwnTool.REPORT, OwnTool.READ)
    assert present([LOG, PUSH], plan, whole).own == tuple(OwnTool)  # what was listed stays listed
    silent = plan._replace(own_tools=("discover_tools", "call_tool"))
    assert "`why_tool`" not in shown("auto", [LOG, PUSH], silent).hint


@given(
    st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 3), st.booleans(), st.booleans()), max_size=12),
    st.integers(0, 6_000),
    st.integers(0, 6_000),
)
def test_a_larger_budget_never_drops_a_tool(
    given_tools: list[tuple[int, int, bool, bool]], budget: int, more: int
) -> None:
    visible: list[VisibleTool] = []
    for at, (tokens, uses, wanted, held_back) in enumerate(given_tools):
        found = entry(f"s{at % 3}__{at:02}", tokens=tokens, uses=(uses, 0), is_wanted=wanted)
        visible.append(found._replace(tool=found.tool._replace(is_held_back=held_back)))
    plan = ServingPlan(token_budget=budget, pinned=tool_globs("s1__01"))
    larger = plan._replace(token_budget=budget + more)
    assert {*listed("auto", visible, plan)} <= {*listed("auto", visible, larger)}


def test_one_large_definition_does_not_keep_the_other_used_tools_out() -> None:
    large, small = entry("a__large", tokens=5_000, uses=(9, 1)), entry("a__small", uses=(1, 1))
    assert listed("auto", [large, small, LOG], ServingPlan(token_budget=4_000)) == ["a__small"]
