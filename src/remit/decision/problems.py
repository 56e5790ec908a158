"""Problems in configuration files, and their severity."""

from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """How severe a problem is, worst first."""

    ERROR = "error"  # something is broken or exposed
    WARNING = "warning"  # something does not work as it looks
    NOTE = "note"  # good to know


class Problem(NamedTuple):
    """A problem in a configuration file."""

    source: str
    place: str  # line and column, or a path of keys; empty for the whole file
    reason: str


CHANGED_ENTRY = "its entry changed since you trusted it; `remit trust` shows what changed"
