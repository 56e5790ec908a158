"""Which of the visible tools each strategy lists, and what stands beside them."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.catalog import ListedTool, Presentation, ServingPlan, ToolGroup, make_plan
from remit.catalog.strategies import STRATEGIES, present_tools
from remit.config import STRATEGIES as NAMES
from remit.config import Room, ToolPattern
from remit.decision import GATEWAY_TOOLS, Origin, Rules, tool_globs
from remit.errors import NotFoundError
from support.builders import rule, tool
from support.catalogs import World

FEW = ServingPlan(token_budget=1_000)
SEARCH = ["discover_tools", "call_tool"]
REST = ["why_tool", "read_result"]


def entry(name: str, tokens: int = 100, uses: int = 0, *, is_wanted: bool = False, **item: Any) -> ListedTool:
    made = tool(f"mcp__{name}", tokens=tokens)
    return ListedTool(made, {"name": name, "description": f"does {name}", **item}, (uses, 0), is_wanted)


def pattern(text: str) -> ToolPattern:
    return ToolPattern(text, tool_globs(text), Origin("/remit.toml"))


def shown(
    visible: Iterable[ListedTool], plan: ServingPlan = FEW, before: Presentation | None = None, **options: Any
) -> Presentation:
    return present_tools(list(visible), plan, before, **options)


def names(presentation: Presentation | ToolGroup) -> list[str]:
    return [item.name for item in presentation.entries]


MANY = [entry(f"s{at % 10}__tool_{at:03}") for at in range(200)]


def test_there_is_a_strategy_for_each_name() -> None:
    assert set(STRATEGIES) == set(NAMES)


def test_everything_that_fits_the_budget_is_listed_and_needs_no_search() -> None:
    presentation = shown([entry("git__log"), entry("wiki__read")])
    assert (names(presentation), list(presentation.own)) == (["git__log", "wiki__read"], REST)
    assert presentation.hints == ""


def test_skills_and_commands_are_found_even_where_all_tools_are_listed() -> None:
    assert list(shown([entry("git__log")], has_others=True).own) == ["discover_tools", *REST]


def test_of_too_many_tools_pinned_wanted_and_used_ones_are_listed_as_far_as_they_fit_a_tenth() -> None:
    plan = ServingPlan(token_budget=6_000, pinned=(pattern("mcp__s1__tool_001"),))
    visible = [
        *MANY,
        entry("t__used", uses=3),
        entry("t__most", uses=9),
        entry("t__wanted", is_wanted=True),
        entry("t__used_and_huge", 5_000, uses=7),
    ]
    presentation = shown(visible, plan)
    assert names(presentation) == ["s1__tool_001", "t__used", "t__most", "t__wanted"]
    assert list(presentation.own) == SEARCH
    assert "- s0: 20 tools\n- s1: 19 tools\n" in presentation.hints
    tools = sum(item.tokens for item in presentation.entries)
    assert tools + len(presentation.hints) // 5 <= 600


def test_ten_servers_with_444_tools_stay_below_900_tokens() -> None:
    servers = (
        *("github", "playwright", "filesystem", "postgres", "slack"),
        *("sentry", "linear", "notion", "puppeteer", "kubernetes"),
    )
    visible = [
        entry(f"{servers[at % 10]}__tool_{at:03}", 150, uses=at % 3, is_wanted=not at % 7)
        for at in range(444)
    ]
    presentation = shown(visible, ServingPlan())
    assert presentation.entries
    assert presentation.tokens < 900


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 3), st.booleans()), max_size=12),
    st.integers(0, 900),
)
def test_what_is_listed_stays_in_the_budget_and_in_order(
    given_tools: list[tuple[int, int, bool]], budget: int
) -> None:
    visible = [
        entry(f"s__{at:02}", tokens, uses, is_wanted=wanted)
        for at, (tokens, uses, wanted) in enumerate(given_tools)
    ]
    presentation = shown(visible, ServingPlan(token_budget=budget))
    assert sum(item.tokens for item in presentation.entries) <= budget
    assert presentation.entries == [item for item in visible if item in presentation.entries]
    assert len(presentation.entries) + len(presentation.deferred) == len(visible)


def test_what_a_client_was_sent_stays_listed_while_it_is_visible() -> None:
    before = shown([entry("git__log"), entry("git__push")])
    after = shown([*MANY, entry("git__log")], before=before)
    assert names(after) == ["git__log"]
    assert list(after.own) == [*GATEWAY_TOOLS]


def test_tools_for_the_pages_of_apps_are_listed_and_never_found() -> None:
    page = entry("app__refresh", _meta={"ui": {"visibility": ["app"]}})
    presentation = shown([*MANY, page])
    assert names(presentation) == ["app__refresh"]
    assert page not in presentation.deferred


@pytest.mark.parametrize("strategy", ["flat", "state", "manifest"])
def test_these_list_all_that_is_visible(strategy: str) -> None:
    assert len(shown(MANY, ServingPlan(strategy=strategy)).entries) == 200


def test_search_lists_only_what_is_pinned() -> None:
    plan = ServingPlan(strategy="search", pinned=(pattern("mcp__s1__tool_001"),))
    assert names(shown(MANY, plan)) == ["s1__tool_001"]


NAMED = Rules([rule("mcp__git__*", namespace="version control"), rule("mcp__git__log*", namespace="history")])
GROUPS = [entry("git__log"), entry("git__push"), entry("web__fetch")]


def test_namespaces_are_listed_as_one_tool_each_by_the_most_specific_rule_else_by_server() -> None:
    plan = ServingPlan(strategy="namespace", rules=NAMED, described={"history": "What happened"})
    presentation = shown(GROUPS, plan)
    assert [(group.name, names(group)) for group in presentation.groups] == [
        ("history", ["git__log"]),
        ("version_control", ["git__push"]),
        ("web", ["web__fetch"]),
    ]
    assert presentation.groups[0].item["description"].startswith("What happened: git__log. Call this")
    assert (names(presentation), list(presentation.own)) == ([], SEARCH)


def test_rooms_are_resources_and_tools_outside_of_them_are_listed() -> None:
    git = Room("git", "Git work", (pattern("mcp__git__*"),))
    plan = ServingPlan(strategy="rooms", rooms=(git, Room("none", "", ())))
    presentation = shown(GROUPS, plan)
    assert [(room.name, room.description, names(room)) for room in presentation.rooms] == [
        ("git", "Git work", ["git__log", "git__push"]),
        ("none", "Tools of the room `none`", []),
    ]
    assert names(presentation) == ["web__fetch"]


def test_a_manifest_has_scopes_that_do_not_go_when_a_state_hides_their_tools() -> None:
    plan = ServingPlan(strategy="manifest", rules=NAMED, described={"planned": "To come"})
    scopes = shown(GROUPS, plan, later=["hidden"]).scopes
    assert scopes is not None
    assert [scope.name for scope in scopes] == ["hidden", "history", "planned", "version_control", "web"]
    assert [scope.description for scope in scopes if scope.name == "planned"] == ["To come"]


def test_a_plan_follows_the_configuration_and_the_endpoint(tmp_path: Any) -> None:
    world = World(tmp_path)
    world.mine('strategy = "rooms"\nblock = ["mcp__remit__why_tool"]\nresult_budget = 0\n')
    world.shared('[rooms.git]\ndescription = "Git work"\ntools = ["mcp__git__*"]\n')
    configuration = world.now_says()
    plan = make_plan(configuration)
    assert (plan.strategy, list(plan.own)) == ("rooms", SEARCH)
    assert make_plan(configuration, room="git").strategy == "state"
    assert make_plan(configuration, strategy="flat").strategy == "flat"
    with pytest.raises(NotFoundError, match="no room is called `gti` here") as error:
        make_plan(configuration, room="gti")
    assert error.value.hint == "did you mean `git`?"
