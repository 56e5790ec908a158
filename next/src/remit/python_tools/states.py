"""States that functions of a program detect."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any, NamedTuple

from remit.decision import Implications, StateValue
from remit.errors import StateError
from remit.text import did_you_mean

Detect = Callable[[], bool | None] | Callable[[], Awaitable[bool | None]]

TIMEOUT = 2.0  # seconds for all detectors together


class DetectedState(NamedTuple):
    """A state with a sync or async detector, which returns True, False, or None if it is unknown."""

    detector: Detect
    description: str = ""
    implies: Sequence[str] = ()


DeclaredState = DetectedState | Detect | Mapping[str, Any]


class DetectedStates:
    """The states of a program.

    Raises:
        StateError: a state is not declared as it should be, or states imply each other in a circle.
    """

    def __init__(self, states: Mapping[str, DeclaredState], *, timeout: float = TIMEOUT) -> None:
        self.declared = {name: _read(name, state) for name, state in states.items()}
        implied = {name: state.implies for name, state in self.declared.items()}
        self.implications = Implications(tuple(self.declared), implied)
        self._timeout = timeout
        self._threads: dict[str, _DetectorThread] = {}

    def detect(self) -> dict[str, StateValue]:
        """Run all detectors at once, within the time limit, and return the values of all states."""
        threads = {name: self._start(name) for name in self.declared}
        deadline = time.monotonic() + self._timeout
        values = {name: thread.answer(deadline, self._timeout) for name, thread in threads.items()}
        return self.implications.close(values)

    def _start(self, name: str) -> "_DetectorThread":
        """Start a detector, unless its last run is still active."""
        thread = self._threads.get(name)
        if thread is None or not thread.is_alive():
            self._threads[name] = thread = _DetectorThread(self.declared[name].detector)
            thread.start()
        return thread


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
        late = StateValue(None, f"its detector did not answer within {limit:g} s")
        return late if self.is_alive() else self._value


def _read(name: str, state: DeclaredState) -> DetectedState:
    if isinstance(state, DetectedState):
        return state
    table: dict[str, Any] = {"detector": state}
    if isinstance(state, Mapping):
        table = {**state}
    for key in table:
        if key not in DetectedState._fields:
            hint = did_you_mean(key, DetectedState._fields)
            raise StateError(f"state `{name}` has an unknown key `{key}`", hint=hint)
    if not callable(table.get("detector")):
        hint = "a function that returns True, False, or None if it is unknown"
        raise StateError(f"state `{name}` needs a function as its `detector`", hint=hint)
    return DetectedState(**table)


async def _awaited(answer: Awaitable[bool | None]) -> bool | None:
    return await answer


def _value(answer: object) -> StateValue:
    if isinstance(answer, bool):
        return StateValue(answer, "its detector says so")
    unclear = "its detector said neither true nor false"
    return StateValue(None, "its detector cannot tell" if answer is None else unclear)
