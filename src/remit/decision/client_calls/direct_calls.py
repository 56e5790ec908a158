"""Decides about calls that a client makes itself, not through the gateway.

All gates apply. A tool that the client has but no scanned file declares is decided by its name: lists and
modes apply to it, but it is not refused only because it is unknown.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from remit.decision.client_calls.call_rows import (
    SILENT,
    covered_rows,
    is_stricter,
    meant_rows,
    nearest,
    rows_named,
    strictest,
    subject_rows,
    worst,
)
from remit.decision.client_calls.call_servers import (
    as_listed,
    as_started,
    decide_reached,
    is_anothers,
    refused_server,
)
from remit.decision.client_calls.calling_agents import possible_callers
from remit.decision.client_reports import ClientCall
from remit.decision.context import Context
from remit.decision.decide import Decision, ToolDecision, Verdict, decide
from remit.decision.gates import Gate
from remit.decision.kinds import Authority, Kind
from remit.decision.permissions.gateway_prompts import Inner, prompt_decision
from remit.decision.policy_rules import Mode
from remit.decision.row_status import adopt, without_untrusted
from remit.decision.tool_lookup import closest_to_being_visible
from remit.decision.tools import Tool

# Client modes that restrict; others are ignored.
_NARROWING = {"plan": Mode.PLAN, "dontAsk": Mode.DONT_ASK}


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
    rows = as_started(call, [tool for tool in catalog if tool.client == context.client])
    tools = [as_listed(tool) for tool in adopt(rows)]
    if context.is_installed and (refused := refused_server(call, tools)) is not None:
        return refused
    call = call._replace(is_anothers=is_anothers(call, tools))
    if call.is_own and context.is_installed:
        tools = without_untrusted(tools)  # as the gateway, which does not start them
    callers = possible_callers(call, tools, context)
    if not call.is_own:
        used = subject_rows(call, tools, context)
        decided = [strictest(callers, partial(_decided, call, rows)) for rows in used]
        reached = () if call.reached is None else (partial(decide_reached, call.reached, tools),)
        return worst([*decided, *(strictest(callers, each) for each in reached)])
    narrower = worst(_narrower(call, rows, callers, context) for rows in meant_rows(call, tools, context))
    prompted = _prompted(call, tools, own, needs_person) or SILENT
    return worst((prompted, narrower))


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
    callers_own = strictest(callers, partial(_decided, call, rows))
    everybodys = _decided(call._replace(mode=None), rows, context)
    if call.mode == "plan" and callers_own.gate is Gate.DANGER:  # where the client asks, and does not deny
        callers_own = replace(callers_own, verdict=Verdict.ASK, asked_by_client=True)
    return callers_own if is_stricter(callers_own, everybodys) else SILENT


def _prompted(
    call: ClientCall,
    tools: Sequence[Tool],
    context: Context,
    needs_person: Callable[[Tool], bool],
) -> Decision | None:
    """Apply the client's permission rules to the tool behind the gateway."""
    context = replace(context, starts_servers=False)
    # The gateway serves only what servers listed, whatever was reported of the name.
    served = [tool for tool in rows_named(call.tool, tools) if tool.authority is Authority.CONFIG]
    rows = served or covered_rows(call.tool, tools, context)
    listed = [ToolDecision(tool, decide(tool, context)) for tool in rows]
    closest = min(listed, key=closest_to_being_visible, default=None)
    if closest is None:
        return prompt_decision(call, None, tools, context)
    if not closest.decision.is_available:
        permissions = context.permissions_of(closest.tool.client)
        is_denied = permissions is not None and permissions.denying(closest.tool) is not None
        return closest.decision if is_denied and closest.decision.gate is Gate.POLICY else None
    # Only a listed tool is certainly the one that the gateway means by this name.
    inner = Inner(closest.tool, is_listed=bool(served), needs_person=needs_person(closest.tool))
    return prompt_decision(call, inner, tools, context)


def _decided(call: ClientCall, rows: Sequence[Tool], context: Context) -> Decision:
    """Decide about the rows of one name; the active row counts."""
    modes = [context.mode]
    narrower = _NARROWING.get(call.mode or "")
    # In plan mode the client restricts its own tools; one of them writes the plan.
    if narrower is not None and (narrower is not Mode.PLAN or rows[0].kind is not Kind.BUILTIN):
        modes.append(narrower)
    return worst(nearest(rows, replace(context, mode=mode)) for mode in modes)
