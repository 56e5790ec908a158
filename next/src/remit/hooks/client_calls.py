"""Decides about the calls that a client is about to make: its own, and those that go through the gateway.

All gates apply to the client's own calls. A tool that no file declares is judged by its name, and never
refused because it is unknown. The gateway decides about its calls itself, but it knows neither the agent nor
the client's mode, and the client asks for permission first: so the hook refuses early what is hidden, and
lifts the client's question where a rule of the client allows the tool behind the gateway. It never asks.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from remit.decision import (
    CALL_TOOL,
    GATEWAY_TOOLS,
    SERVER,
    STARTERS,
    Agent,
    AgentProfile,
    Authority,
    ClientPermissions,
    Context,
    Decision,
    Face,
    Gate,
    Kind,
    Mode,
    Scope,
    Status,
    Tool,
    ToolDecision,
    Verdict,
    adopt,
    canonical,
    classify,
    decide,
    full_label,
    meant_names,
    served_name,
    server_name,
    server_rows,
    tool_refusal,
)
from remit.hooks.event import Event

_SOURCES = {  # how a client names the file in which it found a server
    "user": Scope.GLOBAL,
    "project": Scope.PROJECT,
    "local": Scope.LOCAL,
    "plugin": Scope.PLUGIN,
    "managed": Scope.MANAGED,
    "enterprise": Scope.MANAGED,
    "dynamic": Scope.DYNAMIC,
}
_NARROWING = {"plan": Mode.PLAN, "dontAsk": Mode.DONT_ASK}  # modes of the client that restrict
_READING = tuple(name for name in GATEWAY_TOOLS if name != CALL_TOOL)  # Remit's own tools that change nothing
_OF_SERVERS = (Kind.MCP_SERVER, Kind.MCP_TOOL)
_BY_CLIENT = (
    Gate.SCOPE,
    Gate.CONFIG,
    Gate.PRECEDENCE,
)  # gates that say nothing of a tool that is only assumed
_ORDER = {Verdict.VISIBLE: 0, Verdict.ASK: 1, Verdict.HIDDEN: 2}
_SILENT = Decision(Verdict.VISIBLE, None, "nothing objects")
_ORPHANED = "the agent that started this one is unknown, so the rules for every agent apply"


class CallDecision(NamedTuple):
    """The decision about a call, and whether the client need not ask about it."""

    decision: Decision
    lifts: bool = False
    tool: str = ""  # canonical


def names_of(call: Event) -> list[str]:
    """List the names of all rows that the decision about a call depends on."""
    served = served_name(call.called)
    tools = (canonical(call.called), *(() if served is None else meant_names(served)), server_name(SERVER))
    started = (call.subject, f"/{call.subject}") if call.subject else ()
    agents = () if call.agent is None else (call.agent, *(call.parents or ()))
    reached = () if call.reached is None else (server_name(call.reached),)
    return list(dict.fromkeys((*tools, *started, *agents, *reached)))


def decide_call(call: Event, rows: Iterable[Tool], context: Context) -> CallDecision:
    """Decide about a call; `rows` are those with one of its names."""
    tools = [tool for tool in rows if tool.client == context.client]
    if _is_gateways(call, tools):
        return _through_gateway(call, tools, context)
    # The client applies its own permission rules itself, and has already started the server.
    context = context._replace(permissions={}, face=Face.GUARDED)
    callers = _callers(call, tools, context)
    decision = _worst(_strictest(call, used, callers) for used in _used_rows(call, tools, context))
    return CallDecision(decision, tool=call.subject or canonical(call.called))


def used_rows(call: Event, rows: Iterable[Tool], context: Context) -> list[Tool]:
    """List the rows that a call may use; one by its name, if none is known."""
    tools = [tool for tool in rows if tool.client == context.client]
    if _is_gateways(call, tools):
        return [inner_tool(call, tools) or _named(call, tools, context)]
    return [tool for used in _used_rows(call, tools, context) for tool in used]


def depends_on_caller(call: Event, context: Context) -> bool:
    """Return whether a decision depends on more of the calling agent than its name."""
    return call.agent is not None and (bool(context.rules.agents) or call.parents != ())


def inner_tool(call: Event, rows: Iterable[Tool]) -> Tool | None:
    """Return the tool behind the gateway that a call means, if its server listed it."""
    served = served_name(call.called)
    meant = () if served is None else meant_names(served)
    listed = [tool for tool in rows if tool.kind is Kind.MCP_TOOL and tool.authority is Authority.CONFIG]
    return next((tool for name in meant for tool in listed if tool.name == name), None)


def _is_gateways(call: Event, tools: Sequence[Tool]) -> bool:
    """Return whether a call certainly reaches our gateway: its entry counts, from the file that was read."""
    if served_name(call.called) is None or call.label not in (None, SERVER):
        return False
    return any(
        tool.status is Status.ITSELF
        and tool.shadowed_by is None
        and (call.source is None or _SOURCES.get(call.source) is tool.scope)
        for tool in tools
    )


def _through_gateway(call: Event, tools: Sequence[Tool], context: Context) -> CallDecision:
    served = served_name(call.called) or ""
    if served in GATEWAY_TOOLS:
        return CallDecision(_SILENT, lifts=served in _READING and not call.calls_another, tool=served)
    tool = inner_tool(call, tools)
    if tool is None:
        return CallDecision(_unlisted(call, tools, context), tool=meant_names(served)[0])
    context = context._replace(face=Face.GATEWAY)
    same = [row for row in adopt(tools, gateway=True) if row.name == tool.name]
    decision = _strictest(call, same, _callers(call, tools, context))
    if decision.verdict is Verdict.HIDDEN:
        return CallDecision(decision, tool=tool.name)
    decision = _SILENT if decision.verdict is Verdict.ASK else decision  # the gateway asks itself
    permissions = context.permissions.get(tool.client) or ClientPermissions()
    lifts = permissions.allowing(tool) is not None and permissions.asking(tool) is None
    return CallDecision(decision, lifts, tool.name)


def _unlisted(call: Event, tools: Sequence[Tool], context: Context) -> Decision:
    """Narrow a call of a tool that is not known by this name: the gateway may have shortened it."""
    context = context._replace(face=Face.CLIENT)
    decision = _strictest(call, [_named(call, tools, context)], _callers(call, tools, context))
    is_refused = decision.verdict is Verdict.HIDDEN and decision.gate not in _BY_CLIENT
    return decision if is_refused else _SILENT


def _used_rows(call: Event, tools: Sequence[Tool], context: Context) -> list[list[Tool]]:
    """List what a call of the client's own uses, each with its rows: the tool, what it starts, a server."""
    name, started = canonical(call.called), STARTERS.get(call.called, ())
    tools = [_as_listed(tool) for tool in adopt(_as_started(call, tools))]
    rows = [tool for tool in tools if tool.name == name and tool.kind is not Kind.MCP_SERVER]
    rows = [tool for tool in rows if call.server in (None, tool.server)] or rows
    subjects = (call.subject, f"/{call.subject}")
    reached = None if call.reached is None else server_name(call.reached)
    used = [
        rows or [_assumed(name, call.server, tools, context)],
        [tool for tool in tools if tool.kind in started and tool.name in subjects],
        [tool for tool in tools if tool.name == reached],
    ]
    return list(filter(None, used))


