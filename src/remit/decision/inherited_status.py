"""Gives tools that were only used or reported the status of the server that their name belongs to.

Otherwise such a tool would stay available after its server is disabled, or in a directory that disables the
server. They stay reported: only a server's own list makes a tool that can be served. Tools of a server that
an agent declares belong to that agent. Used tools become stale when their server is removed from the files;
reported tools stay as long as no file contradicts them.
"""

from collections.abc import Sequence

from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.tool_names import classify, server_rows
from remit.decision.tools import Tool

Servers = dict[tuple[str, str], list[Tool]]  # by client and name; several servers may share a name


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
