"""What a project uses of its tools: how familiar they are, what is unused, and what to switch off."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.decision import REMIT, Kind, Tool, ToolDecision, Workspace, is_demoted, normalise
from remit.store import HourlyUse, SessionUse, Store, Total
from remit.text import plural

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.decision import Context

PATIENCE = 14  # days without a use before a tool is proposed
ENOUGH_SESSIONS = 5  # sessions without a use before a tool is proposed
HALF_LIFE = 7 * 24  # hours in which a use loses half of its weight
_HOUR, _DAY = 3_600_000, 86_400_000  # milliseconds
_SHOWN = 90 * _DAY  # before the newest use; older ones have no weight
_MOST_SESSIONS = 200

Name = tuple[str, str]  # a client, and the name of a tool


class Familiarity(NamedTuple):
    """How much a project uses a name."""

    uses: int = 0
    failures: int = 0
    weight: float = 0.0
    last_used_at: int | None = None  # to the hour


UNFAMILIAR = Familiarity()
Familiar = Mapping[Name, Familiarity]


def familiarity(store: Store, workspace: Workspace) -> dict[Name, Familiarity]:
    """Tell how familiar each used name is in a project."""
    return weigh(store.usage.hourly(workspace, _SHOWN))


def weigh(uses: Iterable[HourlyUse]) -> dict[Name, Familiarity]:
    """Add up uses by name; weights decay from the newest use instead of from now."""
    listed = sorted(uses)
    newest = max((use.hour for use in listed), default=0)
    known: dict[Name, Familiarity] = {}
    for client, name, hour, count, failures in listed:
        weight = count * 2.0 ** ((hour - newest) / HALF_LIFE)
        use = Familiarity(count, failures, weight, (hour + 1) * _HOUR - 1)
        known[client, name] = _sum(known.get((client, name), UNFAMILIAR), use)
    return known


def with_servers(familiar: Familiar, tools: Sequence[Tool]) -> dict[Name, Familiarity]:
    """Add each server with what its tools sum up to."""
    sums: dict[Name, Familiarity] = {}
    for tool in tools:
        known = familiar.get((tool.client, tool.name))
        if tool.kind is Kind.MCP_TOOL and known is not None:
            sums[owner_of(tool)] = _sum(sums.get(owner_of(tool), UNFAMILIAR), known)
    servers = {
        (tool.client, tool.name): sums[owner_of(tool)]
        for tool in tools
        if tool.kind is Kind.MCP_SERVER and owner_of(tool) in sums
    }
    return {**familiar, **servers}


def owner_of(tool: Tool) -> Name:
    """Return the client and label of a tool's server, or of a server itself."""
    return tool.client, normalise(tool.server or "")


def _sum(one: Familiarity, other: Familiarity) -> Familiarity:
    last = max(filter(None, (one.last_used_at, other.last_used_at)), default=None)
    return Familiarity(one.uses + other.uses, one.failures + other.failures, one.weight + other.weight, last)


class ToolUse(NamedTuple):
    """A tool, and its usage here."""

    tool: Tool
    uses: int = 0
    failures: int = 0
    last_used_at: int | None = None
    mean_ms: float | None = None
    first_seen_at: int | None = None


class UsageReport(NamedTuple):
    """The used and unused tools of a project."""

    used: Sequence[ToolUse]  # most used first
    unused: Sequence[ToolUse]  # visible ones, most expensive first; a server stands for its tools
    sessions: Sequence[SessionUse]
    unused_tokens: int  # cost of the visible unused tools per request


class PruneProposal(NamedTuple):
    """A proposal to switch off a tool, and the reason."""

    name: str  # as written in a rule
    reason: str
    tokens: int | None  # saved in each request


def report(registry: "Registry", context: "Context") -> UsageReport:
    """Report the usage here, and the available tools that were never used."""
    usage = registry.store.usage
    own = [item for item in registry.tools(context) if context.client in (None, item.tool.client)]
    return make_report(
        own,
        usage.totals(context.workspace),
        usage.first_seen(context.workspace),
        usage.sessions(context.workspace, _MOST_SESSIONS),
    )


def make_report(
    listed: Iterable[ToolDecision],
    totals: Iterable[Total],
    first_seen: Mapping[Name, int],
    sessions: Sequence[SessionUse],
) -> UsageReport:
    """Combine the tools with their usage."""
    items = list(listed)
    by_name = {(total.client, total.name): total for total in totals}

    def use_of(tool: Tool) -> ToolUse:
        total, seen = by_name.get((tool.client, tool.name)), first_seen.get((tool.client, tool.name))
        if total is None:
            return ToolUse(tool, first_seen_at=seen)
        return ToolUse(tool, total.uses, total.failures, total.last_used_at, total.mean_ms, seen)

    whole = (Kind.MCP_SERVER, Kind.PLUGIN)
    used = {  # of several declarations with one name, one stands for all
        (use.tool.client, use.tool.name): use
        for use in (use_of(item.tool) for item in items if item.tool.kind not in whole)
        if use.uses
    }
    used_servers = {owner_of(use.tool) for use in used.values() if use.tool.kind is Kind.MCP_TOOL}
    idle = [
        use
        for use in (
            use_of(item.tool) for item in items if item.decision.is_available and _is_weighed(item.tool)
        )
        if not use.uses and not (use.tool.kind is Kind.MCP_SERVER and owner_of(use.tool) in used_servers)
    ]
    tokens = sum(use.tool.tokens or 0 for use in idle if use.tool.kind is not Kind.MCP_SERVER)
    heads = {owner_of(use.tool) for use in idle if use.tool.kind is Kind.MCP_SERVER}
    unused = [use for use in idle if use.tool.kind is not Kind.MCP_TOOL or owner_of(use.tool) not in heads]
    return UsageReport(
        sorted(used.values(), key=lambda use: (-use.uses, use.tool.name)),
        sorted(unused, key=lambda use: (-(use.tool.tokens or 0), use.tool.name, use.tool.scope)),
        sessions,
        tokens,
    )


def proposals(usage: UsageReport, *, now: int) -> list[PruneProposal]:
    """Propose to switch off tools that are unused for long or only fail, largest savings first."""
    proposed: list[PruneProposal] = []
    for use in usage.unused:
        if use.first_seen_at is None:
            continue
        missed = sum(session.started_at >= use.first_seen_at for session in usage.sessions)
        days = (now - use.first_seen_at) // _DAY
        if days >= PATIENCE or missed >= ENOUGH_SESSIONS:
            spans = [plural(count, noun) for count, noun in ((days, "day"), (missed, "session")) if count]
            reason = f"never used here, in {' and '.join(spans)}"
            proposed.append(PruneProposal(use.tool.name, reason, use.tool.tokens))
    for use in usage.used:
        outcomes = use.tool.outcomes
        if is_demoted(outcomes) and use.tool.kind is not Kind.BUILTIN:
            reason = f"{outcomes.count('-')} of its last {len(outcomes)} calls here failed"
            proposed.append(PruneProposal(use.tool.name, reason, use.tool.tokens))
    return sorted(proposed, key=lambda proposal: (-(proposal.tokens or 0), proposal.name))


def _is_weighed(tool: Tool) -> bool:
    """Return whether anything is saved without it: built-ins are the client's, a plugin is its parts."""
    return tool.kind not in (Kind.BUILTIN, Kind.PLUGIN) and tool.source != REMIT
