"""The status of stored rows, as far as it depends on other rows.

Tools that were only used or reported follow the server that their name belongs to. Otherwise such a tool
would stay available after its server is disabled, or in a directory that disables the server. They stay
reported: only a server's own list makes a tool that can be served. Tools of a server that an agent declares
belong to that agent. Used tools become stale when their server is removed from the files; reported tools stay
as long as no file contradicts them.

Where Remit starts servers, an untrusted server shadows nothing.
"""

from collections.abc import Iterable, Sequence

from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.scopes import strength
from remit.decision.tool_names import classify, server_rows
from remit.decision.tools import Tool, Winner

Servers = dict[tuple[str, str], list[Tool]]  # by client and name; several servers may share a name
_Place = tuple[object, ...]
_NEVER_SHADOW = (None, ConfigStatus.PENDING, ConfigStatus.REJECTED)


def adopt(tools: Sequence[Tool]) -> list[Tool]:
    """Give each undeclared tool the status of the server that covers its name."""
    servers = servers_in_force(tools)
    return [_adopted(tool, servers) for tool in tools] if servers else list(tools)


def servers_in_force(tools: Sequence[Tool]) -> Servers:
    """Group the declared servers by client and name."""
    servers: Servers = {}
    for tool in tools:
        if tool.kind is Kind.MCP_SERVER and tool.authority is Authority.CONFIG:
            servers.setdefault((tool.client, tool.name), []).append(tool)
    return servers


def server_of(tool: Tool, servers: Servers) -> Tool | None:
    """Find the server that covers a tool's name; if there are several, the active one."""
    found = [
        server
        for pattern in server_rows(tool.name)
        for server in _of_label(tool, servers.get((tool.client, pattern), []))
    ]
    return min(found, key=_weakness, default=None)


def _of_label(tool: Tool, servers: list[Tool]) -> list[Tool]:
    """Return the servers with the tool's exact label, or else all that the label may refer to."""
    exact = [server for server in servers if server.server == tool.server]
    return exact or (servers if tool.server == classify(tool.name).server else [])


def _weakness(server: Tool) -> tuple[bool, bool, int, bool, bool]:
    """Sort key of servers, likeliest first: declared, not an agent's own, longest name, active."""
    is_absent = server.config_status in (ConfigStatus.PENDING, ConfigStatus.REJECTED)
    is_shadowed = server.shadowed_by is not None
    return _has_left(server), server.agent is not None, -len(server.name), is_shadowed, is_absent


def _has_left(server: Tool) -> bool:
    return server.config_status is None


def _adopted(tool: Tool, servers: Servers) -> Tool:
    if tool.kind is not Kind.MCP_TOOL or tool.authority is Authority.CONFIG or tool.is_placed:
        return tool
    server = server_of(tool, servers)
    if server is None or (_has_left(server) and tool.authority is Authority.REPORT):
        return tool
    return tool._replace(
        server=server.server,
        plugin=server.plugin,
        agent=server.agent,
        status=ToolStatus.STALE if _has_left(server) else tool.status,
        config_status=server.config_status,
        shadowed_by=server.shadowed_by,
        is_trusted=server.is_trusted,
    )


def without_untrusted(tools: Sequence[Tool]) -> list[Tool]:
    """Give the place of each server that is not trusted to the strongest one that is.

    A client starts a project's server that its settings enable, and that server hides the user's of that
    name. Remit does not start it without trust, so the user's own server keeps its place.
    """
    servers = [tool for tool in tools if tool.kind is Kind.MCP_SERVER and tool.authority is Authority.CONFIG]
    untrusted = [server for server in servers if server.is_trusted is False]
    freed = {
        _place(server): _winner(server, servers)
        for server in servers
        if server.shadowed_by is not None and any(_shadows(each, server) for each in untrusted)
    }
    return [_as_freed(tool, freed) for tool in tools] if freed else list(tools)


def _as_freed(tool: Tool, freed: dict[_Place, Winner | None]) -> Tool:
    if tool.kind not in (Kind.MCP_SERVER, Kind.MCP_TOOL) or _place(tool) not in freed:
        return tool
    return tool._replace(shadowed_by=freed[_place(tool)])


def _place(tool: Tool) -> _Place:
    """Return what a server and its tools have in common."""
    return tool.client, tool.scope, tool.project_hash, tool.dir, tool.agent, tool.server, tool.plugin


def _shadows(winner: Tool, server: Tool) -> bool:
    """Return whether a server's row is the one that shadows another, by name or by endpoint."""
    is_alike = _server_identity(winner) == _server_identity(server) or (
        winner.endpoint is not None and winner.endpoint == server.endpoint
    )
    shadowing = server.shadowed_by
    is_there = shadowing is not None and shadowing[:2] == (winner.scope, winner.source)
    return is_alike and winner.client == server.client and is_there


def _winner(server: Tool, servers: Iterable[Tool]) -> Winner | None:
    """Find the strongest trusted server of the same name; None if that is the server itself."""
    rivals = [
        each
        for each in servers
        if _server_identity(each) == _server_identity(server)
        and each.is_trusted is not False
        and each.config_status not in _NEVER_SHADOW
    ]
    strongest = min(rivals, key=lambda each: strength(each.kind, each.scope, each.dir), default=server)
    if strongest.key == server.key:
        return None
    return Winner(strongest.scope, strongest.source, strongest.server)


def _server_identity(server: Tool) -> tuple[str | None, ...]:
    return server.client, server.server, server.plugin, server.agent
