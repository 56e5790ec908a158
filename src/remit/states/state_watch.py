"""A serializable list of the states that a decision depends on, for checking cheaply whether it still holds.

Hook processes import this module, so it imports little.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from remit.configuration.detector_kinds import Comparison, Detector, DetectorKind, GitFact


class WatchedState(NamedTuple):
    """A state and its detector; without a detector, workflows set it."""

    name: str
    detector: Detector | None = None
    bases: Sequence[str] = ()

    @property
    def is_quick(self) -> bool:
        """Whether its value can be read quickly, from the detector or the store."""
        return self.detector is None or not self.detector.traits.is_of_file


class StateWatch(NamedTuple):
    """Everything about states that a decision depends on; if empty, the decision holds in any state."""

    states: Sequence[WatchedState] = ()
    env: Sequence[str] | None = None  # variables to compare; None: ignore these and git's facts
    filters: Sequence[str] = ()  # filter files, whose verdict is part of the decision


def read_watch(written: Any) -> StateWatch:
    """Read a watch from its JSON form."""
    states, env, filters = written
    watched = [WatchedState(name, _detector(given), bases) for name, given, bases in states]
    return StateWatch(watched, env, tuple(filters))


def _detector(given: Sequence[Any] | None) -> Detector | None:
    if given is None:
        return None
    made = Detector._make(map(_frozen, given))
    return made._replace(
        kind=DetectorKind(made.kind),
        amount=None if made.amount is None else Comparison(*made.amount),
        fact=None if made.fact is None else GitFact(made.fact),
    )


def _frozen(part: Any) -> Any:
    return tuple(cast("list[Any]", part)) if isinstance(part, list) else part
