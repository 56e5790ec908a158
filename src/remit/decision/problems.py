"""Problems: what is wrong in configuration files, and how bad that is."""

from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """How bad it is, worst first."""

    ERROR = "error"  # something does not work, or is given away
    WARNING = "warning"  # something works otherwise than it looks
    NOTE = "note"  # worth knowing


class Problem(NamedTuple):
    """Something in a configuration file that could not be used."""

    source: str
    place: str  # a line and column, a path of keys, or empty for the whole file
    reason: str
