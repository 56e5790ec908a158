"""Groups of a listing: servers with their tools, and everything else by kind."""

from remit.catalog.listed_groups import ListedGroup, SortKey, group_tools, sorted_tools
from remit.decision.decide import ToolDecision, decide
from remit.decision.kinds import Authority, Kind
from remit.decision.scopes import Scope
from remit.decision.tools import Tool
from support.builders import context, server


def decided(*tools: Tool) -> list[ToolDecision]:
    return [ToolDecision(each, decide(each, context())) for each in tools]


def of(label: str, name: str, *, tokens: int | None = None, uses: int = 0) -> Tool:
    return server(label)._replace(
        name=f"mcp__{label}__{name}", kind=Kind.MCP_TOOL, tokens=tokens, usage_count=uses
    )


def listing(label: str) -> Tool:
    """A server that has listed its tools."""
    return server(label)._replace(listed_at=1)


def labels(groups: list[ListedGroup]) -> list[str]:
    return [group.label for group in groups]


def test_tools_are_below_their_server_with_what_they_cost_and_how_often_they_were_used() -> None:
    listed = decided(
        listing("git"),
        of("git", "log", tokens=30, uses=2),
        of("git", "push", tokens=50, uses=1),
        of("git", "held", tokens=90)._replace(is_held_back=True),
    )
    ((git,), kinds) = group_tools(listed)
    assert (git.label, git.visible, git.hidden, git.asking) == ("git", 3, 0, 0)
    assert (git.tokens, git.uses, git.is_known, git.is_available) == (80, 3, True, True)
    assert [item.tool.name for item in git.tools] == ["mcp__git__held", "mcp__git__push", "mcp__git__log"]
    assert git.first.kind is Kind.MCP_SERVER
    assert kinds == []


def test_a_server_that_listed_nothing_yet_costs_nobody_knows_what() -> None:
    ((new,), _) = group_tools(decided(server("new")))
    assert (new.is_known, new.tokens, new.visible, new.hidden) == (False, None, 0, 0)
    ((empty,), _) = group_tools(decided(listing("empty")))
    assert (empty.is_known, empty.tokens) == (True, 0)


def test_a_hidden_server_counts_as_hidden_even_without_tools() -> None:
    ((other,), _) = group_tools(decided(server("git", client="cursor")))
    assert (other.is_available, other.hidden) == (False, 1)


def test_tools_whose_server_is_not_declared_stay_together() -> None:
    seen = [of("web", name)._replace(authority=Authority.HOOK) for name in ("get", "put")]
    nameless = of("x", "y")._replace(name="mcp__x", server=None)
    (groups, _) = group_tools(decided(*seen, nameless), SortKey.NAME)
    assert labels([*groups]) == ["mcp__x", "web"]
    assert groups[1].server is None
    assert groups[1].tokens is None
    assert groups[1].first.name == "mcp__web__get"


def test_groups_are_sorted_by_cost_use_or_name() -> None:
    listed = decided(
        listing("a"),
        listing("b"),
        of("a", "x", tokens=1, uses=9),
        of("b", "x", tokens=5, uses=1),
    )
    assert labels([*group_tools(listed).servers]) == ["b", "a"]
    assert labels([*group_tools(listed, SortKey.USES).servers]) == ["a", "b"]
    assert labels([*group_tools(listed, SortKey.NAME).servers]) == ["a", "b"]
    tools = [item for item in listed if item.tool.kind is Kind.MCP_TOOL]
    assert [item.tool.server for item in sorted_tools(tools, SortKey.USES)] == ["a", "b"]


def test_everything_else_is_grouped_by_kind_in_a_fixed_order() -> None:
    kinds = [Kind.BUILTIN, Kind.SKILL, Kind.SLASH_COMMAND, Kind.SKILL]
    others = [
        Tool(f"t{at}", kind, "claude-code", Scope.GLOBAL, "f", Authority.CONFIG)
        for at, kind in enumerate(kinds)
    ]
    (_, groups) = group_tools(decided(*others))
    assert labels([*groups]) == ["slash_command", "skill", "builtin"]
    assert [len(group.tools) for group in groups] == [1, 2, 1]
