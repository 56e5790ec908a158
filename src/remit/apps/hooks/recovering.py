"""Recovering: calls that the client wrote down and no hook told of, counted after all.

The client ends the hooks that it does not wait for when it ends itself, at times before they could read what
happened. So what a session's transcript says is compared with what was told: at its end, and where that never
came, when the next session of the project begins.
"""

import os
import stat

from remit.apps.hooks.calls import after, failed
from remit.apps.hooks.events import Event
from remit.core.transcripts import Told, calls_in
from remit.hot_paths import Here, now, visiting

_MOST = 4 * 1024 * 1024  # bytes of a transcript that are read at once, its last ones
_MOST_SESSIONS = 5
_REACH_BACK = 7 * 24 * 3_600_000  # milliseconds since a session that never ended began


def recover(event: Event, session_id: str | None = None) -> None:
    """Count what was lost in a session, or with None in those of the project that never ended."""
    with visiting(event.directory) as here:
        place = {"project": here.workspace.project.hash, "client": here.client, "session_id": session_id}
        known = here.database.rows("transcripts", **place, since=now() - _REACH_BACK, most=_MOST_SESSIONS)
        found = [(session, start, *_read(path, start, began)) for session, path, start, began in known]
        lost = [(session, _untold(told, session, here)) for session, _, _, told in found]
    for session, calls in lost:
        for call in calls:
            lasting = call._replace(session_id=session, directory=event.directory)
            (after if call.name == "PostToolUse" else failed)(lasting)
    with visiting(event.directory) as here:
        for session, start, began_at, told in found:
            if (end := began_at + told.length) != start:
                place = {"project": here.workspace.project.hash, "client": here.client}
                here.database.run("transcript_read", **place, session_id=session, read_to=end)


def _untold(told: Told, session_id: str, here: Here) -> list[Event]:
    if not told.events:
        return []
    session = {"project": here.workspace.project.hash, "client": here.client, "session_id": session_id}
    known = {call_id for (call_id,) in here.database.rows("told_calls", **session)}
    events = [
        Event(str(fields["hook_event_name"]), "", session_id, False, fields, at) for fields, at in told.events
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
