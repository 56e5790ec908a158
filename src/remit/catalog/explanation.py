"""Explains why a name is available in a workspace, or is not."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.context import Context, shorten
from remit.decision.danger import Rating, ratings
from remit.decision.decide import UNKNOWN, Decision, ExplainedGate, ToolDecision, Verdict, decide, explain
from remit.decision.gate_rules import GateResult
from remit.decision.gates import Gate
from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.permissions.client_consents import pending_reason, pending_unlock, trust_command
from remit.decision.permissions.gateway_prompts import permission_step
from remit.decision.scopes import Scope
from remit.decision.tool_lookup import closest_to_being_visible, find, suggest, with_bare_name
from remit.decision.tool_names import REMIT, is_covered, server_name, spellings
from remit.decision.tools import BUILTINS, Tool, builtin_tool

if TYPE_CHECKING:
    from remit.decision.declarations import Declaration, Key
    from remit.decision.problems import Problem


class UnaskedServer(NamedTuple):
    """A server whose tools are not known, the reason, and what a person can do about it."""

    label: str
    reason: str
    step: str | None
    key: Key | None = None  # of its row

    @property
    def can_be_asked(self) -> bool:
        """Whether only a connection is missing."""
        return self.reason == _NOT_CONNECTED


_NOT_CONNECTED = "not connected yet"


class Obstacle(NamedTuple):
    """Why an available server cannot be used, and what a person can do about it."""

    reason: str
    fix: str | None = None


class Explanation(NamedTuple):
    """Why a name is available here, or is not."""

    name: str
    tool: Tool | None  # None: the name is unknown here
    decision: Decision
    gates: Sequence[ExplainedGate] = ()
    shadowed: Sequence[ToolDecision] = ()  # other declarations of the same name
    tools: Sequence[Tool] = ()  # of a server: its known tools
    suggestions: Sequence[str] = ()  # similar known names, if the name is unknown
    full_names: Sequence[str] = ()  # of the tools that their servers call by this name, if it is unknown
    unasked: Sequence[UnaskedServer] = ()  # that may have it, if it is unknown or assumed
    is_assumed: bool = False  # its server is known, but not yet whether it has such a tool
    ratings: Sequence[Rating] = ()  # of a server's tool: what its name, words, annotations and history say
    permission_step: str | None = None  # if the client asks before each call: how to allow it
    obstacle: str | None = None  # if available: that its server cannot start here, or failed, and why
    obstacle_fix: str | None = None  # what to do about that

    @property
    def declared(self) -> Sequence[Tool]:
        """The tool and the others of its name."""
        return [*filter(None, (self.tool,)), *(item.tool for item in self.shadowed)]

    def with_obstacles(self, servers: Sequence[Key], obstacles: Mapping[Key | None, Obstacle]) -> Explanation:
        """Add why servers cannot be used here: the one of this tool, and those that may have it."""
        unasked = [
            each
            if (found := obstacles.get(each.key)) is None
            else each._replace(reason=found.reason, step=found.fix)
            for each in self.unasked
        ]
        explained = self._replace(unasked=unasked)
        if self.tool is not None and self.tool.key in servers and self.tool.key not in obstacles:
            explained = explained._replace(tool=self.tool._replace(failure=None))  # it no longer counts
        own = next((obstacles[key] for key in servers if key in obstacles), None)
        return explained if own is None else explained._replace(obstacle=own.reason, obstacle_fix=own.fix)


def explain_name(name: str, listed: Sequence[ToolDecision], context: Context) -> Explanation:
    """Explain a name among the tools listed in a context."""
    found = find(name, listed)
    if not found and (builtin := builtin_tool(name, context.client)) is not None:
        return Explanation(name, builtin, decide(builtin, context), explain(builtin, context))
    if not found:
        return _unknown(name, [item for item in listed if _is_of_client(item, context)], context.client)
    assumed = [_assumed(name, item, context) for item in found]
    # Which other clients' files were ever read must not change the answer for this client.
    assumed.sort(key=lambda item: (not _is_of_client(item, context), closest_to_being_visible(item)))
    (tool, decision), *others = assumed
    is_assumed = not any(item.tool is tool for item in found)
    return Explanation(
        name=tool.name,
        tool=tool,
        decision=decision,
        gates=explain(tool, context),
        shadowed=others,
        tools=[item.tool for item in listed if _is_tool_of(item.tool, tool)],
        is_assumed=is_assumed,
        unasked=_unasked([item for item in found if item.tool.source == tool.source]) if is_assumed else (),
        ratings=ratings(tool) if tool.kind is Kind.MCP_TOOL else (),
        permission_step=permission_step(tool, context) if decision.verdict is Verdict.VISIBLE else None,
    )


def explain_ineffective_approval(
    explained: Explanation, tool: Tool, file: str, context: Context
) -> Explanation:
    """Say of a server that waits for its client's approval that a file approves it in vain."""
    reason, detail = (
        pending_reason(tool.client, is_trusted=tool.is_trusted, approved_in=place)
        for place in ("a settings file", shorten(file, context))
    )
    detail = f"declared in {shorten(tool.source, context)}, {detail}"
    unlock = pending_unlock(tool.client, tool.server, is_trusted=tool.is_trusted, is_approved=True)
    gates = [
        each._replace(result=GateResult(False, reason, unlock, detail=detail))
        if each.gate is Gate.CONFIG
        else each
        for each in explained.gates
    ]
    decision = explained.decision
    if decision.gate is Gate.CONFIG:
        decision = replace(decision, reason=reason, unlock=unlock, detail=detail)
    return explained._replace(decision=decision, gates=gates)


