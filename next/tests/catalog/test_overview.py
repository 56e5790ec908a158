"""Groups and counts of a listing."""

from remit.catalog import SortKey, group_tools, summarize
from remit.catalog.costs import ServerCost
from remit.decision import REMIT, Authority, Kind, Rules, Scope, Status, Tool, ToolDecision, Winner, decide
from support.builders import context, listed, server, tool

RULES = Rules(lists=[listed("mcp__git__push")])


def items(*tools: Tool) -> list[ToolDecision]:
    here = context(rules=RULES)
    return [ToolDecision(item, decide(item, here)) for item in tools]


GIT = server("git", listed_at=1)
LOG, PUSH = tool("mcp__git__log", uses=1, tokens=10), tool("mcp__git__push", tokens=99)
WIKI, READ = server("wiki", listed_at=1), tool("mcp__wiki__read", uses=5, tokens=20)


def test_tools_are_grouped_by_server_and_the_rest_by_kind() -> None:
    skill = tool("/tidy", kind=Kind.SKILL)
    groups = group_tools(items(GIT, LOG, PUSH, WIKI, READ, server("silent"), skill))
    assert [(group.label, group.visible, group.hidden, group.is_known) for group in groups.servers] == [
        ("git", 1, 1, True),
        ("silent", 0, 0, False),
        ("wiki", 1, 0, True),
    ]
    assert [(group.label, group.first.name) for group in groups.kinds] == [("skill", "/tidy")]


def test_groups_are_sorted_by_what_is_asked() -> None:
    rows = items(GIT, LOG, WIKI, READ)
    costs = [ServerCost("git", "claude-code", GIT.key, 10), ServerCost("wiki", "claude-code", WIKI.key, 20)]
    assert [group.label for group in group_tools(rows, SortKey.NAME).servers] == ["git", "wiki"]
    assert [group.label for group in group_tools(rows, SortKey.USES).servers] == ["wiki", "git"]
    by_cost = group_tools(rows, SortKey.TOKENS, costs).servers
    assert [(group.label, group.cost and group.cost.alone) for group in by_cost] == [
        ("wiki", 20),
        ("git", 10),
    ]


def test_a_tool_whose_server_no_file_declares_has_a_group_of_its_own() -> None:
    seen = tool("mcp__lost__x", scope=Scope.PROJECT, authority=Authority.HOOK, status=Status.SEEN)
    (group,) = group_tools(items(seen)).servers
    assert (group.label, group.server, group.is_known) == ("lost", None, True)


def test_a_summary_counts_what_is_visible_and_gathers_the_hidden_by_cause() -> None:
    shadowed = server("git", scope=Scope.LOCAL, shadowed_by=Winner(Scope.GLOBAL, "f"))
    off = server("off", status=Status.DISABLED)
    summary = summarize(
        items(
            GIT,
            LOG,
            PUSH,
            server("silent"),
            shadowed,
            off,
            tool("mcp__off__x", status=Status.DISABLED),
            server("theirs", client="cursor"),
            server("untrusted", is_trusted=False),
            server("gone", status=Status.STALE),
            server("remit", status=Status.ITSELF),
        ),
        context(),
    )
    assert summary.visible == {Kind.MCP_SERVER: 3, Kind.MCP_TOOL: 1}
    assert summary.available_count == 1
    assert {group.cause: [item.tool.name for item in group.items] for group in summary.hidden} == {
        "shadowed": ["mcp__git__*"],
        "disabled": ["mcp__off__*"],  # and none of its tools besides
        "itself": ["mcp__remit__*"],
        "stale": ["mcp__gone__*"],
        "policy": ["mcp__git__push"],
        "elsewhere": ["mcp__theirs__*"],
    }
    assert summary.hidden_count == 4  # neither what is gone nor the gateway itself, nor another client's
    assert [tool.server for tool in summary.unlisted] == ["silent", "untrusted"]


def test_what_remit_brings_comes_last_among_the_sources() -> None:
    (scope,) = summarize(items(server("a", source=REMIT), server("b", source=REMIT), GIT), context()).scopes
    assert scope.sources == [GIT.source, REMIT]
