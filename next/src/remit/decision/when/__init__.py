"""Conditions on tools: what gates and rules need of a compiled condition."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from remit.decision.snapshot import Snapshot, StateValue


class Mentions(NamedTuple):
    """The states and variables that a condition reads; only a change in one of them can change its result."""

    states: frozenset[str]
    variables: frozenset[tuple[str, ...]]  # as paths: `("git", "branch")`


class Condition:
    """A compiled condition."""

    mentions: Mentions
    arguments: tuple[str, ...] = ()  # of a call that it reads: `args.branch`

    def judge(self, snapshot: Snapshot, args: Mapping[str, object] | None = None) -> StateValue:
        """Return whether it holds; if not, the reason says what it needs, for people."""
        raise NotImplementedError

    def summary(self, snapshot: Snapshot) -> str:
        """Say what is missing, for a model: names of states, never how they are detected."""
        raise NotImplementedError

    def missing(self, snapshot: Snapshot) -> Sequence[str]:
        """List the states that would have to hold."""
        raise NotImplementedError
