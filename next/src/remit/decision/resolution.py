"""Resolves which declarations shadow others, and gives tools that were only seen their server's status.

Shadowing depends on the whole group, so it is computed once here; the `precedence` gate only reads it.
The rules were observed in Claude Code: pending and rejected declarations never shadow; disabled and denied
ones shadow by name; only enabled ones shadow a plugin's server by endpoint. Servers declared in an agent's
definition are active only if that definition is.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from remit.decision.names import classify, server_rows
from remit.decision.scopes import Kind, Scope, strength
from remit.decision.tools import NEVER_SHADOW, Authority, Declaration, Status, Tool, Winner

Identity = tuple[str | None, ...]
_ENABLED = (Status.ENABLED, Status.NESTED)


class Resolved(NamedTuple):
    """A judged declaration, and the one that shadows it."""

    declaration: Declaration
    shadowed_by: Declaration | None = None


def resolve(declarations: Iterable[Declaration]) -> list[Resolved]:
    """Return each judged declaration with the declaration that shadows it, if any."""
    unique = {declaration.key: declaration for declaration in declarations}  # the last one wins
    rivals = [item for item in unique.values() if item.shadows]
    agents = _winners_by_name(item for item in rivals if item.kind is Kind.SUBAGENT)
    by_name = _winners_by_name(item for item in rivals if _agent_instead(item, agents) is None)
    by_endpoint: dict[str, Declaration] = {}
    for declaration in sorted(unique.values(), key=lambda item: item.scope is Scope.PLUGIN):
        is_winner = by_name.get(_identity(declaration)) is declaration
        is_everyones = is_winner and declaration.agent is None
        if is_everyones and declaration.status in _ENABLED and declaration.endpoint is not None:
            by_endpoint.setdefault(declaration.endpoint, declaration)
    resolved: list[Resolved] = []
    for declaration in unique.values():
        winner = by_name.get(_identity(declaration), declaration)
        if declaration.plugin is not None and declaration.endpoint is not None:
            winner = by_endpoint.get(declaration.endpoint, winner)
        winner = _agent_instead(declaration, agents) or winner
        shadowed_by = None if winner is declaration else winner
        resolved.append(Resolved(declaration, shadowed_by))
    return resolved


def _winners_by_name(declarations: Iterable[Declaration]) -> dict[Identity, Declaration]:
    winners: dict[Identity, Declaration] = {}
    for declaration in declarations:
        holder = winners.setdefault(_identity(declaration), declaration)
        if _strength(declaration) < _strength(holder):
            winners[_identity(declaration)] = declaration
    return winners


def _agent_instead(declaration: Declaration, agents: dict[Identity, Declaration]) -> Declaration | None:
    """Find the agent that shadows the agent whose definition declares a server."""
    if declaration.agent is None:
        return None
    winner = agents.get((Kind.SUBAGENT, declaration.agent, None, None))
    return None if winner is None or winner.source == declaration.source else winner


def _identity(declaration: Declaration) -> Identity:
    if declaration.kind in (Kind.SKILL, Kind.SLASH_COMMAND):  # both are invoked as `/name`
        return Kind.SKILL, declaration.name.removeprefix("/"), declaration.plugin
    # The server's name as written: `a.b` and `a_b` are different servers, although their tools share names.
    label = declaration.name if declaration.server is None else declaration.server
    return declaration.kind, label, declaration.plugin, declaration.agent


def _strength(declaration: Declaration) -> tuple[bool, int, int]:
    """Sort key of declarations with the same name, strongest first: skill, scope, nearest directory.

    Inside a plugin, a command comes before a skill.
    """
    is_late = (declaration.kind is Kind.SLASH_COMMAND) == (declaration.plugin is None)
    return is_late, *strength(declaration.kind, declaration.scope, declaration.dir)


Servers = dict[tuple[str, str], list[Tool]]  # by client and name; several servers may share a name
_Place = tuple[object, ...]


def adopt(tools: Sequence[Tool], *, gateway: bool = False) -> list[Tool]:
    """Give each undeclared tool the status of the server that covers its name.

    For a gateway, an untrusted server shadows nothing. Tools that were only used or reported stay so: only a
    server's own list makes a tool that can be served.
    """
    rows = _without_untrusted(tools) if gateway else list(tools)
    servers = servers_by_name(rows)
    return [_adopted(tool, servers) for tool in rows] if servers else rows


def servers_by_name(tools: Iterable[Tool]) -> Servers:
    """Group the declared servers by client and name."""
    servers: Servers = {}
    for tool in tools:
        if tool.kind is Kind.MCP_SERVER and tool.authority is Authority.CONFIG:
            servers.setdefault((tool.client, tool.name), []).append(tool)
    return servers


def server_of(tool: Tool, servers: Servers) -> Tool | None:
    """Find the server that covers a tool's name; if there are several, the active one."""
    covering = (
        server
        for pattern in server_rows(tool.name)
        for server in _of_label(tool, servers.get((tool.client, pattern), []))
    )
    return min(covering, key=_weakness, default=None)


