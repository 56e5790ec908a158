"""Turns Python tools into the rows, requirements and labels that `decide` needs."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from remit.conditions.condition import Condition, condition
from remit.conditions.shorthand import LocationScope, StateScope
from remit.configuration.condition_rules import RuleCondition
from remit.configuration.config_model import RequiredLocation, RequiredStates, ToolEntry
from remit.decision.danger import LEVELS
from remit.decision.decide import Decision, ExplainedGate, Verdict
from remit.decision.gate_rules import GateResult
from remit.decision.globs import Glob
from remit.decision.kinds import Authority, ConfigStatus, Kind
from remit.decision.policy_rules import ConfigLocation, RuleStrength, SafetyRule
from remit.decision.requirements import Requirement
from remit.decision.scopes import Scope
from remit.decision.tools import Tool
from remit.python_tools.decorators import DefinedTool

CLIENT = "python"
_NOBODY = "and there is nobody here to ask"
_INSTEAD = "a person may run it, or say that it needs no approval"


def requirements(tool: DefinedTool) -> Iterable[Requirement]:
    """List the requirements of a tool."""
    return (Requirement(tool.name, RuleCondition(need), tool.source) for need in tool.needs)


def label(tool: DefinedTool) -> SafetyRule:
    """Return the policy label of a tool; configuration files can only narrow it."""
    where = tool.labelled_in or tool.source
    return SafetyRule(
        (Glob((tool.name,)),),
        RuleStrength.NARROWING,
        approval=(True, ConfigLocation(where, "approval")) if tool.approval else None,
        ai_enabled=(False, ConfigLocation(where, "ai_enabled")) if tool.ai_enabled is False else None,
    )


def hide_ask(decision: Decision) -> Decision:
    """Hide a tool that needs approval, because there is no one to ask."""
    if decision.verdict is not Verdict.ASK:
        return decision
    return replace(
        decision,
        verdict=Verdict.HIDDEN,
        reason=f"{decision.reason}, {_NOBODY}",
        unlock=_INSTEAD,
        detail=f"{decision.full_reason}, {_NOBODY}",
        next_step=None,
    )


def hide_ask_gate(each: ExplainedGate) -> ExplainedGate:
    """Mark a gate that asks for approval as failed."""
    if not each.result.asks:
        return each
    reason, detail = (f"{text}, {_NOBODY}" for text in (each.result.reason, each.result.full_reason))
    return ExplainedGate(each.gate, GateResult(False, reason, _INSTEAD, detail=detail))


def row(tool: DefinedTool) -> Tool:
    """Return the catalog row of a tool."""
    return Tool(
        name=tool.name,
        kind=Kind.BUILTIN,
        client=CLIENT,
        scope=Scope.GLOBAL,
        source=tool.source,
        authority=Authority.CONFIG,
        config_status=ConfigStatus.ENABLED,
        description=tool.description or None,
        danger=None if tool.danger is None else LEVELS[tool.danger],
    )


def entry(states: Sequence[str], when: str | None, location: LocationScope | None) -> list[ToolEntry]:
    """Return the needs of a tool as configuration entries."""
    asked = RequiredStates(all=tuple(states)) if states else None
    place = (
        None
        if location is None
        else RequiredLocation(location.pages, location.routes, location.components, location.elements)
    )
    made = ToolEntry("", states=asked, when=when, location=place)
    return [made] if made.has_condition else []


def read_condition(need: ToolEntry) -> Condition:
    """Read the condition of a tool.

    Raises:
        ConditionError: the condition is invalid.
    """
    states = None if need.states is None else StateScope(**need.states._asdict())
    location = None if need.location is None else LocationScope(**need.location._asdict())
    return condition(states=states, when=need.when, location=location)
