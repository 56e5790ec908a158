"""Transcripts: the calls that a client wrote down, as the events that its hooks should have been told.

A hook that nobody waits for may be ended with the client before its first line has run; what the client
wrote down stays. A call that was refused, by whomever, is none.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, cast

Fields = Mapping[str, object]

_TELLING = (b'"tool_use"', b'"tool_result"')


class Told(NamedTuple):
    """What is read of a part of a transcript."""

    events: list[tuple[Fields, int]]  # with when that was, in Unix milliseconds
    length: int  # bytes that need not be read again: of a call that still runs, both ends are wanted


class _Begun(NamedTuple):
    """A call that has no answer yet."""

    name: object
    given: object
    start: int  # of its line


def calls_in(lines: Iterable[bytes], since: int) -> Told:
    """Read lines of a transcript: the calls that ended, and not before a time."""
    begun: dict[str, _Begun] = {}
    events: list[tuple[Fields, int]] = []
    start = length = 0
    for line in lines:
        length = start + len(line) if line.endswith(b"\n") else length
        for entry, block in _blocks(line):
            if block.get("type") == "tool_use":
                begun[str(block.get("id"))] = _Begun(block.get("name"), block.get("input"), start)
            elif (call := begun.pop(str(block.get("tool_use_id")), None)) is not None:
                at = _moment(entry.get("timestamp"))
                if at is not None and at >= since and not _is_refused(entry, block):
                    events.append((_event(call, entry, block), at))
        start += len(line)
    return Told(events, min((call.start for call in begun.values()), default=length))


def _blocks(line: bytes) -> Iterator[tuple[Fields, Fields]]:
    """List the calls and answers in a line, each with the line's own fields."""
    if not any(mark in line for mark in _TELLING):
        return
    try:
        entry: object = json.loads(line)
    except (ValueError, RecursionError):  # the last line may be half written
        return
    if not isinstance(entry, dict) or entry.get("type") not in ("assistant", "user"):  # pyright: ignore[reportUnknownMemberType]
        return
    fields = cast("Fields", entry)
    content = _object(fields.get("message")).get("content")
    for block in cast("list[object]", content) if isinstance(content, list) else ():
        if _object(block).get("type") in ("tool_use", "tool_result"):
            yield fields, _object(block)


def _is_refused(entry: Fields, block: Fields) -> bool:
    """Tell whether a call failed without having been made, or nobody says that it was."""
    decision = _object(entry.get("permissionDecision")).get("decision")
    return block.get("is_error") is True and (decision != "accept" or "toolDenialKind" in entry)


def _event(call: _Begun, entry: Fields, block: Fields) -> Fields:
    """Write a call as a hook would be told of it."""
    told = {"tool_name": call.name, "tool_input": call.given, "tool_use_id": block.get("tool_use_id")}
    if block.get("is_error") is True:
        return {"hook_event_name": "PostToolUseFailure", **told, "error": block.get("content")}
    return {"hook_event_name": "PostToolUse", **told, "tool_response": entry.get("toolUseResult")}


def _moment(text: object) -> int | None:
    try:
        return int(datetime.fromisoformat(str(text)).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def _object(value: object) -> Fields:
    return cast("Fields", value) if isinstance(value, dict) else {}
