"""Recovering: calls that the client wrote down and no hook told of, counted after all.

The client ends the hooks that it does not wait for when it ends itself, at times before they could read what
happened. So what a session's transcript says is compared with what was told: at its end, and where that never
came, when the next session of the project begins.
"""

import os
import stat
from typing import NamedTuple

from remit.hooks.event import Event
from remit.hooks.quick_store import Here, now, visiting
from remit.hooks.tool_events import after, failed
from remit.hooks.transcripts import Told, calls_in

_MOST = 4 * 1024 * 1024  # bytes of a transcript that are read at once, its last ones
_MOST_SESSIONS = 5
_REACH_BACK = 7 * 24 * 3_600_000  # milliseconds since a session that never ended began


class _Part(NamedTuple):
    """The part of a transcript that was not read before."""

    session_id: str
    start: int  # where it begins, in bytes
    told: Told

    @property
    def end(self) -> int:
        return self.start + self.told.length


def recover(event: Event, session_id: str | None = None) -> None:
    """Count what was lost in a session, or with None in those of the project that never ended."""
    with visiting(event.directory) as here:
        place = {"project": here.workspace.project.hash, "client": here.client}
        written = here.database.rows(
            "transcripts", **place, session_id=session_id, since=now() - _REACH_BACK, most=_MOST_SESSIONS
        )
        parts = [_Part(id, *_read(path, read_to, began)) for id, path, read_to, began in written]
        lost = [call for part in parts for call in _untold(part, event.directory, here)]
    for call in lost:
        (after if call.name == "PostToolUse" else failed)(call)
    if parts:
        with visiting(event.directory) as here:
            for part in parts:
                here.database.run("transcript_read", **place, session_id=part.session_id, read_to=part.end)


def _untold(part: _Part, directory: str, here: Here) -> list[Event]:
    """List the calls that nobody told of, as if somebody did now."""
    if not part.told.events:
        return []
    known = {id for (id,) in here.database.rows("told_calls", **here.session(part.session_id))}
    events = [
        Event(str(fields["hook_event_name"]), directory, part.session_id, False, fields, at)
        for fields, at in part.told.events
    ]
    return [event for event in events if event.text("tool_use_id") not in (None, *known)]


def _read(path: str, start: int, since: int) -> tuple[int, Told]:
    """Read a transcript from a place on; gives where reading began, too."""
    nothing = start, Told([], 0)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return nothing
        with open(path, "rb") as opened:
            size = opened.seek(0, os.SEEK_END)
            begin = max(start, size - _MOST)
            opened.seek(begin)
            if begin > start:
                begin += len(opened.readline())  # the rest of a line
            return begin, calls_in(opened.readlines(_MOST), since)
    except (OSError, ValueError):
        return nothing
