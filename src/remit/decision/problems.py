"""Problems in configuration files, and their severity."""

from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """How severe a problem is, worst first."""

    ERROR = "error"  # something is broken or exposed
    WARNING = "warning"  # something does not work as it looks
    NOTE = "note"  # worth knowing


class Problem(NamedTuple):
    """A problem in a configuration file."""

    source: str
    place: str  # a line and column, a path of keys, or empty for the whole file
    reason: str
