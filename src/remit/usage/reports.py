"""Usage reports: used and unused tools, proposals to switch tools off, and what each server costs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.catalog.costs import is_sent
from remit.catalog.listed_groups import ListedGroup
from remit.decision.decide import ToolDecision
from remit.decision.kinds import Authority, Kind, ToolStatus
from remit.decision.tools import Tool, demotion_reason
from remit.usage.familiarity import ToolPlace, owner_of, place_of

if TYPE_CHECKING:
    from remit.decision.declarations import Key

DAY = 86_400_000  # milliseconds
PATIENCE = 14  # days without a use before a tool is proposed
ENOUGH_SESSIONS = 5  # sessions without a use before a tool is proposed


class Total(NamedTuple):
    """All uses of one tool in one project."""

    place: ToolPlace
    uses: int
    failures: int
    last_used_at: int
    mean_ms: float | None = None  # of a call, if known


class SessionUse(NamedTuple):
    """The usage of one session."""

    session_id: str
    started_at: int
    ended_at: int | None
    calls: int
    failures: int
    tools: int  # distinct


class ProjectUse(NamedTuple):
    """The usage of one project, without the names of tools."""

    path: str
    hash: str
    uses: int
    failures: int
    last_used_at: int
    tools: int  # distinct
    sessions: int


class ToolUse(NamedTuple):
    """A tool, and its usage here."""

    tool: Tool
    uses: int = 0
    failures: int = 0
    last_used_at: int | None = None
    mean_ms: float | None = None


class UsageReport(NamedTuple):
    """The used and unused tools of a project."""

    used: Sequence[ToolUse]  # most used first
    unused: Sequence[ToolUse]  # visible ones, most expensive first; a server represents its tools
    sessions: Sequence[SessionUse]
    unused_tokens: int  # cost of the visible unused tools per request


class PruneProposal(NamedTuple):
    """A proposal to switch off a tool, and the reason."""

    name: str  # as written in a rule
    reason: str
    tokens: int | None  # saved in each request


def usage(
    listed: Iterable[ToolDecision], totals: Iterable[Total], sessions: Sequence[SessionUse]
) -> UsageReport:
    """Combine the known tools with their usage."""
    items = list(listed)
    by_place = {total.place: total for total in totals}
    uses = [_use(item.tool, by_place) for item in items if not _is_whole(item.tool)]
    unused = [
        _use(item.tool, by_place) for item in items if item.decision.is_available and _is_weighed(item.tool)
    ]
    used_servers = {owner_of(each.tool) for each in uses if each.uses and each.tool.kind is Kind.MCP_TOOL}
    # Uses that name no declaration: any tool of that name may have been called.
    unassigned = {_name_of(each.tool) for each in uses if each.uses and _is_reported(each.tool)}
    idle = [
        each
        for each in unused
        if not each.uses
        and _name_of(each.tool) not in unassigned
        and not (each.tool.kind is Kind.MCP_SERVER and owner_of(each.tool) in used_servers)
    ]
    return UsageReport(
        used=sorted((each for each in uses if each.uses), key=_most_used_first),
        unused=sorted(_heads(idle), key=_dearest_first),
        sessions=sessions,
        unused_tokens=sum(each.tool.tokens or 0 for each in idle if each.tool.kind is not Kind.MCP_SERVER),
    )


def proposals(found: UsageReport, *, now: int) -> list[PruneProposal]:
    """Propose to switch off tools that are unused for long or only fail, largest savings first."""
    sessions_after = sorted(each.started_at for each in found.sessions)
    proposed: list[PruneProposal] = []
    for each in found.unused:
        tool = each.tool
        missed = sum(at >= tool.discovered_at for at in sessions_after)
        days = (now - tool.discovered_at) // DAY
        if days >= PATIENCE or missed >= ENOUGH_SESSIONS:
            proposed.append(PruneProposal(tool.name, _unused_for(days, missed), tool.tokens))
    for each in found.used:
        if each.tool.status is ToolStatus.DEMOTED and each.tool.kind is not Kind.BUILTIN:
            proposed.append(
                PruneProposal(each.tool.name, demotion_reason(each.tool.outcomes), each.tool.tokens)
            )
    return sorted(proposed, key=lambda each: (-(each.tokens or 0), each.name))


def _heads(idle: Sequence[ToolUse]) -> list[ToolUse]:
    """Drop the tools of servers that are listed themselves."""
    whole = {owner_of(each.tool) for each in idle if each.tool.kind is Kind.MCP_SERVER}
    return [each for each in idle if each.tool.kind is not Kind.MCP_TOOL or owner_of(each.tool) not in whole]


def _unused_for(days: int, sessions: int) -> str:
    spans = (_counted(count, thing) for count, thing in ((days, "day"), (sessions, "session")) if count)
    return f"never used here, in {' and '.join(spans)}"


def _name_of(tool: Tool) -> tuple[str, str]:
    return tool.client, tool.name


def _is_reported(tool: Tool) -> bool:
    return tool.authority is not Authority.CONFIG and not tool.is_placed


def _is_whole(tool: Tool) -> bool:
    return tool.kind in (Kind.MCP_SERVER, Kind.PLUGIN)


def _is_weighed(tool: Tool) -> bool:
    """Tell whether switching a tool off saves anything.

    Built-ins belong to the client, a plugin only costs what it contains, and held-back tools cost nothing.
    """
    return tool.kind not in (Kind.BUILTIN, Kind.PLUGIN) and is_sent(tool)


def _use(tool: Tool, totals: Mapping[ToolPlace, Total]) -> ToolUse:
    total = totals.get(place_of(tool))
    if total is None:
        return ToolUse(tool)
    return ToolUse(tool, total.uses, total.failures, total.last_used_at, total.mean_ms)


def _most_used_first(each: ToolUse) -> tuple[int, str, str]:
    return -each.uses, each.tool.name, each.tool.scope


def _dearest_first(each: ToolUse) -> tuple[int, str, str]:
    return -(each.tool.tokens or 0), each.tool.name, each.tool.scope


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


class ToolCost(NamedTuple):
    """A visible tool and its cost in each request."""

    tool: Tool
    tokens: int
    is_used: bool  # in this project


class ServerCost(NamedTuple):
    """A visible server, or another group of tools, and its cost in each request."""

    group: ListedGroup
    tools: Sequence[ToolCost]  # most expensive first

    @property
    def used(self) -> int:
        """The tokens of its used tools."""
        return sum(each.tokens for each in self.tools if each.is_used)

    @property
    def unused(self) -> int:
        """The tokens of its tools that were never used here."""
        return sum(each.tokens for each in self.tools if not each.is_used)

    @property
    def total(self) -> int:
        """The tokens of all its tools."""
        return self.used + self.unused


def server_costs(groups: Iterable[ListedGroup], report: UsageReport) -> list[ServerCost]:
    """List the groups that cost something, most expensive first."""
    used = {each.tool.key for each in report.used}
    costs = [ServerCost(group, _tools(group, used)) for group in groups]
    return sorted((each for each in costs if each.total), key=lambda each: (-each.total, each.group.label))


def _tools(group: ListedGroup, used: Collection[Key]) -> list[ToolCost]:
    found = [
        ToolCost(tool, tool.tokens, tool.key in used)
        for tool, decision in group.tools
        if tool.tokens and decision.is_available and is_sent(tool)
    ]
    return sorted(found, key=lambda each: (-each.tokens, each.tool.name))
