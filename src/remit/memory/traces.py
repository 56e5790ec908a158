"""Traces of tool calls for the next session.

A trace holds only a name: the path of a file, the command of a check, the address of a page. Hook processes
import this module.
"""

from enum import StrEnum
from typing import NamedTuple


class TraceKind(StrEnum):
    """The kind of a trace."""

    FILE = "file"
    COMMIT = "commit"
    CHECK = "check"  # such as a test run
    PAGE = "page"
    MANUAL = "manual"  # a library's documentation
    SEARCH = "search"


EDITED, WROTE, COMMITTED = "edited", "wrote", "committed"
FAILS, PASSES = "fails", "passes"
READ, SEARCHED = "read", "searched"

OBSERVED = {  # the type of the observation
    TraceKind.FILE: "change",
    TraceKind.COMMIT: "change",
    TraceKind.CHECK: "finding",
    TraceKind.PAGE: "reference",
    TraceKind.MANUAL: "reference",
    TraceKind.SEARCH: "reference",
}


class Trace(NamedTuple):
    """The trace of a call; the `subject` of a file is its path as the client sends it."""

    sort: TraceKind
    subject: str
    verb: str
    place: str = ""  # the directory that the command of a check changed to

    @property
    def is_new(self) -> bool:
        """Whether it counts on its own: a passing check counts only after a failure."""
        return self.verb != PASSES


class StoredTrace(NamedTuple):
    """A stored trace."""

    id: int
    sort: TraceKind
    subject: str
    verb: str
    times: int
    at: int
    artifact: str | None  # the observation that it updates

    @property
    def observed(self) -> str:
        """The type of its observation."""
        return OBSERVED[self.sort]

    @property
    def text(self) -> str:
        """Its text for a session."""
        often = f" {self.times} times" if self.times > 1 else ""
        if self.sort is TraceKind.CHECK:
            if self.verb == FAILS:
                return f"`{self.subject}` failed when it was last run" + (
                    f" ({often[1:]} in a row)" if often else ""
                )
            return f"`{self.subject}` passes again, after it failed{often}"
        if self.sort is TraceKind.FILE:
            return f"{self.verb.capitalize()} {self.subject}" + (f" ({often[1:]})" if often else "")
        return _SAID[self.sort].format(self.subject)


_SAID = {
    TraceKind.COMMIT: "Committed {}",
    TraceKind.PAGE: "Read {}",
    TraceKind.MANUAL: "Read the documentation of {}",
    TraceKind.SEARCH: "Searched the web for: {}",
}
