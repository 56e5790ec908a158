"""Summarizes a catalog: visible tools and their origins, hidden ones and the causes, and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from remit.catalog.costs import Costs, add_up, charged_servers
from remit.decision.context import Context
from remit.decision.decide import ToolDecision
from remit.decision.gates import Gate
from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.scopes import Scope
from remit.decision.tool_names import REMIT

if TYPE_CHECKING:
    from remit.decision.tools import Tool

SHADOWED = "shadowed"
UNTRUSTED = "untrusted"  # Remit would start it, but the user has not trusted it
ELSEWHERE = "elsewhere"  # declared for another client
CAUSES = (  # in the order of a summary; a gate is its own cause unless it has several
    SHADOWED,
    ConfigStatus.PENDING,
    UNTRUSTED,
    ConfigStatus.DISABLED,
    ConfigStatus.REJECTED,
    ConfigStatus.DENIED,
    ConfigStatus.MANUAL,
    ConfigStatus.ITSELF,
    ConfigStatus.NESTED,
    ConfigStatus.UNSERVED,
    ToolStatus.STALE,
    *(gate for gate in Gate if not gate.frees_name),
    ELSEWHERE,
)
_SCOPES = {scope: rank for rank, scope in enumerate(Scope)}


class ScopeSummary(NamedTuple):
    """The tools that one scope contributes."""

    client: str
    scope: Scope
    sources: Sequence[str]  # most frequent first
    visible: Mapping[Kind, int]
    hidden: int
    costs: Costs


class HiddenGroup(NamedTuple):
    """The tools hidden for one cause, except those whose server is hidden for the same one."""

    cause: str
    items: Sequence[ToolDecision]


class Summary(NamedTuple):
    """The overview of a workspace."""

    visible: Mapping[Kind, int]
    hidden_count: int
    costs: Costs
    origins: Sequence[ScopeSummary]
    hidden: Sequence[HiddenGroup]
    duplicates: Sequence[Sequence[Tool]]  # visible servers that are the same program or URL
    costliest: Sequence[Tool]  # visible servers whose cost is known
    uncounted: Sequence[Tool] = ()  # visible servers whose tools are unknown

    @property
    def available_count(self) -> int:
        """The number of visible tools, skills, commands and so on; a server is not one of them."""
        return sum(count for kind, count in self.visible.items() if kind is not Kind.MCP_SERVER)


def summarize(listed: Sequence[ToolDecision], context: Context) -> Summary:
    """Count and group a catalog.

    Tools of other clients form their own group and are not counted, nor are what Remit brings
    and the client does not start, and what is no longer configured.
    """
    mine = [item for item in listed if context.client in (None, item.tool.client) and _is_counted(item)]
    return Summary(
        visible=_count(mine),
        hidden_count=sum(not item.decision.is_available for item in mine),
        costs=add_up(mine),
        origins=_origins(mine),
        hidden=_hidden(listed, context),
        duplicates=_duplicates(mine),
        costliest=_costliest(mine),
        uncounted=[tool for tool in _servers(mine) if tool.tokens is None],
    )


_REMITS_OWN = (ConfigStatus.ITSELF, ConfigStatus.UNSERVED)


def _is_counted(item: ToolDecision) -> bool:
    tool = item.tool
    is_gone = tool.status is ToolStatus.STALE and not tool.is_unlisted
    return item.decision.is_available or not (is_gone or tool.config_status in _REMITS_OWN)


def _count(listed: Sequence[ToolDecision]) -> dict[Kind, int]:
    found = Counter(item.tool.kind for item in listed if item.decision.is_available)
    return {kind: found[kind] for kind in Kind if found[kind]}


def _origins(listed: Sequence[ToolDecision]) -> list[ScopeSummary]:
    groups: dict[tuple[str, int], list[ToolDecision]] = {}
    for item in listed:
        groups.setdefault((item.tool.client, _SCOPES[item.tool.scope]), []).append(item)
    return [_origin(items) for _, items in sorted(groups.items())]


def _origin(items: Sequence[ToolDecision]) -> ScopeSummary:
    first = items[0].tool
    return ScopeSummary(
        client=first.client,
        scope=first.scope,
        sources=_sources(items),
        visible=_count(items),
        hidden=sum(not item.decision.is_available for item in items),
        costs=add_up(items),
    )


def _sources(items: Sequence[ToolDecision]) -> list[str]:
    """List the sources of items, most frequent first; Remit itself is not a file and comes last.

    What was only seen or reported has no file, so it counts only where nothing is declared.
    """
    declared = [item for item in items if item.tool.authority is Authority.CONFIG] or items
    found = [source for source, _ in Counter(item.tool.source for item in declared).most_common()]
    return sorted(found, key=lambda source: source == REMIT)


def _hidden(listed: Sequence[ToolDecision], context: Context) -> list[HiddenGroup]:
    groups: dict[str, list[ToolDecision]] = {cause: [] for cause in CAUSES}
    for item in listed:
        if not item.decision.is_available:
            groups.setdefault(_cause(item, context), []).append(item)
    return [HiddenGroup(cause=cause, items=_heads(items)) for cause, items in groups.items() if items]


def _cause(item: ToolDecision, context: Context) -> str:
    tool, decision = item
    if context.client not in (None, tool.client):
        return ELSEWHERE
    if decision.gate is Gate.PRECEDENCE:
        return SHADOWED
    if decision.gate is not Gate.CONFIG:
        return str(decision.gate)
    if tool.status is ToolStatus.STALE or tool.config_status is None:
        return ToolStatus.STALE
    return UNTRUSTED if tool.config_status is ConfigStatus.ENABLED else tool.config_status


def _heads(items: Sequence[ToolDecision]) -> list[ToolDecision]:
    servers = {_server(item.tool) for item in items if item.tool.kind is Kind.MCP_SERVER}
    return [
        item for item in items if item.tool.kind is not Kind.MCP_TOOL or _server(item.tool) not in servers
    ]


def _server(tool: Tool) -> tuple[str, str | None]:
    return tool.client, tool.server


def _duplicates(listed: Sequence[ToolDecision]) -> list[Sequence[Tool]]:
    groups: dict[tuple[str, str], list[Tool]] = {}
    for tool, decision in listed:
        if decision.is_available and tool.kind is Kind.MCP_SERVER and tool.endpoint is not None:
            groups.setdefault((tool.client, tool.endpoint), []).append(tool)
    return [sorted(group, key=attrgetter("name")) for group in groups.values() if len(group) > 1]


def _costliest(listed: Sequence[ToolDecision]) -> list[Tool]:
    known = (tool for tool in charged_servers(listed) if tool.tokens)
    return sorted(known, key=lambda tool: (-(tool.tokens or 0), tool.name))


def _servers(listed: Sequence[ToolDecision]) -> list[Tool]:
    return [tool for tool, decision in listed if decision.is_available and tool.kind is Kind.MCP_SERVER]
