"""The requirements of tools: states, a location, and conditions on them.

They are looked up once per tool name, and evaluated once per rule and snapshot.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from remit.decision.gates import NextStep
from remit.decision.globs import GlobIndex, tool_globs

if TYPE_CHECKING:
    from remit.decision.state_snapshot import Snapshot, StateValue


class StateScope(NamedTuple):
    """The states that a tool requires; a plain list means `all`."""

    all: tuple[str, ...] = ()
    any: tuple[str, ...] | None = None
    none: tuple[str, ...] = ()


class LocationScope(NamedTuple):
    """The location that a tool requires; None means any."""

    pages: tuple[str, ...] | None = None  # any of these
    routes: tuple[str, ...] | None = None  # any of these
    components: tuple[str, ...] | None = None  # all of these are shown
    elements: tuple[str, ...] | None = None  # all of these are shown


class Dependencies(NamedTuple):
    """The states and variables that a condition reads; only a change in one of them can change its result."""

    states: Collection[str] = ()
    variables: Collection[str] = ()  # top-level names


class RequirementCondition(Protocol):
    """The condition of a rule."""

    def judge(self, snapshot: "Snapshot") -> "StateValue": ...

    def summary(self, snapshot: "Snapshot") -> str: ...

    def missing(self, snapshot: "Snapshot") -> Sequence[str]: ...

    def dependencies(self) -> "Dependencies": ...


class UnmetRequirement(NamedTuple):
    """A requirement that does not hold, and how to satisfy it."""

    reason: str  # names the states, but not how they are detected
    detail: str
    unlock: str | None
    next_step: NextStep | None = None
    source: str = ""  # the file of the rule
    line: int = 0  # 0: unknown


class Requirement(NamedTuple):
    """A condition on the tools that match a pattern."""

    pattern: str
    condition: RequirementCondition
    source: str  # the file that sets it
    line: int = 0  # 0: unknown


class ToolRequirements(tuple[Requirement, ...]):
    """The requirements of a tool; tools with the same ones share it, so its identity is its hash."""

    __slots__ = ()
    __hash__ = object.__hash__


_BRANCH = "git.branch"
_WANTED_BRANCH = re.compile(r"git\.branch (?:==|in) ('[^']*'|\[[^]]*\])")  # in a reason
_QUOTED = re.compile(r"'([^']+)'")

NOTHING_REQUIRED = ToolRequirements()


class Requirements:
    """The requirements of all tools."""

    def __init__(
        self,
        needed: Iterable[Requirement] = (),
        ways: Mapping[str, str] | None = None,
        steps: Mapping[str, NextStep] | None = None,
    ) -> None:
        self._ways = ways or {}  # how a person makes each state true
        self._steps = steps or {}  # how a model makes each state true
        self._found: dict[str, ToolRequirements] = {}
        self._shared: dict[tuple[int, ...], ToolRequirements] = {}  # by the places of the requirements
        # A single attribute, because threads may use different snapshots.
        self._judged: tuple[Snapshot | None, dict[ToolRequirements, UnmetRequirement | None]] = (None, {})
        self._needed = tuple(needed)
        # Patterns before names: of two unmet requirements, the more general one is named.
        forms = [(form, at) for at, each in enumerate(self._needed) for form in tool_globs(each.pattern)]
        self._by_glob = GlobIndex(((form,), at) for form, at in forms if not form.is_name)
        self._by_name = GlobIndex(((form,), at) for form, at in forms if form.is_name)
        self.is_empty = not forms

    def of(self, name: str) -> ToolRequirements:
        """List the requirements of a tool by its canonical name."""
        if self.is_empty:
            return NOTHING_REQUIRED
        found = self._found.get(name)
        if found is None:
            places = tuple(dict.fromkeys((*self._by_glob.matching(name), *self._by_name.matching(name))))
            found = self._shared.get(places)
            if found is None:
                found = self._shared[places] = ToolRequirements(self._needed[at] for at in places)
            self._found[name] = found
        return found

    def including(self, more: Iterable[Requirement], ways: Mapping[str, str]) -> "Requirements":
        """Return these requirements with more of them."""
        return Requirements((*self._needed, *more), {**self._ways, **ways}, self._steps)

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
        missing = requirement.condition.missing(snapshot)
        ways = [self._ways[name] for name in missing if name in self._ways]
        if not ways and _BRANCH in value.reason:  # the reason names what the condition lacks
            ways = [_way_to_branch(value.reason)]
        return UnmetRequirement(
            requirement.condition.summary(snapshot),
            value.reason,
            "; ".join(dict.fromkeys(ways)) or None,
            next((self._steps[name] for name in missing if name in self._steps), None),
            requirement.source,
            requirement.line,
        )


NO_REQUIREMENTS = Requirements()


def _way_to_branch(lacking: str) -> str:
    """Say which branch to switch to, if a condition names it."""
    found = _WANTED_BRANCH.search(lacking)
    names = [] if found is None else _QUOTED.findall(found[1])
    return (
        f"switch to branch {' or '.join(f'`{name}`' for name in names)}"
        if names
        else "switch to another branch"
    )
