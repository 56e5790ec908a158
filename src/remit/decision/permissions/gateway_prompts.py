"""What the client would do with a tool behind the gateway, if it called the tool itself.

The client sees only the gateway's names, so its rules about `mcp__git__status` do not match, and a permission
given to `mcp__remit` or `call_tool` would match every tool. The hook corrects both: it lifts the client's
prompt where a rule allows the inner tool, and asks where only the gateway itself is allowed.

Observed in Claude Code: a hook's `allow` is as strong as an allow rule, so ask rules still ask, and a hook's
`ask` asks in every mode, even in `dontAsk`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from remit.decision.client_reports import ClientCall
from remit.decision.context import Context
from remit.decision.decide import Decision, Verdict
from remit.decision.gates import Gate
from remit.decision.kinds import Authority, ConfigStatus, Kind
from remit.decision.permissions.client_permissions import NO_PERMISSIONS, ClientPermissions
from remit.decision.scopes import Scope
from remit.decision.tool_names import GATEWAY_TOOLS, REMIT, classify, server_rows
from remit.decision.tools import Tool

_BYPASS = "bypassPermissions"
_AUTO = "auto"
_DONT_ASK = "dontAsk"
# The client's word for the file of a server, by the scope of the row that Remit made of it.
_SOURCES = {
    Scope.GLOBAL: ("user",),
    Scope.MANAGED: ("managed", "enterprise"),
}


class Inner(NamedTuple):
    """The tool behind the gateway that a call names."""

    tool: Tool
    is_listed: bool = True  # else only its server is known
    needs_person: bool = False  # its server requires a person to confirm each call


def prompt_decision(
    call: ClientCall, inner: Inner | None, tools: Sequence[Tool], context: Context
) -> Decision | None:
    """Decide whether the client asks before a call through the gateway; None leaves it to the client."""
    permissions = context.permissions_of(context.client or "") or NO_PERMISSIONS
    is_own = inner is not None and inner.tool.source == REMIT  # Remit's own server is part of the gateway
    if call.through is None and call.served in _READING and _is_our_gateway(call, tools):
        return _READS
    if is_own or call.served in GATEWAY_TOOLS:
        return None
    is_through = call.through is not None
    if inner is not None:
        if rule := permissions.asking(inner.tool):
            return _asked(call, f"the client's rule `{rule.text}` asks about it")
        if inner.needs_person and is_through:
            return _asked(call, "its server requires a person to confirm each call")
        if inner.is_listed and permissions.allowing(inner.tool):
            return _LIFTED if _is_our_gateway(call, tools) else None
    if call.mode == _BYPASS or (not is_through and permissions.names(call.name)):
        return None
    is_covered = _covers_gateway(call, permissions, context)
    if is_covered or (is_through and call.mode != _AUTO):
        name = call.tool if inner is None else inner.tool.name
        return _asked(call, _NOT_COVERED, f"{_NOT_COVERED}; to allow it, {allow_step(name)}")
    return None


_NOT_COVERED = "no permission rule of the client allows this tool, and one for the gateway does not cover it"


def allow_step(name: str) -> str:
    """Say how a person allows a tool in Claude Code, whoever serves it."""
    return (
        f"add `{name}` to `permissions.allow` in ~/.claude/settings.json, "
        "or in .claude/settings.local.json for this project"
    )


def permission_step(tool: Tool, context: Context) -> str | None:
    """Say how a person allows a tool that Remit serves to Claude Code; None if a rule allows or asks."""
    permissions = context.permissions_of(tool.client) or NO_PERMISSIONS
    is_installed = context.starts_servers or context.is_installed
    is_served = is_installed and tool.client == _ASKS and tool.source != REMIT
    if not is_served or tool.kind is not Kind.MCP_TOOL:
        return None
    return None if permissions.allowing(tool) or permissions.asking(tool) else allow_step(tool.name)


_ASKS = "claude-code"  # the only client whose hooks know what it would ask about


_LIFTED = Decision(
    verdict=Verdict.VISIBLE,
    gate=None,
    reason="allowed by the client's permission rules",
    unlock=None,
    lifts_prompt=True,
)


_READING = ("discover_tools", "why_tool", "read_result")  # Remit's own tools that change nothing
_READS = replace(_LIFTED, reason="Remit's own, and only reads")


def _asked(call: ClientCall, reason: str, detail: str | None = None) -> Decision:
    """Ask, or in a mode without questions refuse."""
    if call.mode == _DONT_ASK:
        verdict, reason = Verdict.HIDDEN, f"mode `dontAsk` hides tools that need approval: {reason}"
    else:
        verdict = Verdict.ASK
    return Decision(
        verdict=verdict, gate=Gate.DANGER, reason=reason, unlock=None, asked_by_client=True, detail=detail
    )


def _covers_gateway(call: ClientCall, permissions: ClientPermissions, context: Context) -> bool:
    """Return whether the client would not ask because the gateway itself is allowed."""
    outer = call.through or call.name
    row = Tool(
        name=outer,
        kind=Kind.MCP_TOOL,
        client=context.client or "",
        scope=Scope.GLOBAL,
        source="hook",
        authority=Authority.HOOK,
        server=classify(outer).server,
    )
    return permissions.allowing(row) is not None


def _is_our_gateway(call: ClientCall, tools: Sequence[Tool]) -> bool:
    """Return whether the call certainly reaches our gateway: its row is in force, from the same file."""
    names = frozenset(server_rows(call.name))
    return any(
        tool.config_status is ConfigStatus.ITSELF
        and tool.shadowed_by is None
        and tool.server == call.server
        and call.source in _SOURCES.get(tool.scope, ())
        for tool in tools
        if tool.kind is Kind.MCP_SERVER and tool.name in names
    )
