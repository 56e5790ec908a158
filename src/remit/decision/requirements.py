"""The requirements of tools: conditions on states.

They are looked up once per tool name, and evaluated once per rule and snapshot.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from remit.decision.globs import Glob, tool_globs

if TYPE_CHECKING:
    from remit.decision.state_snapshot import Snapshot, StateValue


class Dependencies(NamedTuple):
    """The states and variables that a condition reads; only a change in one of them can change its result."""

    states: Collection[str] = ()
    variables: Collection[str] = ()  # top-level names


class RequirementCondition(Protocol):
    """The condition of a rule."""

    def judge(self, snapshot: "Snapshot") -> "StateValue": ...

    def missing(self, snapshot: "Snapshot") -> Sequence[str]: ...

    def dependencies(self) -> "Dependencies": ...


class UnmetRequirement(NamedTuple):
    """A requirement that does not hold, and how to satisfy it."""

    reason: str
    unlock: str | None


class Requirement(NamedTuple):
    """A condition on the tools that match a pattern."""

    pattern: str
    condition: RequirementCondition
    source: str  # the file that sets it


ToolRequirements = tuple[Requirement, ...]
NOTHING_REQUIRED: ToolRequirements = ()


class Requirements:
    """The requirements of all tools."""

    def __init__(self, needed: Iterable[Requirement] = (), ways: Mapping[str, str] | None = None) -> None:
        self._by_name: dict[str, list[Requirement]] = {}
        self._by_glob: list[tuple[Glob, Requirement]] = []
        self._ways = ways or {}  # how to make each state true
        self._found: dict[str, ToolRequirements] = {}
        # A single attribute, because threads may use different snapshots.
        self._judged: tuple[Snapshot | None, dict[ToolRequirements, UnmetRequirement | None]] = (None, {})
        self._needed = tuple(needed)
        for each in self._needed:
            for form in tool_globs(each.pattern):
                if form.is_name:
                    self._by_name.setdefault(form.parts[0], []).append(each)
                else:
                    self._by_glob.append((form, each))
        self.is_empty = not (self._by_name or self._by_glob)

    def of(self, name: str) -> ToolRequirements:
        """List the requirements of a tool by its canonical name."""
        if self.is_empty:
            return NOTHING_REQUIRED
        found = self._found.get(name)
        if found is None:
            covering = [each for form, each in self._by_glob if form.matches(name)]
            found = self._found[name] = tuple(dict.fromkeys((*covering, *self._by_name.get(name, ()))))
        return found

    def including(self, more: Iterable[Requirement], ways: Mapping[str, str]) -> "Requirements":
        """Return these requirements with more of them."""
        return Requirements((*self._needed, *more), {**self._ways, **ways})

    def unmet(self, needed: ToolRequirements, snapshot: "Snapshot") -> UnmetRequirement | None:
        """Return the first requirement that does not hold; None if all do."""
        of, judged = self._judged
        if snapshot is not of:
            judged = {}
            self._judged = snapshot, judged
        if needed not in judged:
            judged[needed] = next(filter(None, (self._need(each, snapshot) for each in needed)), None)
        return judged[needed]

    def _need(self, requirement: Requirement, snapshot: "Snapshot") -> UnmetRequirement | None:
        value = requirement.condition.judge(snapshot)
        if value.truth:
            return None
        ways = [self._ways[name] for name in requirement.condition.missing(snapshot) if name in self._ways]
        return UnmetRequirement(value.reason, "; ".join(dict.fromkeys(ways)) or None)


NO_REQUIREMENTS = Requirements()