def _named(call: Event, tools: Sequence[Tool], context: Context) -> Tool:
    """Make a row for what a call through the gateway names."""
    return _assumed(meant_names(served_name(call.called) or "")[0], None, tools, context)


def _assumed(name: str, server: str | None, tools: Sequence[Tool], context: Context) -> Tool:
    """Make a row for a tool that only the client knows, with the status of its server."""
    kind, _, named = classify(name)
    is_servers = kind is Kind.MCP_TOOL
    made = Tool(
        context.client or "",
        kind,
        Scope.DYNAMIC if is_servers else Scope.GLOBAL,
        context.workspace.project.hash if is_servers else None,
        None,
        None,
        (server or named) if is_servers else None,
        name,
        authority=Authority.HOOK,
        status=Status.SEEN,
    )
    return adopt([*tools, made])[-1]


def _as_started(call: Event, tools: Sequence[Tool]) -> Sequence[Tool]:
    """Leave out other declarations than that of the started server, if a file has that one."""
    name = canonical(call.called)
    scope, names = _SOURCES.get(call.source or ""), frozenset((name, *server_rows(name)))

    def is_started(tool: Tool) -> bool:
        return tool.scope is scope and call.label in (None, full_label(tool.server or "", tool.plugin))

    servers = [tool for tool in tools if tool.kind is Kind.MCP_SERVER and tool.name in names]
    if scope is None or not any(map(is_started, servers)):
        return tools
    return [
        tool for tool in tools if tool.kind not in _OF_SERVERS or tool.name not in names or is_started(tool)
    ]


