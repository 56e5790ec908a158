"""Turns Python tools into the rows, requirements and labels that `decide` needs."""

import json
from collections.abc import Iterable, Sequence

from remit.configuration.condition_rules import RuleCondition
from remit.configuration.config_model import ToolEntry
from remit.decision.danger import LEVELS
from remit.decision.globs import Glob
from remit.decision.kinds import Authority, ConfigStatus, Kind
from remit.decision.policy_rules import ConfigLocation, RuleStrength, SafetyRule
from remit.decision.requirements import LocationScope, Requirement, StateScope
from remit.decision.scopes import Scope
from remit.decision.tools import Definition, Tool
from remit.python_tools.decorators import DefinedTool

CLIENT = "python"


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


def definition(tool: DefinedTool) -> Definition:
    """Return the definition that an approval is bound to."""
    return Definition(
        name=tool.name,
        server=tool.source,
        description=tool.description,
        input_schema=json.dumps(tool.input_schema, sort_keys=True),
    )


def entry(states: Sequence[str], when: str | None, location: LocationScope | None) -> list[ToolEntry]:
    """Return the needs of a tool as configuration entries."""
    asked = StateScope(all=tuple(states)) if states else None
    made = ToolEntry("", states=asked, when=when, location=location)
    return [made] if made.has_condition else []
