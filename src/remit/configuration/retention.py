"""How long the store keeps records. Hook processes import this module, so it imports little."""

from collections.abc import Mapping
from typing import NamedTuple

_DAY = 86_400_000  # milliseconds


class Retention(NamedTuple):
    """For how many milliseconds the store keeps what."""

    audit: int = 90 * _DAY
    usage: int = 365 * _DAY  # single uses, sessions and suggestions; totals stay
    most: int | None = 100_000  # audit entries of a project; None: any number, since the user set a time


def retention(given: Mapping[str, int]) -> Retention:
    """Apply the defaults to the periods that are set."""
    kept = Retention(**given)
    return kept._replace(most=None) if "audit" in given else kept
