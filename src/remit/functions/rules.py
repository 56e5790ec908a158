"""What a tool that is defined in Python needs, in the form in which `decide` asks for it."""

from collections.abc import Iterable, Sequence

from remit.core.conditions.condition import Condition, condition
from remit.core.conditions.requirements import LocationScope, StateScope
from remit.core.configuration.language import RuleCondition
from remit.core.configuration.values import Asked, Place, ToolEntry
from remit.core.kinds import Authority, ConfigStatus, Kind
from remit.core.requirements import About, Requirement
from remit.core.scopes import Scope
from remit.core.states import Snapshot, Value
from remit.core.tools import Tool
from remit.functions.definitions import DefinedTool

CLIENT = "python"
WAYS = {  # what would let a tool be there that is held back
    "ai_enabled": "a person may set `ai_enabled = true` for it",
    "approval": "a person may run it, or set `approval = false` for it",
}
_HELD_BACK = {
    "ai_enabled": "it is switched off for AI (`ai_enabled = false`)",
    "approval": "it needs an approval (`approval = true`), and there is nobody here to ask for one",
}


class _Never:
    """A condition that no state makes hold."""

    def __init__(self, key: str) -> None:
        self._key = key

    def judge(self, snapshot: Snapshot) -> Value:  # noqa: ARG002 - whatever the states are
        return Value(False, _HELD_BACK[self._key])

    def missing(self, snapshot: Snapshot) -> Sequence[str]:  # noqa: ARG002
        return (self._key,)

    def about(self) -> About:
        return About()


def requirements(tool: DefinedTool) -> Iterable[Requirement]:
    """List what a tool needs, for those who decide."""
    if tool.ai_enabled is False:
        yield Requirement(tool.name, _Never("ai_enabled"), tool.source)
    if tool.approval:
        yield Requirement(tool.name, _Never("approval"), tool.source)
    yield from (Requirement(tool.name, RuleCondition(need), tool.source) for need in tool.needs)


def row(tool: DefinedTool) -> Tool:
    """Write a tool as a row of a catalog."""
    return Tool(
        name=tool.name,
        kind=Kind.BUILTIN,
        client=CLIENT,
        scope=Scope.GLOBAL,
        source=tool.source,
        authority=Authority.CONFIG,
        config_status=ConfigStatus.ENABLED,
        description=tool.description or None,
    )


def entry(states: Sequence[str], when: str | None, location: LocationScope | None) -> list[ToolEntry]:
    """Say what a tool needs as a configuration would; nothing where it needs nothing."""
    asked = Asked(all=tuple(states)) if states else None
    place = (
        None
        if location is None
        else Place(location.pages, location.routes, location.components, location.elements)
    )
    made = ToolEntry("", states=asked, when=when, location=place)
    return [made] if made.has_condition else []


def read_condition(need: ToolEntry) -> Condition:
    """Read what a tool needs.

    Raises:
        ConditionError: it cannot be read.
    """
    states = None if need.states is None else StateScope(**need.states._asdict())
    location = None if need.location is None else LocationScope(**need.location._asdict())
    return condition(states=states, when=need.when, location=location)
