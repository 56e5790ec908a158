"""Translates required states and locations, which are shorthands for conditions."""

from collections.abc import Iterator

from remit.conditions.path_patterns import name_pattern, path_pattern
from remit.conditions.required_scopes import LocationScope, StateScope
from remit.conditions.syntax import MatchAny, MatchPath, Node, Not, Or, State, Variable
from remit.errors import ConditionError


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
