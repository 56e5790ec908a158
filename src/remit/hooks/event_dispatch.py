"""Responding: one event in, its answer out, and a line in the log where that failed."""

import json
import os
from importlib import import_module

from remit.hooks.answers import Answer
from remit.hooks.event import Event, read
from remit.hooks.hook_log import note

BEFORE_CALLS = "PreToolUse"
HEAD = 10_000  # bytes in which an event says what it is
MOST = 64 * 1024 * 1024  # bytes of an event that are read
_HANDLERS = {  # loaded one at a time: most events live for milliseconds
    BEFORE_CALLS: ("tool_events", "before"),
    "PostToolUse": ("tool_events", "after"),
    "PostToolUseFailure": ("tool_events", "failed"),
    "SessionStart": ("session_events", "start"),
    "SessionEnd": ("session_events", "end"),
    "UserPromptSubmit": ("prompt_events", "submitted"),
    "UserPromptExpansion": ("prompt_events", "expanded"),
    "ConfigChange": ("file_events", "changed"),
    "FileChanged": ("file_events", "changed"),
    "CwdChanged": ("file_events", "changed"),
}


def respond(data: bytes) -> str:
    """Answer an event; empty where there is nothing to say, or where answering failed and decides nothing."""
    name, event = "", None
    try:
        if len(data) > MOST:
            raise ValueError(f"an event of more than {MOST:,} bytes")
        event = read(data, os.environ)
        name = event.name
        if name not in _HANDLERS:
            return ""
        module, handler = _HANDLERS[name]
        answer: Answer = getattr(import_module(f"remit.hooks.{module}"), handler)(event)
        return "" if answer is None else json.dumps(answer)
    except Exception as error:
        note(name, error)
        return _failed(data, event, error)


def _failed(data: bytes, event: Event | None, error: Exception) -> str:
    """Say what is to be said though answering failed."""
    is_before = f'"{BEFORE_CALLS}"'.encode() in data[:HEAD] if event is None else event.name == BEFORE_CALLS
    if not is_before:
        return ""
    try:
        from remit.hooks.undecided import undecided

        here = os.environ.get("CLAUDE_PROJECT_DIR") or os.curdir
        answer = undecided(here if event is None else event.directory, error)
        return "" if answer is None else json.dumps(answer)
    except Exception as another:
        note(BEFORE_CALLS, another)
        return ""
