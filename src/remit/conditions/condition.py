"""Conditions on the use of a tool, built from its states, its `when` and its location."""

from collections.abc import Iterator
from dataclasses import dataclass

from remit.conditions.cel_values import FailedError
from remit.conditions.evaluator import truth
from remit.conditions.failure_reasons import explain
from remit.conditions.parser import parse
from remit.conditions.path_patterns import name_pattern, path_pattern
from remit.conditions.syntax import (
    And,
    CelType,
    Literal,
    MatchAny,
    MatchPath,
    Node,
    Not,
    Or,
    State,
    Variable,
    walk,
)
from remit.decision.requirements import LocationScope, StateScope
from remit.decision.state_snapshot import Snapshot, StateValue
from remit.errors import ConditionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """The states and variables that a condition reads; only a change in one of them can change its result."""

    states: frozenset[str]
    variables: frozenset[tuple[str, ...]]  # as paths: `("git", "branch")`


class Condition:
    """A parsed condition."""

    def __init__(self, root: Node, when: str = "") -> None:
        self.root = root
        self.when = when  # the text that node positions refer to

    def truth(self, snapshot: Snapshot) -> bool | None:
        """Return whether it holds; `None` if unknown."""
        try:
            return truth(self.root, snapshot)
        except FailedError:
            return None

    def judge(self, snapshot: Snapshot) -> StateValue:
        """Return whether it holds; if not, the reason explains what it needs."""
        is_true = self.truth(snapshot)
        return StateValue(is_true, "" if is_true else explain(self.root, snapshot))

    @property
    def mentions(self) -> Mentions:
        """The states and variables that it reads."""
        nodes = [node for node, _ in walk(self.root)]
        return Mentions(
            states=frozenset(node.name for node in nodes if isinstance(node, State)),
            variables=frozenset(node.path for node in nodes if isinstance(node, Variable)),
        )


def condition(
    *, states: StateScope | None = None, when: str | None = None, location: LocationScope | None = None
) -> Condition:
    """Build the condition of a tool; all parts must hold.

    Raises:
        ConditionError: a part cannot be parsed.
    """
    parts: list[Node] = []
    if states is not None:
        parts.extend(of_states(states))
    if when is not None:
        parts.append(parse(when))
    if location is not None:
        parts.extend(of_location(location))
    root = parts[0] if len(parts) == 1 else And(tuple(parts)) if parts else Literal(True, CelType.BOOL)
    return Condition(root, when or "")


def of_states(scope: StateScope) -> Iterator[Node]:
    """Translate required states into nodes.

    Raises:
        ConditionError: `any` is empty.
    """
    yield from map(State, scope.all)
    if scope.any is not None:
        yield _one_of([State(name) for name in _some(scope.any, "any")])
    yield from (Not(State(name)) for name in scope.none)


def of_location(scope: LocationScope) -> Iterator[Node]:
    """Translate a required location into nodes.

    Raises:
        ConditionError: a list is empty, or a pattern is invalid.
    """
    if scope.pages is not None:
        yield _place("page", _some(scope.pages, "pages"))
    if scope.routes is not None:
        yield _place("route", _some(scope.routes, "routes"))
    if scope.components is not None:
        yield from _shown("components", _some(scope.components, "components"))
    if scope.elements is not None:
        yield from _shown("elements", _some(scope.elements, "elements"))


def _place(name: str, patterns: tuple[str, ...]) -> Node:
    return _one_of([MatchPath(Variable(("location", name)), path_pattern(pattern)) for pattern in patterns])


def _shown(name: str, patterns: tuple[str, ...]) -> Iterator[Node]:
    return (MatchAny(Variable(("location", name)), name_pattern(pattern)) for pattern in patterns)


def _one_of(parts: list[State] | list[MatchPath]) -> Node:
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _some(listed: tuple[str, ...], name: str) -> tuple[str, ...]:
    if not listed:
        raise ConditionError(
            f"`{name}` is empty, and can never hold", hint=f"name something, or drop `{name}`"
        )
    return listed
