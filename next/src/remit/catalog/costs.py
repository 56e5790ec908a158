"""Token costs: what a server's tools cost, and what a first request costs without Remit and with it."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.decision import (
    Context,
    Face,
    Key,
    Kind,
    Snapshot,
    Status,
    Tool,
    ToolDecision,
    is_covered,
    offered_alone,
    server_of,
    servers_by_name,
)
from remit.text import name_tokens

if TYPE_CHECKING:
    from remit.catalog.catalog import Catalog
    from remit.catalog.served import Served
    from remit.catalog.strategies import Presentation, ServingPlan

_Place = tuple[str | None, ...]
_UNLISTED = (Status.STALE, Status.UNLISTED)


class GatewayView(NamedTuple):
    """What one client gets from the gateway, or would get."""

    served: "Served"
    presentation: "Presentation"
    prefix: str | None  # the client's prefix of served names; None: it does not start the gateway

    @property
    def can_discover(self) -> bool:
        """Whether a model has `discover_tools`."""
        from remit.catalog.items import DISCOVER_TOOLS

        return self.prefix is not None and DISCOVER_TOOLS in self.presentation.own

    def name_of(self, tool: Tool) -> str:
        """Return the name that a model uses to call a tool."""
        name = self.served.names.get(tool.key)
        return tool.name if name is None or self.prefix is None else self.prefix + name


class ServerCost(NamedTuple):
    """What the tools of a server cost in a first request."""

    label: str
    client: str
    key: Key  # of its row; of a server known only by its tools, its label
    alone: int | None = None  # as the client sends them without Remit; None: not known
    with_remit: int = 0  # of the tools that the gateway lists
    tools: int = 0  # that the client has without Remit
    listed: int = 0  # that the gateway lists


class RequestCost(NamedTuple):
    """The estimated tokens of tools in the first request of a client: the one sum that people are told."""

    alone: int  # without Remit
    with_remit: int  # the tools that the gateway lists, Remit's own, and its texts
    by_server: Sequence[ServerCost]
    searches: bool = False  # alone, the client sends names, and searches the definitions itself
    is_served: bool = False  # the client starts the gateway

    @property
    def saved(self) -> int:
        """What Remit saves; negative if it costs more."""
        return self.alone - self.with_remit

    @property
    def unknown(self) -> Sequence[ServerCost]:
        """The servers whose tools are not known, so the sums lack them."""
        return [server for server in self.by_server if server.alone is None]


def gateway_view(
    catalog: "Catalog", plan: "ServingPlan", listed: Sequence[ToolDecision], snapshot: Snapshot
) -> GatewayView:
    """Return what the gateway would list of a catalog."""
    from remit.catalog.served import serve

    served = serve(catalog.narrowed(catalog.context._replace(face=Face.GATEWAY)), plan)
    presentation = served.preview(served.catalog.at(snapshot))
    own = (item.tool for item in listed if _is_gateway(item.tool, catalog.context))
    gateway = next(own, None)  # its name includes the plugin, if one ships it
    return GatewayView(served, presentation, None if gateway is None else gateway.name.removesuffix("*"))


def request_cost(
    listed: Sequence[ToolDecision],
    context: Context,
    view: GatewayView,
    texts: Iterable[str] = (),
    *,
    searches: bool = False,
) -> RequestCost:
    """Estimate what tools cost in a first request; `texts` are what Remit says besides its instructions."""
    from remit.catalog.items import text_tokens

    owner = owners([tool for tool, _ in listed])
    costs: dict[Key, ServerCost] = {}
    alone: dict[Key, list[Tool]] = {}
    for tool, _ in offered_alone(listed, context):
        if tool.kind in (Kind.MCP_SERVER, Kind.MCP_TOOL):
            is_server = tool.kind is Kind.MCP_SERVER
            cost = _cost_of(tool, tool if is_server else owner(tool), costs)
            is_known = not is_server or tool.tokens is not None
            costs[cost.key] = cost._replace(alone=cost.alone or 0) if is_known else cost
            alone.setdefault(cost.key, []).extend([] if is_server else [tool])
    for key, tools in alone.items():
        if costs[key].alone is not None:
            names, definitions = (tool.name for tool in tools), (tool.tokens or 0 for tool in tools)
            sent = name_tokens(names) if searches else sum(definitions)
            costs[key] = costs[key]._replace(alone=sent, tools=len(tools))
    for entry in view.presentation.entries:
        cost = _cost_of(entry.tool, owner(entry.tool), costs)
        costs[cost.key] = cost._replace(with_remit=cost.with_remit + entry.tokens, listed=cost.listed + 1)
    return RequestCost(
        sum(cost.alone or 0 for cost in costs.values()),
        view.presentation.tokens + sum(map(text_tokens, texts)),
        sorted(costs.values(), key=lambda cost: (-(cost.alone or 0), cost.label)),
        searches,
        view.prefix is not None,
    )


def _cost_of(tool: Tool, server: Tool | None, costs: dict[Key, ServerCost]) -> ServerCost:
    label = (server or tool).server or tool.name
    key = (tool.client, label) if server is None else server.key
    return costs.get(key) or ServerCost(label, tool.client, key)


def _is_gateway(tool: Tool, context: Context) -> bool:
    is_itself = tool.status is Status.ITSELF and tool.client == context.client
    return is_itself and tool.shadowed_by is None


def charge(tools: Sequence[Tool]) -> list[Tool]:
    """Give each server the tokens of its known tools, except those that it no longer lists."""
    servers = {id(tool) for tool in tools if tool.kind is Kind.MCP_SERVER}
    if not servers:
        return list(tools)
    sums: dict[int, int] = {}
    owner = owners(tools)
    for tool in tools:
        if tool.kind is Kind.MCP_TOOL and tool.tokens is not None and (server := owner(tool)) is not None:
            is_sent = tool.status not in _UNLISTED
            sums[id(server)] = sums.get(id(server), 0) + (tool.tokens if is_sent else 0)
    return [
        tool._replace(tokens=sums.get(id(tool), None if tool.listed_at is None else 0))
        if id(tool) in servers
        else tool
        for tool in tools
    ]


def owners(tools: Sequence[Tool]) -> Callable[[Tool], Tool | None]:
    """Return a function that finds a tool's server by its place, else by its name."""
    by_place: dict[_Place, list[Tool]] = {}
    for tool in tools:
        if tool.kind is Kind.MCP_SERVER:
            by_place.setdefault(_place(tool), []).append(tool)
    by_name = servers_by_name(tools)

    def owner(tool: Tool) -> Tool | None:
        # There may be several, if plugins have servers with the same label.
        here = (server for server in by_place.get(_place(tool), ()) if is_covered(tool.name, server.name))
        return next(here, None) or server_of(tool, by_name)

    return owner


def _place(tool: Tool) -> _Place:
    return tool.client, tool.scope, tool.project_hash, tool.dir, tool.server
