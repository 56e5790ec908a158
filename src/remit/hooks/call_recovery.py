"""Counts calls in a client's transcript that no hook reported.

When a client exits, it kills the hooks it does not wait for, sometimes before they have read their event. So
the transcript of a session is compared with the reported calls when the session ends or, if that event was
lost, when the next session of the project starts.
"""

from typing import NamedTuple

from remit.files.bounded_reader import ANYWHERE, read_part
from remit.hooks.event import Event
from remit.hooks.hook_context import HookContext, HookEnvironment, open_context
from remit.hooks.tool_events import after_call, after_failed_call
from remit.hooks.transcripts import TranscriptCalls, read_calls

MAX_BYTES = 4 * 1024 * 1024  # bytes read at once, from the end of a transcript
_MAX_SESSIONS = 5
_REACH_BACK = 7 * 24 * 3_600_000  # milliseconds since the start of a session that never ended


class _Part(NamedTuple):
    """The unread part of a transcript."""

    session_id: str
    start: int  # in bytes
    calls: TranscriptCalls

    @property
    def end(self) -> int:
        return self.start + self.calls.length


def recover_calls(
    event: Event, environment: HookEnvironment, session_id: str | None = None, *, max_bytes: int = MAX_BYTES
) -> None:
    """Count the unreported calls of a session, or with None of the project's sessions that never ended."""
    with open_context(event.directory, environment) as context:
        since = environment.now() - _REACH_BACK
        written = context.store.transcripts(session_id, since, _MAX_SESSIONS)
        parts = [_Part(id, *_read(path, offset, began, max_bytes)) for id, path, offset, began in written]
        lost = [call for part in parts for call in _unreported(part, event.directory, context)]
    for call in lost:
        (after_call if call.name == "PostToolUse" else after_failed_call)(call, environment)
    if parts:
        with open_context(event.directory, environment) as context:
            for part in parts:
                context.store.mark_transcript_read(part.session_id, part.end)


def _unreported(part: _Part, directory: str, context: HookContext) -> list[Event]:
    """Return the unreported calls as events."""
    if not part.calls.events:
        return []
    known = context.store.reported_call_ids(part.session_id)
    events = [
        Event(str(fields["hook_event_name"]), directory, part.session_id, False, fields, at)
        for fields, at in part.calls.events
    ]
    return [event for event in events if event.call_id not in (None, *known)]


def _read(path: str, start: int, since: int, max_bytes: int) -> tuple[int, TranscriptCalls]:
    """Read a transcript from an offset; also return the offset where reading began."""
    part = read_part(path, start=start, size=max_bytes, within=ANYWHERE)
    if part is None:
        return start, TranscriptCalls([], 0)
    begin, data = part
    lines = data.splitlines(keepends=True)
    if begin > start and lines:
        begin += len(lines.pop(0))  # the rest of a line
    return begin, read_calls(lines, since)
