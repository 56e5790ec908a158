"""Counts calls in a client's transcript that no hook reported; refused calls are left out.

When a client exits, it kills the hooks it does not wait for, sometimes before they have read their event. So
the transcript of a session is compared with the reported calls when the session ends or, if that event was
lost, when the next session of the project starts.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, cast

from remit.files.bounded_reader import ANYWHERE, read_part
from remit.hooks.event import Event
from remit.hooks.hook_context import HookContext, HookEnvironment, open_context
from remit.hooks.tool_events import after_call, after_failed_call
from remit.text.json_values import as_list, as_object

Fields = Mapping[str, object]

_MARKERS = (b'"tool_use"', b'"tool_result"')
MAX_BYTES = 4 * 1024 * 1024  # bytes read at once, from the end of a transcript
_MAX_SESSIONS = 5
_REACH_BACK = 7 * 24 * 3_600_000  # milliseconds since the start of a session that never ended


class TranscriptCalls(NamedTuple):
    """The calls in a part of a transcript."""

    events: list[tuple[Fields, int]]  # with their times in Unix milliseconds
    length: int  # bytes that need not be read again, up to the start of a running call


class _StartedCall(NamedTuple):
    """A call that has no result yet."""

    name: object
    arguments: object
    start: int  # offset of its line


def read_calls(lines: Iterable[bytes], since: int) -> TranscriptCalls:
    """Read the calls in a transcript's lines that ended at or after a time."""
    begun: dict[str, _StartedCall] = {}
    events: list[tuple[Fields, int]] = []
    start = length = 0
    for line in lines:
        length = start + len(line) if line.endswith(b"\n") else length
        for entry, block in _blocks(line):
            if block.get("type") == "tool_use":
                begun[str(block.get("id"))] = _StartedCall(block.get("name"), block.get("input"), start)
            elif (call := begun.pop(str(block.get("tool_use_id")), None)) is not None:
                at = _timestamp(entry.get("timestamp"))
                if at is not None and at >= since and not _is_refused(entry, block):
                    events.append((_event(call, entry, block), at))
        start += len(line)
    return TranscriptCalls(events, min((call.start for call in begun.values()), default=length))


def _blocks(line: bytes) -> Iterator[tuple[Fields, Fields]]:
    """Yield the calls and results in a line, each with the fields of the line."""
    if not any(marker in line for marker in _MARKERS):
        return
    try:
        entry: object = json.loads(line)
    except (ValueError, RecursionError):  # the last line may be incomplete
        return
    if not isinstance(entry, dict) or entry.get("type") not in ("assistant", "user"):  # pyright: ignore[reportUnknownMemberType]
        return
    fields = cast("Fields", entry)
    content = as_object(fields.get("message")).get("content")
    for block in as_list(content):
        if as_object(block).get("type") in ("tool_use", "tool_result"):
            yield fields, as_object(block)


def _is_refused(entry: Fields, block: Fields) -> bool:
    """Return whether a call failed without being made."""
    decision = as_object(entry.get("permissionDecision")).get("decision")
    return block.get("is_error") is True and (decision != "accept" or "toolDenialKind" in entry)


def _event(call: _StartedCall, entry: Fields, block: Fields) -> Fields:
    """Convert a call to a hook event."""
    fields = {"tool_name": call.name, "tool_input": call.arguments, "tool_use_id": block.get("tool_use_id")}
    if block.get("is_error") is True:
        return {"hook_event_name": "PostToolUseFailure", **fields, "error": block.get("content")}
    return {"hook_event_name": "PostToolUse", **fields, "tool_response": entry.get("toolUseResult")}


def _timestamp(text: object) -> int | None:
    try:
        return int(datetime.fromisoformat(str(text)).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None


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