def explain_unread(declaration: Declaration, context: Context, detail: str, unlock: str) -> Explanation:
    """Explain a server that its client does not read, because of the file that declares it."""
    reason = f"declared in a file where {declaration.client} reads no servers"
    tool = Tool(
        name=declaration.name,
        kind=declaration.kind,
        client=declaration.client,
        scope=declaration.scope,
        source=declaration.source,
        authority=Authority.CONFIG,
        project_hash=declaration.project_hash,
        dir=declaration.dir,
        server=declaration.server,
        config_status=ConfigStatus.ENABLED,
    )
    refusal = GateResult(False, reason, unlock, detail=detail)
    gates = [
        ExplainedGate(gate, refusal if gate is Gate.CONFIG else result)
        for gate, result in explain(tool, context)
    ]
    decision = Decision(verdict=Verdict.HIDDEN, gate=Gate.CONFIG, reason=reason, unlock=unlock, detail=detail)
    return Explanation(tool.name, tool, decision, gates)


def explain_skipped(name: str, problems: Iterable[Problem], context: Context) -> Explanation | None:
    """Explain the server of a name whose entry its client ignores, because the entry is invalid."""
    forms = spellings(name)
    for problem in problems:
        keys, _, label = problem.place.rpartition(".")
        if keys and (name == label or any(is_covered(form, server_name(label)) for form in forms)):
            reason, _, fix = problem.reason.partition("; ")
            detail = f"declared in {shorten(problem.source, context)}, but ignored: {reason}"
            unlock = fix or f"correct `{problem.place}`, or remove it"
            decision = replace(UNKNOWN, gate=Gate.CONFIG, detail=detail, unlock=unlock)
            gates = [ExplainedGate(Gate.CONFIG, GateResult(False, UNKNOWN.reason, unlock, detail=detail))]
            return Explanation(name, None, decision, gates)
    return None


def explain_called(explained: Explanation, called: Mapping[str, str]) -> Explanation:
    """Explain an unknown name that a Python application here calls: Remit sees the calls, not the tool."""
    framework = called.get(explained.name)
    if framework is None:
        return explained
    detail = f"called by a Python application here ({framework}); its rules are decided there"
    return explained._replace(decision=replace(explained.decision, detail=detail), unasked=())


def application_tool(name: str, framework: str) -> Tool:
    """Return a row for a tool of a Python application, of which only the name is known."""
    return Tool(name, Kind.BUILTIN, framework, Scope.PROJECT, "", Authority.REPORT)


def servers_of(tool: Tool, listed: Sequence[ToolDecision]) -> list[Key]:
    """List the keys of the available servers that a tool may belong to, in order."""
    return [
        server.key
        for server, decision in listed
        if (server.key == tool.key or is_covered(tool.name, server.name))
        and decision.is_available
        and server.client == tool.client
    ]


def _assumed(name: str, item: ToolDecision, context: Context) -> ToolDecision:
    """Decide about an unlisted tool of a known server by the tool's own name."""
    server = item.tool
    if server.kind is not Kind.MCP_SERVER or name == server.server:
        return item
    form = next((form for form in spellings(name) if is_covered(form, server.name)), server.name)
    if form == server.name:
        return item
    tool = server._replace(
        name=form, kind=Kind.MCP_TOOL, description=None, tokens=None, usage_count=0, change=None
    )
    return ToolDecision(tool, decide(tool, context))


def _is_of_client(item: ToolDecision, context: Context) -> bool:
    return context.client in (None, item.tool.client)


def _unknown(name: str, listed: Sequence[ToolDecision], client: str | None) -> Explanation:
    gates = [ExplainedGate(Gate.SCOPE, GateResult(False, UNKNOWN.reason))]
    near = suggest(name, listed, BUILTINS.get(client or "", ()))
    return Explanation(
        name=name,
        tool=None,
        decision=UNKNOWN,
        gates=gates,
        suggestions=near,
        full_names=with_bare_name(name, listed),
        unasked=_unasked(listed),
    )


def _unasked(listed: Sequence[ToolDecision]) -> list[UnaskedServer]:
    """List the servers whose tools are not known; a shadowed one never lists any."""
    return [
        _why_unasked(item)
        for item in listed
        if item.tool.kind is Kind.MCP_SERVER
        and item.tool.listed_at is None
        and item.tool.status is not ToolStatus.STALE
        and item.tool.config_status not in _GATEWAYS
        and item.tool.source != REMIT
        and item.decision.gate is not Gate.PRECEDENCE
    ]


_GATEWAYS = (None, ConfigStatus.ITSELF, ConfigStatus.NESTED, ConfigStatus.UNSERVED)


def _why_unasked(item: ToolDecision) -> UnaskedServer:
    tool, decision = item
    label = tool.server or tool.name
    if not decision.is_available:
        return UnaskedServer(label, decision.reason, decision.unlock)
    if tool.is_trusted is False:
        return UnaskedServer(label, "not trusted in Remit", f"run `{trust_command(label)}`")
    again = f"run `remit scan --connect {shlex.quote(label)}`"
    return UnaskedServer(label, _NOT_CONNECTED, again, tool.key)


def _is_tool_of(tool: Tool, server: Tool) -> bool:
    is_its = server.kind is Kind.MCP_SERVER and is_covered(tool.name, server.name)
    return (
        is_its
        and tool.kind is Kind.MCP_TOOL
        and tool.key[:-1] == (*server.key[:1], tool.kind, *server.key[2:-1])
    )
