"""Token costs."""

from collections.abc import Callable, Sequence

from remit.decision import Kind, Status, Tool, is_covered, server_of, servers_by_name

_Place = tuple[str | None, ...]


def charge(tools: Sequence[Tool]) -> list[Tool]:
    """Give each server the tokens of its known tools, except those that it no longer lists."""
    servers = {id(tool) for tool in tools if tool.kind is Kind.MCP_SERVER}
    if not servers:
        return list(tools)
    sums: dict[int, int] = {}
    owner = owners(tools)
    for tool in tools:
        if tool.kind is Kind.MCP_TOOL and tool.tokens is not None and (server := owner(tool)) is not None:
            is_sent = tool.status not in (Status.STALE, Status.UNLISTED)
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
