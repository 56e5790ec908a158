from dataclasses import replace

from remit.catalog.summary import Summary, summarize
from remit.decision.context import Context
from remit.decision.decide import Decision, ToolDecision, Verdict, decide
from remit.decision.gates import Gate
from remit.decision.kinds import ConfigStatus, Kind, ToolStatus
from remit.decision.scopes import Scope
from remit.decision.tool_names import REMIT
from remit.decision.tools import Tool, Winner
from support.builders import context, server

LOCAL = Winner(scope=Scope.LOCAL, source="/home/ada/.claude.json")


def summary(*tools: Tool, at: Context | None = None) -> Summary:
    at = at or context()
    return summarize([ToolDecision(tool, decide(tool, at)) for tool in tools], at)


def hidden(found: Summary) -> dict[str, list[str]]:
    return {group.cause: [item.tool.name for item in group.items] for group in found.hidden}


def skill(name: str, tokens: int) -> Tool:
    return server()._replace(name=name, kind=Kind.SKILL, server=None, tokens=tokens)


def test_what_is_visible_is_counted_by_kind_in_the_order_of_kinds() -> None:
    found = summary(skill("review", 8), server("git"), server("off", config_status=ConfigStatus.DISABLED))
    assert list(found.visible.items()) == [(Kind.MCP_SERVER, 1), (Kind.SKILL, 1)]
    assert (found.hidden_count, found.costs.visible) == (1, 8)


def test_each_scope_has_its_sources_counts_and_cost_in_the_order_of_scopes() -> None:
    elsewhere = server("docs")._replace(source="/etc/other.json")
    found = summary(elsewhere, server("git"), skill("review", 8), server("till", scope=Scope.PROJECT))
    assert [(item.scope, item.sources, item.visible) for item in found.origins] == [
        (Scope.PROJECT, ["/home/ada/.claude.json"], {Kind.MCP_SERVER: 1}),
        (Scope.GLOBAL, ["/home/ada/.claude.json", "/etc/other.json"], {Kind.MCP_SERVER: 2, Kind.SKILL: 1}),
    ]
    assert [item.costs.visible for item in found.origins] == [0, 8]


def test_what_remit_brings_along_is_the_last_source() -> None:
    own = [server(f"own-{number}")._replace(source=REMIT) for number in range(3)]
    (found,) = summary(*own, server("git")).origins
    assert found.sources == ["/home/ada/.claude.json", REMIT]


def test_what_is_hidden_is_grouped_by_its_cause() -> None:
    found = summary(
        server("old", status=ToolStatus.STALE, config_status=None),
        server("asked", config_status=ConfigStatus.PENDING),
        server("off", config_status=ConfigStatus.DISABLED),
        server("no", config_status=ConfigStatus.REJECTED),
        server("banned", config_status=ConfigStatus.DENIED),
        server("remit", config_status=ConfigStatus.ITSELF),
        server("git", shadowed_by=LOCAL),
        server("wiki"),
    )
    assert hidden(found) == {
        "shadowed": ["mcp__git__*"],
        "pending": ["mcp__asked__*"],
        "disabled": ["mcp__off__*"],
        "rejected": ["mcp__no__*"],
        "denied": ["mcp__banned__*"],
        "itself": ["mcp__remit__*"],
        "stale": ["mcp__old__*"],
    }
    assert [item.hidden for item in found.origins] == [5]  # neither Remit itself nor what is gone
    assert (found.hidden_count, found.available_count) == (5, 0)


def test_what_remit_may_not_start_is_a_group_of_its_own() -> None:
    till = server("till", scope=Scope.PROJECT, is_trusted=False)
    found = summary(till, at=replace(context(), starts_servers=True))
    assert hidden(found) == {"untrusted": ["mcp__till__*"]}


def test_a_gate_that_has_no_word_of_its_own_is_the_cause() -> None:
    scoped = Decision(verdict=Verdict.HIDDEN, gate=Gate.SCOPE, reason="unknown", unlock=None)
    assert hidden(summarize([ToolDecision(server("git"), scoped)], context())) == {"scope": ["mcp__git__*"]}


def test_a_hidden_servers_tools_are_told_by_their_server_alone() -> None:
    off = server("git", config_status=ConfigStatus.DISABLED)
    its = off._replace(name="mcp__git__log", kind=Kind.MCP_TOOL)
    stray = its._replace(name="mcp__db__query", server="db")
    found = summary(off, its, stray)
    assert hidden(found) == {"disabled": ["mcp__git__*", "mcp__db__query"]}
    assert found.hidden_count == 3


def test_what_other_clients_have_is_hidden_and_nothing_else() -> None:
    other = server("git", client="cursor", config_status=ConfigStatus.DISABLED)
    found = summary(server("wiki"), other)
    assert hidden(found) == {"elsewhere": ["mcp__git__*"]}
    assert [item.client for item in found.origins] == ["claude-code"]


def test_an_inventory_of_all_clients_keeps_them_apart() -> None:
    tools = [server("git", client=client)._replace(endpoint="e") for client in ("cursor", "claude-code")]
    found = summary(*tools, at=context(client=None))
    assert [item.client for item in found.origins] == ["claude-code", "cursor"]
    assert found.duplicates == []


def test_visible_servers_with_one_endpoint_are_duplicates() -> None:
    one, two, off, other = (
        server(label, config_status=status)._replace(endpoint=endpoint)
        for label, status, endpoint in (
            ("web", ConfigStatus.ENABLED, "e"),
            ("fetch", ConfigStatus.ENABLED, "e"),
            ("off", ConfigStatus.DISABLED, "e"),
            ("other", ConfigStatus.ENABLED, "f"),
        )
    )
    found = summary(one, two, off, other, server("unknown"))
    assert [[tool.server for tool in group] for group in found.duplicates] == [["fetch", "web"]]


def test_the_costliest_servers_come_first_and_those_of_unknown_cost_not_at_all() -> None:
    labels = (("a", 5), ("b", 90), ("c", None), ("d", 5))
    its = [
        server(label)._replace(name=f"mcp__{label}__do", kind=Kind.MCP_TOOL, tokens=cost)
        for label, cost in labels
    ]
    tools = [*(server(label) for label, _ in labels), *its]
    assert [tool.server for tool in summary(*tools).costliest] == ["b", "a", "d"]