def _as_listed(tool: Tool) -> Tool:
    """Return a tool as the client has it: its server lists it there, whatever it listed to Remit."""
    return tool._replace(status=Status.ENABLED) if tool.status is Status.UNLISTED else tool


def _callers(call: Event, tools: Sequence[Tool], context: Context) -> list[Context]:
    """Return the context of the caller, and if nobody knows its parent, one below each possible parent."""
    if call.agent is None:
        return [context]
    profiles = {tool.name: tool.profile for tool in tools if tool.kind is Kind.SUBAGENT and tool.profile}
    own = _as_caller(call, profiles.get(call.agent, AgentProfile()))

    def below(parents: Sequence[str], *, is_from_main: bool) -> Context:
        above: tuple[Agent, ...] = ()
        for parent in reversed(parents):
            # The client gives each agent the tools that it lists itself, whatever its parent lists.
            profile = profiles.get(parent, AgentProfile())._replace(tools=None, denied_tools=())
            above = (Agent(parent, profile, above, is_from_main), *above)
        return context._replace(agent=Agent(call.agent or "", own, above, is_from_main))

    if call.parents is not None:
        return [below(call.parents, is_from_main=True)]
    return [
        below([], is_from_main=False),
        *(below([name], is_from_main=False) for name in context.rules.agents),
    ]


def _as_caller(call: Event, profile: AgentProfile) -> AgentProfile:
    """Drop the list of an agent that has the gateway's name of the tool: it means the tool itself."""
    listed = Agent(call.agent or "", AgentProfile(tools=profile.tools))
    has_served = (
        served_name(call.called) is not None and tool_refusal(listed, call.called, Kind.MCP_TOOL) is None
    )
    return profile._replace(tools=None) if has_served else profile


def _strictest(call: Event, rows: Sequence[Tool], callers: Sequence[Context]) -> Decision:
    """Decide for the caller; a stricter decision below a possible parent counts, and says why."""
    known, *possible = callers
    decision = _decided(call, rows, known)
    for caller in possible:
        below = _decided(call, rows, caller)
        if _ORDER[below.verdict] > _ORDER[decision.verdict]:
            decision = below._replace(
                reason=f"{_ORPHANED}: {below.reason}", detail=f"{_ORPHANED}: {below.full_reason}"
            )
    return decision


def _decided(call: Event, rows: Sequence[Tool], context: Context) -> Decision:
    """Decide about the rows of one name, of which the one that is nearest to being visible counts."""
    modes: list[Mode | None] = [context.mode]
    narrower = _NARROWING.get(call.mode)
    # In plan mode the client restricts its own tools; one of them writes the plan.
    if narrower is not None and (narrower is not Mode.PLAN or rows[0].kind is not Kind.BUILTIN):
        modes.append(narrower)
    return _worst(_nearest(rows, context._replace(mode=mode)) for mode in modes)


def _nearest(rows: Sequence[Tool], context: Context) -> Decision:
    if len(rows) == 1:
        return decide(rows[0], context)
    from remit.decision import closest_to_being_visible  # few names have several declarations

    return min(
        (ToolDecision(tool, decide(tool, context)) for tool in rows), key=closest_to_being_visible
    ).decision


def _worst(decisions: Iterable[Decision]) -> Decision:
    """Return the strictest decision; the first of equals counts."""
    return max(decisions, key=lambda decision: _ORDER[decision.verdict], default=_SILENT)
