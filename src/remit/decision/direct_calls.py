"""Decides about calls that a client makes itself, not through the gateway.

All gates apply. A tool that the client has but no scanned file declares is decided by its name: lists and
modes apply to it, but it is not refused only because it is unknown.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from remit.decision.agents import Agent, AgentProfile, tool_refusal
from remit.decision.client_reports import SOURCE_SCOPES, ClientCall
from remit.decision.context import Context
from remit.decision.decide import Decision, ToolDecision, Verdict, decide
from remit.decision.gates import Gate
from remit.decision.kinds import RUNS, STARTERS, Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.permissions.gateway_prompts import Inner, prompt_decision
from remit.decision.policy_rules import Mode
from remit.decision.row_status import adopt, without_untrusted
from remit.decision.scopes import Scope
from remit.decision.tool_lookup import closest_to_being_visible
from remit.decision.tool_names import (
    GATEWAY_TOOLS,
    MCP,
    SERVER,
    canonical,
    classify,
    full_label,
    normalise,
    served_name,
    server_name,
    server_rows,
)
from remit.decision.tools import Tool

# Client modes that restrict; others are ignored.
_NARROWING = {"plan": Mode.PLAN, "dontAsk": Mode.DONT_ASK}
_OURS = frozenset({None, "user", "managed", "enterprise"})  # sources of our gateway
_AGENT = "agent"  # client source: the definition of an agent
_READ = frozenset({*SOURCE_SCOPES, _AGENT})  # client sources whose files Remit reads
# Client sources that no repository can write: the user's and the administrator's files, and the launch.
_USERS = frozenset({"user", "local", "managed", "enterprise", "dynamic", "sdk", "claudeai"})
_OF_SERVERS = (Kind.MCP_SERVER, Kind.MCP_TOOL)
_DIGITS, _HEX = 8, frozenset("0123456789abcdef")  # of the hash in a served name
_GENERAL = "general-purpose"  # the client's own agent that may start others; no file declares it
_ORDER = {Verdict.VISIBLE: 0, Verdict.ASK: 1, Verdict.HIDDEN: 2}


def decide_call(
    call: ClientCall,
    catalog: Iterable[Tool],
    context: Context,
    needs_person: Callable[[Tool], bool] = lambda _tool: False,
) -> Decision:
    """Decide about a call; the catalog needs only the rows in `call.names`.

    The client applies its own permission rules itself, except to tools behind the gateway.
    """
    own, context = context, replace(context, permissions=None)
    # The client has already started the server.
    context = replace(context, starts_servers=False, is_installed=context.starts_servers)
    rows = _as_started(call, [tool for tool in catalog if tool.client == context.client])
    tools = [_as_listed(tool) for tool in adopt(rows)]
    if context.is_installed and (refused := _refused_server(call, tools)) is not None:
        return refused
    call = call._replace(is_anothers=_is_anothers(call, tools))
    if call.is_own and context.is_installed:
        tools = without_untrusted(tools)  # as the gateway, which does not start them
    callers = _callers(call, tools, context)
    if not call.is_own:
        subjects = _subjects(call, tools, context)
        decided = [_strictest(callers, partial(_decided, call, rows)) for rows in subjects]
        reached = () if call.reached is None else (partial(_reached, call.reached, tools),)
        return _worst([*decided, *(_strictest(callers, each) for each in reached)])
    narrower = _worst(_narrower(call, rows, callers, context) for rows in _meant(call, tools, context))
    prompted = _prompted(call, tools, own, needs_person) or _SILENT
    return narrower if _ORDER[narrower.verdict] > _ORDER[prompted.verdict] else prompted


def depends_on_catalog(call: ClientCall, catalog: Iterable[Tool]) -> bool:
    """Return whether a decision depends on more rows than those in `call.names`."""
    if call.is_orphan:
        return True
    is_narrowed = call.agent is not None or call.mode in _NARROWING
    listed = (tool.name for tool in catalog if tool.authority is Authority.CONFIG)
    return is_narrowed and call.is_own and not any(name in call.meant for name in listed)


def _narrower(
    call: ClientCall, rows: Sequence[Tool], callers: Sequence[Context], context: Context
) -> Decision:
    """Decide only about what the gateway cannot: it knows neither the agent nor the client's mode."""
    callers_own = _strictest(callers, partial(_decided, call, rows))
    everybodys = _decided(call._replace(mode=None), rows, context)
    if call.mode == "plan" and callers_own.gate is Gate.DANGER:  # where the client asks, and does not deny
        callers_own = replace(callers_own, verdict=Verdict.ASK, asked_by_client=True)
    return callers_own if _ORDER[callers_own.verdict] > _ORDER[everybodys.verdict] else _SILENT


