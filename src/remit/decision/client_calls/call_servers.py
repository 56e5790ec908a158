"""The server that a call of a client reaches: whether it is the gateway, and whether it is trusted."""

from collections.abc import Sequence

from remit.decision.client_calls.call_rows import SILENT, nearest
from remit.decision.client_reports import AGENT_SOURCE, SOURCE_SCOPES, ClientCall
from remit.decision.context import Context
from remit.decision.decide import Decision, Verdict
from remit.decision.gates import Gate
from remit.decision.kinds import RUNS, Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.tool_names import (
    MCP,
    SERVER,
    canonical,
    full_label,
    served_name,
    server_name,
    server_rows,
)
from remit.decision.tools import Tool

_OURS = frozenset({None, "user", "managed", "enterprise"})  # sources of our gateway
# Client sources that no repository can write: the user's and the administrator's files, and the launch.
_USERS = frozenset({"user", "local", "managed", "enterprise", "dynamic", "sdk", "claudeai"})
_OF_SERVERS = (Kind.MCP_SERVER, Kind.MCP_TOOL)
_IMPOSTOR = Decision(
    verdict=Verdict.HIDDEN,
    gate=Gate.CONFIG,
    reason="another server uses the name `remit`: it is not the gateway that `remit install` set up",
    unlock="run `remit doctor` to see which file declares it",
)
_UNDECLARED = Decision(
    verdict=Verdict.HIDDEN,
    gate=Gate.CONFIG,
    reason="its server is not one of the user's own, and is not trusted in Remit",
    unlock="look at the project's servers with `remit trust`",
)
_EVERY_SERVER = Decision(
    verdict=Verdict.HIDDEN,
    gate=Gate.CONFIG,
    reason="without `server`, it also reaches servers that are not trusted in Remit; name the server",
    unlock=None,
)
_UNKNOWN_SERVER = Decision(
    verdict=Verdict.ASK,
    gate=Gate.CONFIG,
    reason="its server is in no file of the client, so it may be untrusted",
    unlock=None,
)


def as_started(call: ClientCall, tools: Sequence[Tool]) -> Sequence[Tool]:
    """Leave out other declarations of the server that the client started, if a file declares that one."""
    scope = SOURCE_SCOPES.get(call.source or "")
    is_declared = any(tool.scope is scope for tool in _servers_named(call, tools))
    if not is_declared or served_name(call.name) is not None:  # the gateway has a declaration of its own
        return tools
    return [tool for tool in tools if tool.scope is scope or tool.kind not in _OF_SERVERS]


def as_listed(tool: Tool) -> Tool:
    """Return a tool as the client has it: its server lists it there, whatever it listed to Remit."""
    return tool._replace(is_unlisted=False, status=ToolStatus.ACTIVE) if tool.is_unlisted else tool


def refused_server(call: ClientCall, tools: Sequence[Tool]) -> Decision | None:
    """Refuse a server in the gateway's place, and a repository's server without a trusted declaration.

    The client may read a file that Remit cannot read, so a server without a declaration is refused as well.
    """
    if served_name(call.name) is not None:
        is_ours = call.server in (None, SERVER) and call.source in _OURS and any(map(_is_gateway, tools))
        return None if is_ours else _IMPOSTOR
    is_of_server = call.server is not None or call.source is not None or call.name.startswith(MCP)
    if not is_of_server or call.source in _USERS:
        return None
    rows = _declarations(call, tools)
    return None if rows and all(tool.is_trusted is not False for tool in rows) else _UNDECLARED


def is_anothers(call: ClientCall, tools: Sequence[Tool]) -> bool:
    """Return whether another server uses the name `remit`, so the call does not reach the gateway."""
    names = frozenset(server_rows(call.name)) if call.is_own else frozenset[str]()
    rows = [tool for tool in tools if tool.name in names and tool.config_status in RUNS]
    rows = [tool for tool in rows if call.server in (None, tool.server)] or rows
    in_force = [tool.config_status for tool in rows if tool.shadowed_by is None]
    return bool(in_force) and ConfigStatus.ITSELF not in in_force


def decide_reached(label: str, tools: Sequence[Tool], context: Context) -> Decision:
    """Decide about the server whose resources a tool of the client lists or reads.

    The client does not tell where it found that server, so every declaration of the name counts.
    """
    if not label:
        return _EVERY_SERVER if context.is_installed else SILENT
    named = [tool for tool in tools if _is_declared(tool) and tool.name == server_name(label)]
    gateways = [tool for tool in named if _is_gateway(tool)]
    others = [tool for tool in named if tool not in gateways]
    if context.is_installed and any(tool.is_trusted is False for tool in others):
        return _UNDECLARED
    if gateways:
        return SILENT
    if context.is_installed and not others:
        return _UNKNOWN_SERVER
    return nearest(others, context) if others else SILENT


def _declarations(call: ClientCall, tools: Sequence[Tool]) -> list[Tool]:
    """Return the declarations that the client may have started the server from: those in force, if any."""
    rows = [tool for tool in _servers_named(call, tools) if _is_from(call, tool)]
    if call.source == AGENT_SOURCE:  # an agent's agents may have its servers
        rows = [tool for tool in rows if tool.agent == call.agent] or rows
    return [tool for tool in rows if tool.shadowed_by is None] or rows


def _servers_named(call: ClientCall, tools: Sequence[Tool]) -> list[Tool]:
    """Return the declared servers whose tools may have the called name."""
    names = frozenset(server_rows(canonical(call.name)))
    return [tool for tool in tools if tool.name in names and _is_declared(tool)]


def _is_declared(tool: Tool) -> bool:
    """Return whether a row is a server in a file of the client."""
    is_configured = tool.authority is Authority.CONFIG and tool.config_status is not None
    return is_configured and tool.kind is Kind.MCP_SERVER


def _is_from(call: ClientCall, server: Tool) -> bool:
    """Return whether a declared server has the label and the source that the client names."""
    label = call.label or call.server
    if label is not None and full_label(server.server or "", server.plugin) != label:
        return False
    if call.source is None:
        return True
    if call.source == AGENT_SOURCE:
        return server.agent is not None
    return server.agent is None and server.scope is SOURCE_SCOPES.get(call.source)


def _is_gateway(tool: Tool) -> bool:
    return tool.config_status is ConfigStatus.ITSELF and tool.shadowed_by is None
