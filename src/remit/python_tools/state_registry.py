"""States declared in Python, and the tools that depend on them."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from inspect import isawaitable
from typing import Generic, NamedTuple, TypeVar

from remit.conditions.check import LOCATION, Vocabulary, check
from remit.conditions.condition import Condition, condition
from remit.decision.requirements import LocationScope, StateScope
from remit.decision.state_snapshot import Implications, Snapshot, StateValue
from remit.errors import StateError

Detect = Callable[[], bool | None] | Callable[[], Awaitable[bool | None]]
Tool = TypeVar("Tool")

TIMEOUT = 2.0  # seconds for all detectors together


class DetectedState(NamedTuple):
    """A state with a sync or async detector, which returns True, False, or None if it is unknown."""

    detector: Detect
    description: str = ""
    implies: Sequence[str] = ()


class Registered(NamedTuple, Generic[Tool]):
    """A tool with its condition."""

    tool: Tool
    condition: Condition
    namespace: str | None


class StateAwareRegistry(Generic[Tool]):
    """Tools that are available only while the states they need hold.

    Raises:
        StateError: states imply each other in a circle.
    """

    def __init__(self, states: Mapping[str, DetectedState | Detect], *, timeout: float = TIMEOUT) -> None:
        self.states = {
            name: each if isinstance(each, DetectedState) else DetectedState(each)
            for name, each in states.items()
        }
        self.implications = Implications(
            tuple(self.states), {name: each.implies for name, each in self.states.items()}
        )
        self._timeout = timeout
        self._asked: dict[str, _DetectorThread] = {}
        self._tools: list[Registered[Tool]] = []

    def register(
        self,
        tool: Tool,
        *,
        required_states: Sequence[str] = (),
        when: str | None = None,
        location: LocationScope | None = None,
        namespace: str | None = None,
    ) -> Tool:
        """Add a tool with the states that it needs.

        Raises:
            ConditionError: the condition is invalid, or uses an undeclared state.
        """
        needed = condition(states=StateScope(all=tuple(required_states)), when=when, location=location)
        vocabulary = Vocabulary(states=self.implications.names, variables={"location": LOCATION})
        for mistake in check(needed, vocabulary):
            raise mistake.as_error()
        self._tools.append(Registered(tool, needed, namespace))
        return tool

    def snapshot(self, location: Mapping[str, object] | None = None) -> Snapshot:
        """Run all detectors in parallel, within the time limit, and return the values of all states."""
        asked = {name: self._ask(name) for name in self.states}
        deadline = time.monotonic() + self._timeout
        values = {name: each.answer(deadline, self._timeout) for name, each in asked.items()}
        return Snapshot(states=self.implications.close(values), variables={"location": dict(location or {})})

    def detect_current_states(self) -> list[str]:
        """List the states that hold now."""
        return [name for name, value in self.snapshot().states.items() if value.truth]

    def tools_for_states(
        self, states: Iterable[str], location: Mapping[str, object] | None = None
    ) -> list[Tool]:
        """List the tools that are available when exactly these states and those they imply hold."""
        holding = set(states)
        if unknown := holding.difference(self.implications.names):
            raise StateError(f"no state is called `{min(unknown)}`")
        values = {name: StateValue(True, "given") for name in holding}
        closed = self.implications.close(values)
        return self.tools_for(Snapshot(states=closed, variables={"location": dict(location or {})}))

    def tools_for(self, snapshot: Snapshot) -> list[Tool]:
        """List the tools that are available in a snapshot."""
        return [each.tool for each in self._tools if each.condition.truth(snapshot)]

    def by_namespace(self, tools: Iterable[Tool]) -> dict[str | None, list[Tool]]:
        """Group tools by namespace, in the order of registration."""
        wanted = list(tools)
        groups: dict[str | None, list[Tool]] = {}
        for each in self._tools:
            if each.tool in wanted:
                groups.setdefault(each.namespace, []).append(each.tool)
        return groups

    def _ask(self, name: str) -> "_DetectorThread":
        """Start a detector, unless its last run is still active."""
        running = self._asked.get(name)
        if running is None or not running.is_alive():
            self._asked[name] = running = _DetectorThread(self.states[name].detector)
            running.start()
        return running


class _DetectorThread(threading.Thread):
    """Runs one detector, and can be abandoned if it hangs."""

    def __init__(self, detector: Detect) -> None:
        super().__init__(daemon=True)
        self._detector = detector
        self._value = StateValue(None, "its detector ended without an answer")

    def run(self) -> None:
        try:
            answer = self._detector()
            self._value = _value(asyncio.run(_awaited(answer)) if isawaitable(answer) else answer)
        except Exception as error:
            self._value = StateValue(None, f"its detector failed: {type(error).__name__}")

    def answer(self, deadline: float, limit: float) -> StateValue:
        """Wait for the answer until the deadline."""
        self.join(max(0.0, deadline - time.monotonic()))
        return (
            StateValue(None, f"its detector did not answer within {limit:g} s")
            if self.is_alive()
            else self._value
        )


async def _awaited(answer: Awaitable[bool | None]) -> bool | None:
    return await answer


def _value(answer: object) -> StateValue:
    if isinstance(answer, bool):
        return StateValue(answer, "its detector says so")
    return StateValue(
        None, "its detector cannot tell" if answer is None else "its detector said neither true nor false"
    )