def _prompted(
    call: ClientCall,
    tools: Sequence[Tool],
    context: Context,
    needs_person: Callable[[Tool], bool],
) -> Decision | None:
    """Apply the client's permission rules to the tool behind the gateway."""
    context = replace(context, starts_servers=False)
    # The gateway serves only what servers listed, whatever was reported of the name.
    served = [tool for tool in _rows(call.tool, tools) if tool.authority is Authority.CONFIG]
    rows = served or _covered(call.tool, tools, context)
    listed = [ToolDecision(tool, decide(tool, context)) for tool in rows]
    nearest = min(listed, key=closest_to_being_visible, default=None)
    if nearest is None:
        return prompt_decision(call, None, tools, context)
    if not nearest.decision.is_available:
        permissions = context.permissions_of(nearest.tool.client)
        is_denied = permissions is not None and permissions.denying(nearest.tool) is not None
        return nearest.decision if is_denied and nearest.decision.gate is Gate.POLICY else None
    # Only a listed tool is certainly the one that the gateway means by this name.
    inner = Inner(nearest.tool, is_listed=bool(served), needs_person=needs_person(nearest.tool))
    return prompt_decision(call, inner, tools, context)


def _meant(call: ClientCall, tools: Sequence[Tool], context: Context) -> list[Sequence[Tool]]:
    """List what a call through the gateway may mean, each with its candidate rows."""
    if call.served in GATEWAY_TOOLS:
        return []
    named = [_rows(name, tools) for name in call.meant]
    if any(tool.authority is Authority.CONFIG for rows in named for tool in rows):
        return [rows for rows in named if rows]
    renamed = [tool for tool in tools if _may_be_served_as(call.served or "", tool)]
    found = [*named, *([tool] for tool in renamed)]
    for name in call.meant:
        found.append([each for each in _covered(name, tools, context) if not _has_server(each, renamed)])
    return [rows for rows in found if rows]


def _has_server(tool: Tool, others: Sequence[Tool]) -> bool:
    return any((each.server, each.plugin) == (tool.server, tool.plugin) for each in others)


def _may_be_served_as(name: str, tool: Tool) -> bool:
    """Return whether a tool may have a served name without its server, or one that ends in a hash."""
    if tool.kind is not Kind.MCP_TOOL or tool.authority is not Authority.CONFIG:
        return False
    prefix = server_name(tool.server or "", tool.plugin)[:-1]
    forms = (tool.name.removeprefix(MCP), tool.name.removeprefix(prefix))
    name = normalise(name)
    stem, _, mark = name.rpartition("_")
    is_hashed = bool(stem) and len(mark) == _DIGITS and _HEX.issuperset(mark)
    return any(form == name or (is_hashed and form.startswith(stem)) for form in forms)


def _rows(name: str, tools: Sequence[Tool]) -> list[Tool]:
    return [tool for tool in tools if tool.name == name and tool.kind is not Kind.MCP_SERVER]


def _covered(name: str, tools: Sequence[Tool], context: Context) -> list[Tool]:
    """Build a row for an unlisted tool behind the gateway, if a server covers its name."""
    assumed = _assumed(name, None, tools, context, is_read=True)
    return [] if assumed.config_status is None else [assumed]


