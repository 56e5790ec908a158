"""Freshness: how long ago something was so."""

from enum import StrEnum

DAY = 86_400_000  # milliseconds
_CURRENT = 7  # days
_RECENT = 30
HYGIENE_EVERY = 30  # days


class Freshness(StrEnum):
    """How old an artifact is."""

    CURRENT = "current"
    RECENT = "recent"
    STALE = "stale"


def freshness(dated_at: int, now: int) -> Freshness:
    """Say how fresh something is, by when it was last so."""
    days = (now - dated_at) / DAY
    if days <= _CURRENT:
        return Freshness.CURRENT
    return Freshness.RECENT if days <= _RECENT else Freshness.STALE


def is_hygiene_due(checked_at: int | None, now: int) -> bool:
    """Tell whether a project's memory was not looked through for too long."""
    return checked_at is None or now - checked_at > HYGIENE_EVERY * DAY