def _of_label(tool: Tool, servers: list[Tool]) -> list[Tool]:
    """Return the servers with the tool's exact label, or else all that the label may refer to."""
    exact = [server for server in servers if server.server == tool.server]
    return exact or (servers if tool.server == classify(tool.name).server else [])


def _weakness(server: Tool) -> tuple[bool, bool, int, bool, bool]:
    """Sort key of servers, likeliest first: declared, not an agent's own, longest name, active."""
    is_absent = server.status in NEVER_SHADOW
    is_shadowed = server.shadowed_by is not None
    return server.status is Status.STALE, server.agent is not None, -len(server.name), is_shadowed, is_absent


def _adopted(tool: Tool, servers: Servers) -> Tool:
    if tool.kind is not Kind.MCP_TOOL or tool.is_declared:
        return tool
    server = server_of(tool, servers)
    if server is None or (server.status is Status.STALE and tool.authority is Authority.REPORT):
        return tool
    return tool._replace(
        server=server.server,
        plugin=server.plugin,
        agent=server.agent,
        status=server.status,
        shadowed_by=server.shadowed_by,
        is_trusted=server.is_trusted,
    )


def _without_untrusted(tools: Sequence[Tool]) -> list[Tool]:
    """Give the place of each server that is not trusted to the strongest one that is.

    A client starts a project's server that its settings enable, and that server hides the user's of that
    name. Remit does not start it without trust, so the user's own server keeps its place.
    """
    servers = [tool for tool in tools if tool.kind is Kind.MCP_SERVER and tool.authority is Authority.CONFIG]
    untrusted = [server for server in servers if server.is_trusted is False]
    freed = {
        _place(server): _winner(server, servers)
        for server in servers
        if server.shadowed_by is not None and any(_shadows(rival, server) for rival in untrusted)
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
    shadowing = server.shadowed_by
    return (
        shadowing is not None
        and shadowing[:2] == (winner.scope, winner.source)
        and shadowing.name in (None, winner.server)
        and winner.client == server.client
    )


def _winner(server: Tool, servers: Iterable[Tool]) -> Winner | None:
    """Find the strongest trusted server of the same name; None if that is the server itself."""
    rivals = [
        rival
        for rival in servers
        if _server_identity(rival) == _server_identity(server)
        and rival.is_trusted is not False
        and rival.status not in (*NEVER_SHADOW, Status.STALE)
    ]
    strongest = min(rivals, key=lambda rival: strength(rival.kind, rival.scope, rival.dir), default=server)
    if strongest.key == server.key:
        return None
    return Winner(strongest.scope, strongest.source, strongest.server)


def _server_identity(server: Tool) -> tuple[str | None, ...]:
    return server.client, server.server, server.plugin, server.agent