def _as_started(call: ClientCall, tools: Sequence[Tool]) -> Sequence[Tool]:
    """Leave out other declarations of the server that the client started, if a file declares that one."""
    scope = SOURCE_SCOPES.get(call.source or "")
    is_declared = any(tool.scope is scope for tool in _servers_named(call, tools))
    if not is_declared or served_name(call.name) is not None:  # the gateway has a declaration of its own
        return tools
    return [tool for tool in tools if tool.scope is scope or tool.kind not in _OF_SERVERS]


def _as_listed(tool: Tool) -> Tool:
    """Return a tool as the client has it: its server lists it there, whatever it listed to Remit."""
    return tool._replace(is_unlisted=False, status=ToolStatus.ACTIVE) if tool.is_unlisted else tool


_SILENT = Decision(verdict=Verdict.VISIBLE, gate=None, reason="the gateway decides", unlock=None)


def _refused_server(call: ClientCall, tools: Sequence[Tool]) -> Decision | None:
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


def _reached(label: str, tools: Sequence[Tool], context: Context) -> Decision:
    """Decide about the server whose resources a tool of the client lists or reads.

    The client does not tell where it found that server, so every declaration of the name counts.
    """
    if not label:
        return _EVERY_SERVER if context.is_installed else _SILENT
    named = [tool for tool in tools if _is_declared(tool) and tool.name == server_name(label)]
    gateways = [tool for tool in named if _is_gateway(tool)]
    others = [tool for tool in named if tool not in gateways]
    if context.is_installed and any(tool.is_trusted is False for tool in others):
        return _UNDECLARED
    if gateways:
        return _SILENT
    if context.is_installed and not others:
        return _UNKNOWN_SERVER
    return _nearest(others, context) if others else _SILENT


def _declarations(call: ClientCall, tools: Sequence[Tool]) -> list[Tool]:
    """Return the declarations that the client may have started the server from: those in force, if any."""
    rows = [tool for tool in _servers_named(call, tools) if _is_from(call, tool)]
    if call.source == _AGENT:  # an agent's agents may have its servers
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
    if call.source == _AGENT:
        return server.agent is not None
    return server.agent is None and server.scope is SOURCE_SCOPES.get(call.source)


def _is_gateway(tool: Tool) -> bool:
    return tool.config_status is ConfigStatus.ITSELF and tool.shadowed_by is None


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


def _is_anothers(call: ClientCall, tools: Sequence[Tool]) -> bool:
    """Return whether another server uses the name `remit`, so the call does not reach the gateway."""
    names = frozenset(server_rows(call.name)) if call.is_own else frozenset[str]()
    rows = [tool for tool in tools if tool.name in names and tool.config_status in RUNS]
    rows = [tool for tool in rows if call.server in (None, tool.server)] or rows
    in_force = [tool.config_status for tool in rows if tool.shadowed_by is None]
    return bool(in_force) and ConfigStatus.ITSELF not in in_force


def _decided(call: ClientCall, rows: Sequence[Tool], context: Context) -> Decision:
    """Decide about the rows of one name; the active row counts."""
    modes = [context.mode]
    narrower = _NARROWING.get(call.mode or "")
    # In plan mode the client restricts its own tools; one of them writes the plan.
    if narrower is not None and (narrower is not Mode.PLAN or rows[0].kind is not Kind.BUILTIN):
        modes.append(narrower)
    return _worst(_nearest(rows, replace(context, mode=mode)) for mode in modes)


def _nearest(rows: Sequence[Tool], context: Context) -> Decision:
    listed = [ToolDecision(tool, decide(tool, context)) for tool in rows]
    return min(listed, key=closest_to_being_visible).decision


def _worst(decisions: Iterable[Decision]) -> Decision:
    return max(decisions, key=lambda each: _ORDER[each.verdict], default=_SILENT)


