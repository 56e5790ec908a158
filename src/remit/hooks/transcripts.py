"""Reads the calls in a client's transcript, as the events that its hooks should have received.

Refused calls are left out.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, cast

from remit.text.json_values import as_list, as_object

Fields = Mapping[str, object]

_MARKERS = (b'"tool_use"', b'"tool_result"')


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
