"""Decides whether a tool may be used: the one rule behind every list, call, search and explanation."""

from collections.abc import Callable, Iterable
from enum import StrEnum

from remit.decision import gates
from remit.decision.context import Context, Decision, Face, Gate, ToolDecision, Verdict
from remit.decision.names import REMIT
from remit.decision.rules import NO_RULES
from remit.decision.tools import Tool, without_text


class Basis(StrEnum):
    """What a gate's answer depends on; it stays true until this changes."""

    CATALOG = "catalog"  # stored rows, the client's permission rules, what the user trusts
    RULES = "rules"  # Remit's own files
    STATES = "states"
    CALL = "call"


GateRule = Callable[[Tool, Context], Decision]
GateTable = tuple[tuple[Gate, GateRule, Basis], ...]

GATES: GateTable = (  # the first that objects decides
    (Gate.SCOPE, gates.scope, Basis.CATALOG),
    (Gate.CONFIG, gates.config, Basis.CATALOG),
    (Gate.PRECEDENCE, gates.precedence, Basis.CATALOG),
    (Gate.AGENT, gates.agent, Basis.CATALOG),
    (Gate.POLICY, gates.policy, Basis.RULES),
    (Gate.DEFINITION, gates.definition, Basis.CATALOG),
    (Gate.STATE, gates.state, Basis.STATES),
    (Gate.ARGUMENTS, gates.arguments, Basis.CALL),
    (Gate.DANGER, gates.danger, Basis.RULES),  # last, so an unavailable tool is not reported as forbidden
)
SETTLED_GATES: GateTable = GATES[:6]  # decided once for each catalog
CHANGING_GATES: GateTable = GATES[6:]  # decided again for each snapshot and each call
_CLIENT_GATES: GateTable = (*GATES[:5], GATES[-1])


def decide(tool: Tool, context: Context, table: GateTable = GATES) -> Decision:
    """Decide whether a tool may be used in a context."""
    for _, rule, _ in table:
        decision = rule(tool, context)
        if decision.verdict is not Verdict.VISIBLE:
            return decision
    return Decision(Verdict.VISIBLE, None, gates.declared_in(tool, context))


def explain(tool: Tool, context: Context) -> list[Decision]:
    """List what every gate says, including those after the deciding one."""
    decisions = [rule(tool, context) for _, rule, _ in GATES]
    mentions = any(rule.call is not None for rule in context.rules.of(tool.name))
    return [item for item in decisions if item.gate is not Gate.ARGUMENTS or mentions]


def holds_text(tool: Tool) -> bool:
    """Return whether no model may read a tool's definition, even where another gate hides the tool first."""
    return tool.held is not None and tool.held.hides_text


def told_to_models(listed: Iterable[ToolDecision]) -> list[ToolDecision]:
    """Return tools as a model may know them: of a held definition, only the name and the reason."""
    return [item._replace(tool=without_text(item.tool)) if holds_text(item.tool) else item for item in listed]


def offered_alone(listed: Iterable[ToolDecision], context: Context) -> list[ToolDecision]:
    """Select what the client offers without Remit and its rules."""
    alone = context._replace(face=Face.CLIENT, rules=NO_RULES, refusals={})
    return [
        item
        for item in listed
        if item.tool.source != REMIT and decide(item.tool, alone, _CLIENT_GATES).is_available
    ]
