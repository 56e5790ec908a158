"""Definitions that differ from what was accepted, and which of them may be used anyway."""

from enum import StrEnum
from typing import NamedTuple


class ChangePolicy(StrEnum):
    """Which changed definitions are accepted without a person, strictest first."""

    HOLD = "hold"  # none
    HARMLESS = "harmless"  # those that cannot matter
    NOTE = "note"  # all, and they are reported


class ChangeVerdict(StrEnum):
    """What a changed definition means."""

    HARMLESS = "harmless"
    MATTERS = "matters"
    FLAGGED = "flagged"  # inspection holds it, whatever the policy
    UNINSPECTED = "uninspected"  # too large to inspect, and held like a flagged one
    REJECTED = "rejected"  # by a person


class DefinitionChange(NamedTuple):
    """Why the current definition of a tool is not the accepted one."""

    verdict: ChangeVerdict
    reason: str  # without a word of the server, because models read it
    detail: str  # for people, with excerpts


REJECTED = "its changed definition was rejected"

_PASSING = {
    ChangePolicy.HOLD: frozenset[ChangeVerdict](),
    ChangePolicy.HARMLESS: frozenset({ChangeVerdict.HARMLESS}),
    ChangePolicy.NOTE: frozenset({ChangeVerdict.HARMLESS, ChangeVerdict.MATTERS}),
}


def is_held(change: DefinitionChange | None, policy: ChangePolicy) -> bool:
    """Return whether a tool waits for a person because its definition changed."""
    return change is not None and change.verdict not in _PASSING[policy]


def strictest(policies: list[ChangePolicy]) -> ChangePolicy:
    """Return the policy that holds most; the default is to accept harmless changes."""
    return min(policies, key=list(ChangePolicy).index, default=ChangePolicy.HARMLESS)
