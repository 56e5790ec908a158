"""Decides whether a tool may be used: the one rule behind every list, call, search and explanation.

The gates run in the order of the table below. The first gate that objects decides.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from remit.decision import gate_rules
from remit.decision.context import Context
from remit.decision.gate_rules import GateResult
from remit.decision.gates import Gate, NextStep
from remit.decision.policy import NO_POLICY
from remit.decision.tool_names import REMIT
from remit.decision.tools import Tool, without_text

GateRule = Callable[[Tool, Context], GateResult]
GateTable = tuple[tuple[Gate, GateRule], ...]

GATES: GateTable = (
    (Gate.SCOPE, gate_rules.scope),
    (Gate.CONFIG, gate_rules.config),
    (Gate.PRECEDENCE, gate_rules.precedence),
    (Gate.AGENT, gate_rules.agent),
    (Gate.POLICY, gate_rules.policy),
    (Gate.DEFINITION, gate_rules.definition),
    (Gate.STATE, gate_rules.state),
    (Gate.DANGER, gate_rules.danger),  # last, so an unavailable tool is not reported as forbidden
)
CATALOG_GATES: GateTable = tuple(row for row in GATES if not row[0].depends_on_states)
CLIENT_GATES: GateTable = tuple(row for row in GATES if row[0] is Gate.POLICY or not row[0].is_ours)
SNAPSHOT_GATES: GateTable = tuple(row for row in GATES if row[0].depends_on_states)


class Verdict(StrEnum):
    """What an agent may do with a tool."""

    VISIBLE = "visible"
    ASK = "ask"  # callable after approval
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Whether a tool may be used here and now, and why.

    It speaks with two voices. A model reads `reason` and `next_step`: which rule objects, and what the model
    itself can do. How to change the rule is for people, who read `full_reason` and `unlock`.
    """

    verdict: Verdict
    gate: Gate | None  # None: every gate passed
    reason: str  # names a state or rule, never its file or how a state is detected
    unlock: str | None  # what would change the verdict, if anything
    asked_by_client: bool = False  # a rule of the client asks, so the client's own prompt is enough
    lifts_prompt: bool = False  # a rule of the client allows the call, so the client need not ask
    detail: str | None = None  # the reason with files, lines and detectors, if it has any
    next_step: NextStep | None = None

    @property
    def full_reason(self) -> str:
        """The reason for people."""
        return self.detail or self.reason

    @property
    def is_available(self) -> bool:
        """Whether the tool is listed and can be called, perhaps after approval."""
        return self.verdict is not Verdict.HIDDEN

    @property
    def frees_name(self) -> bool:
        """Whether the tool is never served here, so another tool may use its name."""
        return self.gate is not None and self.gate.frees_name


class ToolDecision(NamedTuple):
    """A tool and the decision about it."""

    tool: Tool
    decision: Decision


class ExplainedGate(NamedTuple):
    """A gate and its result, as `remit why` prints it."""

    gate: Gate
    result: GateResult


UNKNOWN = Decision(verdict=Verdict.HIDDEN, gate=Gate.SCOPE, reason=gate_rules.UNKNOWN_TOOL, unlock=None)


def decide(tool: Tool, context: Context) -> Decision:
    """Decide whether a tool may be used in a context."""
    return decide_by(GATES, tool, context)


def decide_by(table: GateTable, tool: Tool, context: Context) -> Decision:
    """Decide with some of the gates, in their order."""
    for gate, check in table:
        result = check(tool, context)
        if not result.passed or result.asks:
            verdict = Verdict.ASK if result.passed else Verdict.HIDDEN
            return Decision(
                verdict=verdict,
                gate=gate,
                reason=result.reason,
                unlock=result.unlock,
                asked_by_client=result.asks and result.by_client,
                detail=result.detail,
                next_step=result.next_step,
            )
    return Decision(verdict=Verdict.VISIBLE, gate=None, reason=gate_rules.origin(tool, context), unlock=None)


def holds_text(tool: Tool, context: Context) -> bool:
    """Return whether no model may read a tool's definition, even where another gate hides the tool first."""
    return not gate_rules.definition(tool, context).passed


def told_to_models(context: Context, listed: Iterable[ToolDecision]) -> list[ToolDecision]:
    """Return tools as a model may know them: of a held definition, only the name and the reason."""
    return [
        item._replace(tool=without_text(item.tool)) if holds_text(item.tool, context) else item
        for item in listed
    ]


def explain(tool: Tool, context: Context) -> list[ExplainedGate]:
    """List the result of every gate, including those after the deciding one."""
    return [ExplainedGate(gate, check(tool, context)) for gate, check in GATES]


def offered_alone(listed: Iterable[ToolDecision], context: Context) -> list[ToolDecision]:
    """Select what the client offers without Remit and its rules."""
    alone = replace(context, starts_servers=False, is_installed=False, policy=NO_POLICY, filters=None)
    return [
        item
        for item in listed
        if item.tool.source != REMIT and decide_by(CLIENT_GATES, item.tool, alone).is_available
    ]
