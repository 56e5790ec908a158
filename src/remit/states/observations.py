"""The results of detectors, the values pushed by host applications, and their expiry."""

from collections.abc import Mapping
from typing import NamedTuple

STALE_LIFETIMES = 10  # lifetimes for which a result may be used while another process detects it again


class Observation(NamedTuple):
    """The result of a detector, `None` if unknown, and the reason."""

    truth: bool | None
    reason: str
    amount: int | None = None  # the count, if the detector counts


class StoredObservation(NamedTuple):
    """A stored observation; times are Unix milliseconds."""

    mark: str  # digest of the detector, its directories and its file
    observation: Observation
    at: int  # 0: never
    until: int

    def is_fresh(self, mark: str, now: int) -> bool:
        """Return whether it is current; a result from the future was stored before the clock was set back."""
        return self.mark == mark and 0 < self.at <= now < self.until

    def is_usable(self, mark: str, now: int) -> bool:
        """Return whether it may be used while another process detects it again."""
        lifetime = self.until - self.at
        return self.mark == mark and 0 < self.at <= now < self.until + lifetime * (STALE_LIFETIMES - 1)


class PushedValue(NamedTuple):
    """A value that a host application pushed."""

    value: object
    at: int
    until: int

    def counts(self, now: int) -> bool:
        """Return whether it has not expired."""
        return self.at <= now < self.until


class WorkflowStep(NamedTuple):
    """When a workflow state was set, and by what."""

    at: int
    by: str  # a tool; empty if a person set it


class StoredStates(NamedTuple):
    """Everything stored about a workspace's states."""

    workflow: Mapping[str, WorkflowStep]
    pushed: Mapping[str, PushedValue]
    observed: Mapping[str, StoredObservation]
