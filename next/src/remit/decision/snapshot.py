"""States of a workspace: their values with reasons, and a snapshot of all states."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, cast

from remit.errors import StateError

JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"

_INT64 = range(-(2**63), 2**63)
_MAX_DEPTH = 16  # levels of nested values


class StateValue(NamedTuple):
    """The value of a state, `None` if unknown, and its reason."""

    truth: bool | None
    reason: str

    @property
    def in_words(self) -> str:
        """The value as text."""
        word = "unknown" if self.truth is None else str(self.truth).lower()
        return f"{word}: {self.reason}" if self.reason else word


UNDECLARED = StateValue(None, "no such state is declared")


class Implications:
    """Which states imply others: dotted names imply their ancestors, and states can declare more.

    Raises:
        StateError: a state implies itself through others.
    """

    def __init__(self, names: Collection[str], implies: Mapping[str, Collection[str]] | None = None) -> None:
        self._implied: dict[str, dict[str, None]] = {}  # used as ordered sets
        for name in names:
            self._add(name)
        for name, others in (implies or {}).items():
            self._add(name)
            for other in others:
                self._add(other)
                self._implied[name][other] = None
        self._order = _strongest_first(self._implied)

    @property
    def names(self) -> tuple[str, ...]:
        """All states, declared or implied; each comes before those it implies."""
        return self._order

    def including(self, names: Collection[str], implies: Mapping[str, Collection[str]]) -> "Implications":
        """Return these implications with more states."""
        return Implications((*self._implied, *names), {**self._implied, **implies})

    def close(self, values: Mapping[str, StateValue]) -> dict[str, StateValue]:
        """Return the value of every state, its own or one implied by another state."""
        closed = {name: values[name] for name in self._order if name in values}
        for name in self._order:
            value = closed.setdefault(name, StateValue(False, "nothing that implies it holds"))
            for implied in self._implied[name]:
                if _rank(value) > _rank(closed.get(implied)):
                    closed[implied] = StateValue(value.truth, _because(name, value))
        return closed

    def _add(self, name: str) -> None:
        while name not in self._implied:
            parent, dot, _ = name.rpartition(".")
            self._implied[name] = {parent: None} if dot else {}
            name = parent if dot else name


def _strongest_first(implied: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    from graphlib import CycleError, TopologicalSorter  # a hook without states does not need it

    try:
        return (*reversed([*TopologicalSorter(implied).static_order()]),)
    except CycleError as error:
        circle = " implies ".join(f"`{name}`" for name in reversed(cast("list[str]", error.args[1])))
        raise StateError(
            f"states imply each other in a circle: {circle}", hint="remove one of them"
        ) from None


def _rank(value: StateValue | None) -> int:
    """Rank the values of a state: true beats unknown, unknown beats false."""
    return -1 if value is None else (0 if value.truth is False else 1 if value.truth is None else 2)


def _because(name: str, value: StateValue) -> str:
    if value.truth is False:
        return "nothing that implies it holds"
    return f"`{name}` implies it" if value.truth else f"`{name}` would imply it, and is {value.in_words}"


class Snapshot:
    """One immutable reading of all states, and of the variables that conditions may use.

    Raises:
        StateError: a variable has a type that conditions cannot compare.
    """

    def __init__(
        self,
        states: Mapping[str, StateValue] | None = None,
        variables: Mapping[str, object] | None = None,
    ) -> None:
        self.states: Mapping[str, StateValue] = MappingProxyType({**(states or {})})
        self.known = {name: value.truth for name, value in self.states.items() if value.truth is not None}
        self.values = _members(variables or {}, "", 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and (self.states, self.values) == (other.states, other.values)

    __hash__ = None  # type: ignore[assignment]  # compared by value

    def state(self, name: str) -> StateValue:
        """Return the value of a state; undeclared states are unknown."""
        return self.states.get(name, UNDECLARED)


def _members(values: Mapping[str, object], place: str, depth: int) -> dict[str, JsonValue]:
    members: dict[str, JsonValue] = {}
    for name, value in values.items():
        if type(name) is not str:
            raise StateError(f"`{place or name}` has a key that is not text: {name!r}")
        members[str(name)] = _plain(value, f"{place}.{name}" if place else name, depth + 1)
    return members


def _plain(value: object, place: str, depth: int) -> JsonValue:
    """Copy a value into the types that conditions support, so later changes do not affect it."""
    if depth > _MAX_DEPTH:
        raise StateError(f"`{place}` is nested too deeply")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value) if value in _INT64 else _double(value)
    if isinstance(value, Mapping):
        return _members(cast("Mapping[str, object]", value), place, depth)
    if isinstance(value, list | tuple):
        return [_plain(item, place, depth + 1) for item in cast("list[object]", value)]
    raise StateError(f"`{place}` is a `{type(value).__name__}`, which conditions cannot compare")


def _double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
