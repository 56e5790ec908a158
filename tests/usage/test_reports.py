"""What was used, what never was, and what could be switched off."""

from remit.decision.decide import Decision, ToolDecision, Verdict
from remit.decision.gates import Gate
from remit.decision.kinds import Authority, Kind, ToolStatus
from remit.decision.scopes import Scope
from remit.decision.tool_names import REMIT
from remit.decision.tools import Tool
from remit.usage.familiarity import place_of
from remit.usage.reports import (
    DAY,
    ENOUGH_SESSIONS,
    PATIENCE,
    SessionUse,
    Total,
    UsageReport,
    proposals,
    usage,
)
from support.builders import CLIENT, server

VISIBLE = Decision(verdict=Verdict.VISIBLE, gate=None, reason="", unlock=None)
HIDDEN = Decision(verdict=Verdict.HIDDEN, gate=Gate.POLICY, reason="", unlock=None)
NOW = 1000 * DAY


def tool(name: str, kind: Kind = Kind.MCP_TOOL, *, of: str | None = None, tokens: int | None = None) -> Tool:
    return Tool(
        name,
        kind,
        CLIENT,
        Scope.GLOBAL,
        "",
        Authority.CONFIG,
        server=of,
        tokens=tokens,
        discovered_at=NOW - DAY,
    )


def listed(*tools: Tool) -> list[ToolDecision]:
    return [ToolDecision(each, VISIBLE) for each in tools]


def total(used: Tool, uses: int, failures: int = 0) -> Total:
    return Total(place_of(used), uses, failures, NOW)


def session(at: int) -> SessionUse:
    return SessionUse(f"s{at}", at, None, 0, 0, 0)


GIT = server("git")._replace(tokens=30, discovered_at=NOW - DAY)
COMMIT, PUSH = tool("mcp__git__commit", of="git", tokens=10), tool("mcp__git__push", of="git", tokens=20)


def names(found: UsageReport) -> tuple[list[str], list[str]]:
    return [each.tool.name for each in found.used], [each.tool.name for each in found.unused]


def test_what_was_used_most_comes_first_and_what_costs_most_of_the_rest() -> None:
    rare, skill = tool("rare", Kind.SKILL, tokens=5), tool("idle", Kind.SKILL, tokens=90)
    found = usage(listed(GIT, COMMIT, PUSH, rare, skill), [total(rare, 1), total(COMMIT, 5, 2)], [])
    assert names(found) == (["mcp__git__commit", "rare"], ["idle", "mcp__git__push"])
    assert found.used[0][1:3] == (5, 2)
    assert found.unused_tokens == 110


def test_a_server_of_which_nothing_was_used_stands_for_its_tools() -> None:
    found = usage(listed(GIT, COMMIT, PUSH), [], [])
    assert names(found) == ([], ["mcp__git__*"])
    assert found.unused_tokens == 30


def test_what_is_hidden_costs_nothing_and_what_the_client_has_of_itself_is_not_counted() -> None:
    hidden = ToolDecision(tool("off", Kind.SKILL, tokens=7), HIDDEN)
    own = ToolDecision(tool("Read", Kind.BUILTIN), VISIBLE)
    plugin = ToolDecision(tool("quill", Kind.PLUGIN), VISIBLE)
    assert usage([hidden, own, plugin], [], []) == UsageReport([], [], [], 0)


def test_what_remit_brings_along_and_holds_back_until_it_is_used_is_no_loss() -> None:
    memory = server("remit-memory")._replace(
        source=REMIT, is_held_back=True, tokens=0, discovered_at=NOW - 99 * DAY
    )
    save = tool("mcp__remit-memory__save", of="remit-memory", tokens=300)
    save = save._replace(source=REMIT, is_held_back=True, discovered_at=NOW - 99 * DAY)
    found = usage(listed(GIT, COMMIT, memory, save), [], [])
    assert names(found) == ([], ["mcp__git__*"])
    assert found.unused_tokens == 10
    assert proposals(found, now=NOW) == []


def test_what_was_hidden_after_it_was_used_is_still_among_what_was_used() -> None:
    off = tool("off", Kind.SKILL)
    assert names(usage([ToolDecision(off, HIDDEN)], [total(off, 1)], []))[0] == ["off"]


def test_what_lay_unused_for_long_is_proposed_and_its_server_as_a_whole() -> None:
    old = GIT._replace(discovered_at=NOW - PATIENCE * DAY)
    found = usage(listed(old, COMMIT, PUSH), [], [])
    (proposal,) = proposals(found, now=NOW)
    assert proposal == ("mcp__git__*", f"never used here, in {PATIENCE} days", 30)


def test_what_many_sessions_went_by_without_is_proposed_too() -> None:
    many = [session(NOW - at) for at in range(ENOUGH_SESSIONS)]
    idle = tool("idle", Kind.SKILL, tokens=3)
    (proposal,) = proposals(usage(listed(idle), [], many), now=NOW)
    assert proposal.reason == f"never used here, in 1 day and {ENOUGH_SESSIONS} sessions"
    (proposal,) = proposals(usage(listed(idle._replace(discovered_at=NOW - 9)), [], many), now=NOW)
    assert proposal.reason == f"never used here, in {ENOUGH_SESSIONS} sessions"
    assert proposals(usage(listed(idle), [], many[1:]), now=NOW) == []
    before = [session(NOW - 2 * DAY) for _ in range(9)]
    assert proposals(usage(listed(idle), [], before), now=NOW) == []


def test_what_only_fails_is_proposed_but_never_what_the_client_has_of_itself() -> None:
    broken = COMMIT._replace(status=ToolStatus.DEMOTED, outcomes="+---")
    own = tool("Bash", Kind.BUILTIN)._replace(status=ToolStatus.DEMOTED, outcomes="---")
    found = usage(listed(GIT, broken, own), [total(broken, 4, 3), total(own, 3, 3)], [])
    assert proposals(found, now=NOW) == [("mcp__git__commit", "3 of its last 4 calls here failed", 10)]


def test_what_there_is_most_to_gain_by_comes_first() -> None:
    old = [
        tool(name, Kind.SKILL, tokens=tokens)._replace(discovered_at=0)
        for name, tokens in (("small", 1), ("big", 9), ("unknown", None))
    ]
    found = proposals(usage(listed(*old), [], []), now=NOW)
    assert [each.name for each in found] == ["big", "small", "unknown"]


def test_a_tool_is_not_unused_if_any_tool_of_its_name_was_used() -> None:
    """A use whose declaration nobody told may have been of either: `usage` and `prune` agree."""
    seen = COMMIT._replace(authority=Authority.HOOK, scope=Scope.PROJECT, server="git")
    found = usage(listed(COMMIT, PUSH, seen), [total(seen, 3)], [])
    assert names(found) == (["mcp__git__commit"], ["mcp__git__push"])
    placed = seen._replace(is_placed=True)
    assert names(usage(listed(COMMIT, placed), [total(placed, 3)], []))[1] == ["mcp__git__commit"]
