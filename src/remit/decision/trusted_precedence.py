"""Precedence where Remit itself starts servers: a server that is not trusted shadows nothing.

A client starts a project's server that its settings enable, and that server hides the user's of that name.
Remit does not start it without trust, so the user's own server keeps its place.
"""

from collections.abc import Iterable, Sequence

from remit.decision.kinds import Authority, ConfigStatus, Kind
from remit.decision.scopes import strength
from remit.decision.tools import Tool, Winner

Place = tuple[object, ...]
_NEVER_SHADOW = (None, ConfigStatus.PENDING, ConfigStatus.REJECTED)


def without_untrusted(tools: Sequence[Tool]) -> list[Tool]:
    """Give the place of each server that is not trusted to the strongest one that is."""
    servers = [tool for tool in tools if tool.kind is Kind.MCP_SERVER and tool.authority is Authority.CONFIG]
    untrusted = [server for server in servers if server.is_trusted is False]
    freed = {
        _place(server): _winner(server, servers)
        for server in servers
        if server.shadowed_by is not None and any(_shadows(each, server) for each in untrusted)
    }
    return [_as_freed(tool, freed) for tool in tools] if freed else list(tools)


def _as_freed(tool: Tool, freed: dict[Place, Winner | None]) -> Tool:
    if tool.kind not in (Kind.MCP_SERVER, Kind.MCP_TOOL) or _place(tool) not in freed:
        return tool
    return tool._replace(shadowed_by=freed[_place(tool)])


def _place(tool: Tool) -> Place:
    """Return what a server and its tools have in common."""
    return tool.client, tool.scope, tool.project_hash, tool.dir, tool.agent, tool.server, tool.plugin


def _shadows(winner: Tool, server: Tool) -> bool:
    """Return whether a server's row is the one that shadows another, by name or by endpoint."""
    is_alike = _identity(winner) == _identity(server) or (
        winner.endpoint is not None and winner.endpoint == server.endpoint
    )
    return is_alike and winner.client == server.client and server.shadowed_by == _as_winner(winner)


def _winner(server: Tool, servers: Iterable[Tool]) -> Winner | None:
    """Find the strongest trusted server of the same name; None if that is the server itself."""
    rivals = [
        each
        for each in servers
        if _identity(each) == _identity(server)
        and each.is_trusted is not False
        and each.config_status not in _NEVER_SHADOW
    ]
    strongest = min(rivals, key=lambda each: strength(each.kind, each.scope, each.dir), default=server)
    return None if strongest.key == server.key else _as_winner(strongest)


def _identity(server: Tool) -> tuple[str | None, ...]:
    return server.client, server.server, server.plugin, server.agent


def _as_winner(server: Tool) -> Winner:
    return Winner(server.scope, server.source)
