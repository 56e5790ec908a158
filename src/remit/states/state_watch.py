"""Watches: what of the states a decision goes by, written down so that one look tells whether it still holds.

A hook process imports this module.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from remit.conditions.count_comparison import Comparison
from remit.configuration.config_model import Detector, DetectorKind, GitFact

_OF_A_FILE = (DetectorKind.VALUE, DetectorKind.ENTITIES)  # an answer holds as long as the file does


class WatchedState(NamedTuple):
    """One state: how it is found out; without a detector, it is set by workflows."""

    name: str
    detector: Detector | None = None
    bases: Sequence[str] = ()

    @property
    def is_quick(self) -> bool:
        """Whether a look tells, or what was found out before does."""
        return self.detector is None or self.detector.kind not in _OF_A_FILE


class StateWatch(NamedTuple):
    """All that a decision goes by; nothing: it holds whatever the states are."""

    states: Sequence[WatchedState] = ()
    env: Sequence[str] | None = None  # the variables whose values count; None: neither those nor git's facts


def read_watch(written: Any) -> StateWatch:
    """Read a watch that was written as JSON."""
    states, env = written
    return StateWatch([WatchedState(name, _detector(given), bases) for name, given, bases in states], env)


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
