"""Groups a listing: servers with their tools, and everything else by kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from remit.catalog.costs import is_sent, owners
from remit.decision.decide import ToolDecision, Verdict
from remit.decision.kinds import Kind

if TYPE_CHECKING:
    from remit.decision.tools import Tool


class SortKey(StrEnum):
    """What a listing is sorted by: numbers descending, names ascending."""

    TOKENS = "tokens"
    USES = "uses"
    NAME = "name"


class ListedGroup(NamedTuple):
    """A server with its tools, or all tools of another kind."""

    label: str  # of the server as a person types it, or the kind
    client: str
    server: ToolDecision | None  # None: not a server, or a server known only by its tools
    tools: Sequence[ToolDecision]

    @property
    def is_available(self) -> bool:
        """Whether anything of it is visible."""
        return any(item.decision.is_available for item in self.items)

    @property
    def is_known(self) -> bool:
        """Whether its tools are known; those of a server are not before it has listed them."""
        return self.server is None or self.server.tool.listed_at is not None or bool(self.tools)

    @property
    def visible(self) -> int:
        """The number of its visible tools."""
        return sum(item.decision.is_available for item in self.tools)

    @property
    def asking(self) -> int:
        """The number of its visible tools whose calls need approval."""
        return sum(item.decision.verdict is Verdict.ASK for item in self.tools)

    @property
    def hidden(self) -> int:
        """The number of its hidden tools; at least one if its server is hidden."""
        return max(len(self.tools) - self.visible, not self.is_available)

    @property
    def tokens(self) -> int | None:
        """The cost of its visible tools in each request; None if unknown."""
        is_measured = self.server is not None or any(item.tool.tokens is not None for item in self.tools)
        if not (self.is_known and is_measured):
            return None
        charged = (item.tool for item in self.tools if item.decision.is_available and is_sent(item.tool))
        return sum(tool.tokens or 0 for tool in charged)

    @property
    def uses(self) -> int:
        """How often its tools were used."""
        return sum(item.tool.usage_count for item in self.tools)

    @property
    def first(self) -> Tool:
        """The row that tells where it comes from."""
        return self.items[0].tool

    @property
    def items(self) -> Sequence[ToolDecision]:
        """Its server, and its tools."""
        return self.tools if self.server is None else (self.server, *self.tools)


class GroupedTools(NamedTuple):
    """A listing in groups."""

    servers: Sequence[ListedGroup]
    kinds: Sequence[ListedGroup]


def group_tools(listed: Iterable[ToolDecision], sort: SortKey = SortKey.TOKENS) -> GroupedTools:
    """Group a listing; groups and the tools in them are sorted alike."""
    items = list(listed)
    owner = owners([item.tool for item in items])
    by_server: dict[tuple[object, ...], list[ToolDecision]] = {}
    by_kind: dict[tuple[object, ...], list[ToolDecision]] = {}
    heads: dict[tuple[object, ...], ToolDecision] = {}
    for item in items:
        tool = item.tool
        if tool.kind is Kind.MCP_SERVER:
            heads[tool.key] = item
            by_server.setdefault(tool.key, [])
        elif tool.kind is Kind.MCP_TOOL:
            server = owner(tool)
            place = (tool.client, tool.server or tool.name) if server is None else server.key
            by_server.setdefault(place, []).append(item)
        else:
            by_kind.setdefault((tool.client, tool.kind), []).append(item)
    servers = [_group(heads.get(place), tools, sort) for place, tools in by_server.items()]
    kinds = [_group(None, tools, sort) for _, tools in sorted(by_kind.items(), key=_rank)]
    return GroupedTools(sorted(servers, key=lambda group: _order(group, sort)), kinds)


def is_unlisted(item: ToolDecision) -> bool:
    """Tell whether an item is an available server that never listed its tools."""
    tool = item.tool
    return tool.kind is Kind.MCP_SERVER and tool.listed_at is None and item.decision.is_available


def sorted_tools(items: Iterable[ToolDecision], sort: SortKey) -> list[ToolDecision]:
    """Sort tools."""
    return sorted(items, key=lambda item: (-_value(item.tool, sort), item.tool.name))


def _value(tool: Tool, sort: SortKey) -> int:
    return {SortKey.TOKENS: tool.tokens or 0, SortKey.USES: tool.usage_count, SortKey.NAME: 0}[sort]


def _group(head: ToolDecision | None, tools: Sequence[ToolDecision], sort: SortKey) -> ListedGroup:
    first = (head or tools[0]).tool
    is_server = first.kind in (Kind.MCP_SERVER, Kind.MCP_TOOL)
    label = (first.server or first.name) if is_server else first.kind
    return ListedGroup(label, first.client, head, sorted_tools(tools, sort))


def _order(group: ListedGroup, sort: SortKey) -> tuple[int, str, str]:
    value = {SortKey.TOKENS: group.tokens or 0, SortKey.USES: group.uses, SortKey.NAME: 0}[sort]
    return -value, group.label, group.client


def _rank(entry: tuple[tuple[object, ...], object]) -> tuple[str, int]:
    (client, kind), _ = entry
    return str(client), list(Kind).index(Kind(str(kind)))