def _subjects(call: ClientCall, tools: Sequence[Tool], context: Context) -> list[Sequence[Tool]]:
    """List everything a call uses, each with its candidate rows."""
    rows = _rows(call.tool, tools)
    rows = [tool for tool in rows if call.server in (None, tool.server)] or rows
    is_read = call.source is None or call.source in _READ
    if not rows or not is_read:
        rows = [_assumed(call.tool, call.server, tools, context, is_read)]
    found: list[Sequence[Tool]] = [rows]
    kinds = STARTERS.get(call.name, ())
    names = (call.subject, f"/{call.subject}")
    if through := [tool for tool in tools if tool.kind in kinds and tool.name in names]:
        found.append(through)
    return found


def _assumed(name: str, server: str | None, tools: Sequence[Tool], context: Context, is_read: bool) -> Tool:
    """Build a row for a tool that only the client knows."""
    named = classify(name)
    is_of_server = named.kind is Kind.MCP_TOOL
    made = Tool(
        name=name,
        kind=named.kind,
        client=context.client or "",
        scope=Scope.DYNAMIC if is_of_server else Scope.GLOBAL,
        source="hook",
        authority=Authority.HOOK,
        project_hash=context.workspace.project.hash if is_of_server else None,
        server=(server or named.server) if is_of_server else None,
    )
    return adopt([*tools, made])[-1] if is_read else made


def agent_context(
    name: str | None, tools: Iterable[Tool], context: Context, parents: Sequence[str] | None = None
) -> Context:
    """Return the context of an agent; an unknown agent has only a name.

    `parents` are the agents above it, nearest first; None if they are not known.
    """
    if name is None:
        return context
    profiles = {tool.name: tool.profile for tool in tools if tool.kind is Kind.SUBAGENT and tool.profile}
    above: tuple[Agent, ...] = ()
    is_from_main = parents is not None
    for each in reversed(parents or ()):
        # The client gives each agent the tools that it lists itself, whatever its parent lists.
        profile = replace(profiles.get(each, AgentProfile()), tools=None, denied_tools=())
        above = (Agent(name=each, profile=profile, parents=above, is_from_main=is_from_main), *above)
    profile = profiles.get(name, AgentProfile())
    agent = Agent(name=name, profile=profile, parents=above, is_from_main=is_from_main)
    return replace(context, agent=agent)


def _callers(call: ClientCall, tools: Sequence[Tool], context: Context) -> list[Context]:
    """Return the context of the caller, and if nobody knows its parent, one below each possible parent."""
    known = _as_caller(call, tools, context)
    if not call.is_orphan:
        return [known]
    declared = [tool.name for tool in tools if tool.kind is Kind.SUBAGENT]
    filtered = () if context.filters is None else (_GENERAL, *declared)  # a filter may look at any parent
    parents = dict.fromkeys((*context.policy.agents, *filtered))
    return [known, *(_as_caller(call._replace(parents=(each,)), tools, context) for each in parents)]


def _strictest(callers: Sequence[Context], judge: Callable[[Context], Decision]) -> Decision:
    """Decide for the caller; a stricter decision below a possible parent counts, and says why."""
    known, *possible = callers
    found = judge(known)
    for each in possible:
        if found.verdict is Verdict.HIDDEN:
            break
        below = judge(each)
        if _ORDER[below.verdict] > _ORDER[found.verdict]:
            found = replace(
                below,
                reason=f"{_ORPHANED}: {below.reason}",
                detail=f"{_ORPHANED}: {below.full_reason}",
            )
    return found


_ORPHANED = "the agent that started this one is unknown, so the rules for every agent apply"


def _as_caller(call: ClientCall, tools: Sequence[Tool], context: Context) -> Context:
    """Return the context of the caller."""
    context = agent_context(call.agent, tools, context, call.parents)
    if call.is_own and context.agent is not None and context.agent.profile.tools is not None:
        # If an agent's list contains the gateway's name of a tool, it does not restrict the tool itself.
        agent, profile = context.agent, context.agent.profile
        listed = replace(agent, profile=AgentProfile(tools=profile.tools))
        if tool_refusal(listed, call.name, Kind.MCP_TOOL) is None:
            return replace(context, agent=replace(agent, profile=replace(profile, tools=None)))
    return context
