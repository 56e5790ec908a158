"""Judging: what becomes of a call that a client is about to make by itself, and not through Remit.

It is decided like everything else. What the client says it has, and no file that is read declares, is judged
by its name: so that lists and modes count for it, and nothing is refused only because it was never seen.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from remit.decision.agents import Agent, AgentProfile, tool_refusal
from remit.decision.client_reports import ClientCall
from remit.decision.context import Context
from remit.decision.decide import Decision, ToolDecision, Verdict, decide
from remit.decision.inherited_status import adopt
from remit.decision.kinds import STARTERS, Authority, ConfigStatus, Kind
from remit.decision.lookup import closest_to_being_visible
from remit.decision.policy_rules import Mode
from remit.decision.scopes import Scope
from remit.decision.tool_names import classify, server_rows
from remit.decision.tools import Tool

# What a client's mode makes narrower; one that makes it wider does not count.
_NARROWING = {"plan": Mode.PLAN, "dontAsk": Mode.DONT_ASK}
# Where a client has a server from whose file is read.
_READ = frozenset({"user", "project", "local", "plugin", "managed", "enterprise", "agent"})
_IN_FORCE = (ConfigStatus.ENABLED, ConfigStatus.ITSELF)
_ORDER = {Verdict.VISIBLE: 0, Verdict.ASK: 1, Verdict.HIDDEN: 2}


def decide_call(call: ClientCall, catalog: Iterable[Tool], context: Context) -> Decision:
    """Decide about a call; the catalog need only have the rows that it names."""
    context = replace(context, starts_servers=False)  # the client has started what it is about to call
    tools = adopt([tool for tool in catalog if tool.client == context.client])
    call = call._replace(is_anothers=_is_anothers(call, tools))
    as_agent = _as_caller(call, tools, context)
    subjects = _subjects(call, tools, context)
    if not call.is_own:
        return _worst(_decided(call, rows, as_agent) for rows in subjects)
    # The gateway knows nothing of who calls: only what an agent may not, and the main session may, is said.
    agents = _worst(_decided(call, rows, as_agent) for rows in subjects)
    everybodys = _worst(_decided(call, rows, context) for rows in subjects)
    return agents if _ORDER[agents.verdict] > _ORDER[everybodys.verdict] else _SILENT


_SILENT = Decision(verdict=Verdict.VISIBLE, gate=None, reason="the gateway decides", unlock=None)


def _is_anothers(call: ClientCall, tools: Sequence[Tool]) -> bool:
    """Tell whether a call only looks as if it went through the gateway: any server may be called `remit`."""
    names = frozenset(server_rows(call.name)) if call.is_own else frozenset[str]()
    rows = [tool for tool in tools if tool.name in names and tool.config_status in _IN_FORCE]
    rows = [tool for tool in rows if call.server in (None, tool.server)] or rows
    in_force = [tool.config_status for tool in rows if tool.shadowed_by is None]
    return bool(in_force) and ConfigStatus.ITSELF not in in_force


def _decided(call: ClientCall, rows: Sequence[Tool], context: Context) -> Decision:
    """Decide about rows of one name, of which the one in force is meant."""
    modes = [context.mode]
    narrower = _NARROWING.get(call.mode or "")
    # In its plan mode a client keeps its own tools to the plan: one of them writes it down.
    if narrower is not None and (narrower is not Mode.PLAN or rows[0].kind is not Kind.BUILTIN):
        modes.append(narrower)
    return _worst(_nearest(rows, replace(context, mode=mode)) for mode in modes)


def _nearest(rows: Sequence[Tool], context: Context) -> Decision:
    listed = [ToolDecision(tool, decide(tool, context)) for tool in rows]
    return min(listed, key=closest_to_being_visible).decision


def _worst(decisions: Iterable[Decision]) -> Decision:
    return max(decisions, key=lambda each: _ORDER[each.verdict], default=_SILENT)


def _subjects(call: ClientCall, tools: Sequence[Tool], context: Context) -> list[Sequence[Tool]]:
    """List all that a call would use, each with the rows that may be meant."""
    rows = [tool for tool in tools if tool.name == call.tool and tool.kind is not Kind.MCP_SERVER]
    rows = [tool for tool in rows if call.server in (None, tool.server)] or rows
    if call.is_own:
        return [rows] if rows else []
    is_read = call.source is None or call.source in _READ
    found: list[Sequence[Tool]] = [rows if rows and is_read else [_assumed(call, tools, context, is_read)]]
    kinds = STARTERS.get(call.name, ())
    names = (call.subject, f"/{call.subject}")
    if through := [tool for tool in tools if tool.kind in kinds and tool.name in names]:
        found.append(through)
    return found


def _assumed(call: ClientCall, tools: Sequence[Tool], context: Context, is_read: bool) -> Tool:
    """Make the row of a tool that only the client knows of."""
    named = classify(call.tool)
    is_of_server = named.kind is Kind.MCP_TOOL
    made = Tool(
        name=call.tool,
        kind=named.kind,
        client=context.client or "",
        scope=Scope.DYNAMIC if is_of_server else Scope.GLOBAL,
        source="hook",
        authority=Authority.HOOK,
        project_hash=context.workspace.project.hash if is_of_server else None,
        server=(call.server or named.server) if is_of_server else None,
    )
    return adopt([*tools, made])[-1] if is_read else made


def agent_context(name: str | None, tools: Iterable[Tool], context: Context) -> Context:
    """Have a context be an agent's; of one that is not known, only its name counts."""
    if name is None:
        return context
    profiles = [tool.profile for tool in tools if tool.kind is Kind.SUBAGENT and tool.name == name]
    profile = next((each for each in profiles if each is not None), AgentProfile())
    return replace(context, agent=Agent(name=name, profile=profile))


def _as_caller(call: ClientCall, tools: Sequence[Tool], context: Context) -> Context:
    """Have a context be that of who calls."""
    context = agent_context(call.agent, tools, context)
    if call.is_own and context.agent is not None and context.agent.profile.tools is not None:
        # Where its list has the name that it calls, the list says nothing of the tool behind it.
        agent, profile = context.agent, context.agent.profile
        listed = replace(agent, profile=AgentProfile(tools=profile.tools))
        if tool_refusal(listed, call.name, Kind.MCP_TOOL) is None:
            return replace(context, agent=replace(agent, profile=replace(profile, tools=None)))
    return context
