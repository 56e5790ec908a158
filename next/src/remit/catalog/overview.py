"""Groups and counts a listing: servers with their tools, the rest by kind, and the hidden by cause."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from remit.catalog.costs import ServerCost, owners
from remit.decision import (
    REMIT,
    Authority,
    Context,
    Decision,
    Gate,
    Key,
    Kind,
    Scope,
    Status,
    Tool,
    ToolDecision,
    Verdict,
)

SHADOWED = "shadowed"
UNTRUSTED = "untrusted"  # Remit would start it, but the user has not trusted it
ELSEWHERE = "elsewhere"  # declared for another client
CAUSES = (  # in the order of a summary; a gate is its own cause unless it has several
    SHADOWED,
    Status.PENDING,
    UNTRUSTED,
    Status.DISABLED,
    Status.REJECTED,
    Status.DENIED,
    Status.MANUAL,
    Status.ITSELF,
    Status.NESTED,
    Status.UNSERVED,
    Status.STALE,
    *(gate for gate in Gate if not Decision(Verdict.HIDDEN, gate, "").frees_name),
    ELSEWHERE,
)
_REMITS_OWN = (Status.ITSELF, Status.UNSERVED)
_SCOPES = {scope: rank for rank, scope in enumerate(Scope)}


class SortKey(StrEnum):
    """What groups and tools are sorted by: numbers descending, names ascending."""

    TOKENS = "tokens"
    USES = "uses"
    NAME = "name"


class ListedGroup(NamedTuple):
    """A server with its tools, or all tools of another kind."""

    label: str  # of the server as a person types it, or the kind
    client: str
    server: ToolDecision | None  # None: not a server, or a server known only by its tools
    tools: Sequence[ToolDecision]
    cost: ServerCost | None = None

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
    def uses(self) -> int:
        """How often its tools were used."""
        return sum(item.tool.uses for item in self.tools)

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


class ScopeCounts(NamedTuple):
    """What one scope contributes."""

    client: str
    scope: Scope
    sources: Sequence[str]  # most frequent first
    visible: Mapping[Kind, int]
    hidden: int


class HiddenGroup(NamedTuple):
    """The tools hidden for one cause, except those whose server is hidden for the same one."""

    cause: str
    items: Sequence[ToolDecision]


class Summary(NamedTuple):
    """The counts of a workspace."""

    visible: Mapping[Kind, int]
    hidden_count: int
    scopes: Sequence[ScopeCounts]
    hidden: Sequence[HiddenGroup]
    unlisted: Sequence[Tool]  # visible servers whose tools are not known

    @property
    def available_count(self) -> int:
        """The number of visible tools, skills, commands and so on; a server is not one of them."""
        return sum(count for kind, count in self.visible.items() if kind is not Kind.MCP_SERVER)


def group_tools(
    listed: Iterable[ToolDecision], sort: SortKey = SortKey.NAME, costs: Iterable[ServerCost] = ()
) -> GroupedTools:
    """Group a listing; groups and the tools in them are sorted alike."""
    items = list(listed)
    owner = owners([item.tool for item in items])
    by_server: dict[Key, list[ToolDecision]] = {}
    by_kind: dict[tuple[str, Kind], list[ToolDecision]] = {}
    heads: dict[Key, ToolDecision] = {}
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
    by_key = {cost.key: cost for cost in costs}
    servers = [_group(heads.get(key), tools, sort, by_key.get(key)) for key, tools in by_server.items()]
    order = list(Kind)
    kinds = sorted(by_kind.items(), key=lambda entry: (entry[0][0], order.index(entry[0][1])))
    return GroupedTools(
        sorted(servers, key=lambda group: _order(group, sort)),
        [_group(None, tools, sort, None) for _, tools in kinds],
    )


def summarize(listed: Sequence[ToolDecision], context: Context) -> Summary:
    """Count a listing.

    Tools of other clients form their own group and are not counted, nor are what Remit brings and the client
    does not start, and what is no longer configured.
    """
    mine = [item for item in listed if context.client in (None, item.tool.client) and _is_counted(item)]
    available = [tool for tool, decision in mine if decision.is_available]
    scopes: dict[tuple[str, int], list[ToolDecision]] = {}
    for item in mine:
        scopes.setdefault((item.tool.client, _SCOPES[item.tool.scope]), []).append(item)
    return Summary(
        _count(mine),
        sum(not item.decision.is_available for item in mine),
        [_scope(items) for _, items in sorted(scopes.items())],
        _hidden(listed, context),
        [tool for tool in available if tool.kind is Kind.MCP_SERVER and tool.listed_at is None],
    )


def _group(
    head: ToolDecision | None, tools: Sequence[ToolDecision], sort: SortKey, cost: ServerCost | None
) -> ListedGroup:
    first = (head or tools[0]).tool
    is_server = first.kind in (Kind.MCP_SERVER, Kind.MCP_TOOL)
    label = (first.server or first.name) if is_server else first.kind
    ordered = sorted(tools, key=lambda item: (-_value(item.tool, sort), item.tool.name))
    return ListedGroup(label, first.client, head, ordered, cost)


def _value(tool: Tool, sort: SortKey) -> int:
    return {SortKey.TOKENS: tool.tokens or 0, SortKey.USES: tool.uses, SortKey.NAME: 0}[sort]


def _order(group: ListedGroup, sort: SortKey) -> tuple[int, str, str]:
    cost = 0 if group.cost is None else group.cost.alone or 0
    value = {SortKey.TOKENS: cost, SortKey.USES: group.uses, SortKey.NAME: 0}[sort]
    return -value, group.label, group.client


def _is_counted(item: ToolDecision) -> bool:
    return item.decision.is_available or item.tool.status not in (Status.STALE, *_REMITS_OWN)


def _count(listed: Iterable[ToolDecision]) -> dict[Kind, int]:
    counts = Counter(item.tool.kind for item in listed if item.decision.is_available)
    return {kind: counts[kind] for kind in Kind if counts[kind]}


def _scope(items: Sequence[ToolDecision]) -> ScopeCounts:
    first = items[0].tool
    hidden = sum(not item.decision.is_available for item in items)
    return ScopeCounts(first.client, first.scope, _sources(items), _count(items), hidden)


def _sources(items: Sequence[ToolDecision]) -> list[str]:
    """List the files of items, most frequent first; Remit itself comes last.

    What was only seen or reported has no file, so it counts only where nothing is declared.
    """
    declared = [item for item in items if item.tool.authority is Authority.CONFIG] or items
    sources = [source for source, _ in Counter(item.tool.source for item in declared).most_common()]
    return sorted(sources, key=lambda source: source == REMIT)


def _hidden(listed: Iterable[ToolDecision], context: Context) -> list[HiddenGroup]:
    groups: dict[str, list[ToolDecision]] = {cause: [] for cause in CAUSES}
    for item in listed:
        if not item.decision.is_available:
            groups.setdefault(_cause(item, context), []).append(item)
    return [HiddenGroup(cause, _heads(items)) for cause, items in groups.items() if items]


def _cause(item: ToolDecision, context: Context) -> str:
    tool, decision = item
    if context.client not in (None, tool.client):
        return ELSEWHERE
    if decision.gate is Gate.PRECEDENCE:
        return SHADOWED
    if decision.gate is not Gate.CONFIG:
        return str(decision.gate)
    if tool.status in (Status.UNLISTED, Status.SEEN):
        return Status.STALE
    return UNTRUSTED if tool.status is Status.ENABLED else tool.status


def _heads(items: Sequence[ToolDecision]) -> list[ToolDecision]:
    servers = {_server(item.tool) for item in items if item.tool.kind is Kind.MCP_SERVER}
    return [
        item for item in items if item.tool.kind is not Kind.MCP_TOOL or _server(item.tool) not in servers
    ]


def _server(tool: Tool) -> tuple[str, str | None]:
    return tool.client, tool.server
