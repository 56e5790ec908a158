"""Observations: what detectors found, what host applications pushed, and until when either counts."""

from collections.abc import Mapping
from typing import NamedTuple

STALE_LIFETIMES = 10  # for so many lifetimes an answer may be used while somebody finds out anew


class Observation(NamedTuple):
    """What a detector found, and why; unknown is `None`."""

    truth: bool | None
    reason: str
    amount: int | None = None  # how many there are, of what is counted


class StoredObservation(NamedTuple):
    """An observation that is remembered; times in Unix milliseconds."""

    mark: str  # what was looked at, and how
    observation: Observation
    at: int  # 0: never observed yet
    until: int
    claimed_until: int = 0

    def is_fresh(self, mark: str, now: int) -> bool:
        """Tell whether it still counts; one from the future is that of a clock which has been set back."""
        return self.mark == mark and 0 < self.at <= now < self.until

    def is_usable(self, mark: str, now: int) -> bool:
        """Tell whether it may stand in while somebody finds out anew."""
        lifetime = self.until - self.at
        return self.mark == mark and 0 < self.at <= now < self.until + lifetime * (STALE_LIFETIMES - 1)


class PushedValue(NamedTuple):
    """What a host application said."""

    value: object
    at: int
    until: int

    def counts(self, now: int) -> bool:
        """Tell whether it has not expired."""
        return self.at <= now < self.until


class WorkflowStep(NamedTuple):
    """Who set a workflow state, and when."""

    at: int
    by: str  # a tool; empty for a person


class StoredStates(NamedTuple):
    """All that the store knows of a workspace's states."""

    workflow: Mapping[str, WorkflowStep]
    pushed: Mapping[str, PushedValue]
    observed: Mapping[str, StoredObservation]
