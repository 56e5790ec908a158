"""What each server costs, and how much of it is for tools that were used here."""

from remit.catalog.listed_groups import group_tools
from remit.decision.decide import Decision, ToolDecision, Verdict
from remit.decision.gates import Gate
from remit.decision.kinds import Authority, Kind
from remit.decision.scopes import Scope
from remit.decision.tools import Tool
from remit.usage.reports import ToolUse, UsageReport, server_costs
from support.builders import CLIENT, server

VISIBLE = Decision(verdict=Verdict.VISIBLE, gate=None, reason="", unlock=None)
HIDDEN = Decision(verdict=Verdict.HIDDEN, gate=Gate.POLICY, reason="", unlock=None)


def tool(name: str, tokens: int | None, *, is_held_back: bool = False) -> Tool:
    return Tool(
        f"mcp__git__{name}",
        Kind.MCP_TOOL,
        CLIENT,
        Scope.GLOBAL,
        "",
        Authority.CONFIG,
        server="git",
        tokens=tokens,
        is_held_back=is_held_back,
    )


def test_a_server_costs_what_its_visible_tools_cost_used_and_unused() -> None:
    status, push, secret, held = (
        tool("status", 100),
        tool("push", 40),
        tool("secret", 900),
        tool("held", 70, is_held_back=True),
    )
    listed = [
        ToolDecision(server("git"), VISIBLE),
        ToolDecision(push, VISIBLE),
        ToolDecision(status, VISIBLE),
        ToolDecision(secret, HIDDEN),
        ToolDecision(held, VISIBLE),
        ToolDecision(tool("unknown", None), VISIBLE),
    ]
    report = UsageReport(used=[ToolUse(push, uses=3)], unused=[], sessions=[], unused_tokens=0)
    (cost,) = server_costs(group_tools(listed).servers, report)
    assert (cost.group.label, cost.used, cost.unused, cost.total) == ("git", 40, 100, 140)
    assert [(each.tool.name, each.is_used) for each in cost.tools] == [
        ("mcp__git__status", False),
        ("mcp__git__push", True),
    ]


def test_a_server_that_costs_nothing_is_left_out() -> None:
    listed = [ToolDecision(server("git"), VISIBLE)]
    report = UsageReport(used=[], unused=[], sessions=[], unused_tokens=0)
    assert server_costs(group_tools(listed).servers, report) == []
