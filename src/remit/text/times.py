"""Times as text, and the type of clocks.

The store's numbers may be anybody's: one that is no date is written as it is.
"""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]  # Unix milliseconds


def local_time(milliseconds: int, shape: str = "%Y-%m-%d %H:%M") -> str:
    """Write a time for a person: to the minute, in their time zone."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime(shape)
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)


def moment(milliseconds: int, timespec: str = "milliseconds") -> str:
    """Write a time for a program: in UTC, by ISO 8601."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec=timespec)
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)


def day(milliseconds: int) -> str:
    """Write a date, in UTC."""
    return moment(milliseconds).partition("T")[0]
