from remit.catalog.costs import Costs, add_up, charge, charged_servers
from remit.decision.decide import ToolDecision, decide
from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.scopes import Scope
from remit.decision.tool_names import REMIT, server_name
from remit.decision.tools import Tool, Winner
from support.builders import context, server


def tool(of: Tool, name: str, tokens: int | None) -> Tool:
    """A tool that is stored under a server."""
    return of._replace(name=f"{of.name[:-1]}{name}", kind=Kind.MCP_TOOL, tokens=tokens)


def listed(*tools: Tool) -> list[ToolDecision]:
    return [ToolDecision(item, decide(item, context())) for item in tools]


def costs(*tools: Tool) -> dict[tuple[str, str], int | None]:
    return {(item.name, item.scope): item.tokens for item in charge(tools) if item.kind is Kind.MCP_SERVER}


def test_a_server_costs_what_its_known_tools_cost_together() -> None:
    git, wiki = server("git"), server("wiki")
    known = [tool(git, "commit", 40), tool(git, "log", 2), tool(git, "blame", None)]
    assert costs(git, wiki, *known) == {("mcp__git__*", "global"): 42, ("mcp__wiki__*", "global"): None}


def test_a_tool_that_its_server_no_longer_lists_is_not_part_of_its_cost() -> None:
    git = server("git")
    gone = tool(git, "blame", 100)._replace(status=ToolStatus.STALE)
    assert costs(git, tool(git, "commit", 40), gone) == {("mcp__git__*", "global"): 40}


def test_a_hidden_tool_is_not_part_of_the_cost_of_a_visible_server() -> None:
    git = server("git")
    commit, blame = tool(git, "commit", 40), tool(git, "blame", 100)
    hidden = decide(git._replace(config_status=ConfigStatus.DISABLED), context())
    items = [*listed(git, commit), ToolDecision(blame, hidden)]
    assert [(item.server, item.tokens) for item in charged_servers(items)] == [("git", 40)]


def test_of_two_servers_of_one_name_each_has_its_own_tools() -> None:
    mine, ours = (
        server("git", scope=Scope.LOCAL),
        server("git", shadowed_by=Winner(scope=Scope.LOCAL, source="f")),
    )
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
    reported = tool(server("git", scope=Scope.PROJECT), "commit", 40)._replace(
        authority=Authority.REPORT, source="report"
    )
    assert costs(git, reported) == {("mcp__git__*", "global"): 40}


def test_a_tool_of_no_known_server_is_nobodys_cost() -> None:
    assert costs(server("wiki"), tool(server("git"), "commit", 40)) == {("mcp__wiki__*", "global"): None}


def test_a_servers_cost_is_not_counted_beside_that_of_its_tools() -> None:
    git = server("git")
    assert add_up(listed(*charge([git, tool(git, "commit", 40)]))) == Costs(visible=40, all=40, counted=1)


def test_what_remit_brings_along_costs_nothing_until_it_is_used() -> None:
    own = server("remit-memory")._replace(source=REMIT, is_held_back=True)
    unused, used = tool(own, "save_session", 300), tool(own, "save_context", 200)._replace(usage_count=1)
    charged = charge([own, unused, used])
    assert charged[0].tokens == 200
    assert add_up(listed(*charged)) == Costs(visible=200, all=200)
    assert add_up(listed(*charge([own, unused]))) == Costs()  # and it is known that it costs nothing


def test_hidden_tools_cost_only_what_they_would() -> None:
    off = server("git", config_status=ConfigStatus.DISABLED)
    shown = tool(server("wiki"), "read", 5)
    assert add_up(listed(shown, tool(off, "commit", 40))) == Costs(visible=5, all=45)


def test_what_is_no_longer_configured_costs_nothing() -> None:
    gone = server("git", status=ToolStatus.STALE, config_status=None)
    assert add_up(listed(tool(gone, "commit", 40))) == Costs()


def test_a_visible_server_whose_tools_are_not_known_is_not_taken_to_be_free() -> None:
    hidden = server("off", config_status=ConfigStatus.DISABLED)
    assert add_up(listed(server("git"), hidden)) == Costs(uncounted=1)


def test_a_tool_whose_definition_is_not_known_adds_nothing() -> None:
    assert add_up(listed(tool(server("git"), "commit", None))) == Costs()


def test_a_sum_misleads_where_servers_are_known_by_name_only() -> None:
    skill = server("x")._replace(name="/x", kind=Kind.SKILL, server=None, tokens=60)
    own = server("remit-memory")._replace(source=REMIT, listed_at=1)
    assert add_up(listed(*charge([skill, own, server("git")]))).is_misleading
    known = server("wiki")._replace(listed_at=1)  # which has no tools
    assert not add_up(listed(*charge([skill, own, server("git"), known]))).is_misleading
    assert not add_up(listed(*charge([skill, own]))).is_misleading
