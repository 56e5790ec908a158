"""Dispatches an event to its handler and returns the answer, logging failures."""

import json
import os
from importlib import import_module

from remit.errors import InstallRecordError, StoreError
from remit.files.bounded_reader import this_machine
from remit.hooks.event import Answer, Event, permission_decision, read_event
from remit.hooks.fail_closed import BEFORE_CALLS, cause, closed_answer, note_of_machine, note_of_project
from remit.hooks.guarded_answer import ASK, DENY, OTHER, SESSION, Note
from remit.hooks.hook_context import SYSTEM, HookEnvironment
from remit.hooks.hook_log import log_failure

MAX_BYTES = 64 * 1024 * 1024  # bytes per event
_BEFORE_CALLS = f'"{BEFORE_CALLS}"'.encode()
HANDLERS = {  # modules are loaded on demand, because most hooks live for milliseconds
    BEFORE_CALLS: ("tool_events", "before_call"),
    "PostToolUse": ("tool_events", "after_call"),
    "PostToolUseFailure": ("tool_events", "after_failed_call"),
    "SessionStart": ("session_events", "session_started"),
    "SessionEnd": ("session_events", "session_ended"),
    "UserPromptSubmit": ("prompt_events", "prompt_submitted"),
    "UserPromptExpansion": ("prompt_events", "prompt_expanded"),
    "ConfigChange": ("session_events", "files_changed"),
    "FileChanged": ("session_events", "files_changed"),
    "CwdChanged": ("session_events", "files_changed"),
}


class _Notes:
    """The answer in case of a failure, as known so far."""

    def __init__(self, first: bytes, note: Note) -> None:
        self.last = first
        self._note = note

    def keep(self, note: bytes) -> None:
        self.last = note
        self._note(note)


def respond(data: bytes, environment: HookEnvironment = SYSTEM, note: Note = lambda _note: None) -> str:
    """Return the answer to an event; empty if there is none.

    `note` learns early what a failure answers: before the repository is touched, and when more is known.
    """
    name, notes = "", _Notes(DENY if may_decide(data) else OTHER, note)
    try:
        machine = this_machine()
        if notes.last == DENY:
            notes.keep(note_of_machine(machine))
        if len(data) > MAX_BYTES:
            raise ValueError(f"an event of more than {MAX_BYTES:,} bytes")
        event = read_event(data, os.environ)
        name = event.name
        if name != BEFORE_CALLS:
            notes.keep(SESSION if name == "SessionStart" else OTHER)
        elif notes.last == ASK:
            notes.keep(note_of_project(event, machine))
        if name not in HANDLERS:
            return ""
        module, handler = HANDLERS[name]
        answer: Answer = getattr(import_module(f"remit.hooks.{module}"), handler)(event, environment)
        return "" if answer is None else json.dumps(answer)
    except Exception as error:
        log_failure(name, error)
        if name == BEFORE_CALLS and not isinstance(error, StoreError):  # which would delay the answer again
            record_undecided(data, notes.last, environment)
        return closed_answer(notes.last, cause(error))


def record_undecided(data: bytes, note: bytes, environment: HookEnvironment, answer: str = "") -> None:
    """Record a call that was refused without a decision; if that fails, it is still refused.

    `answer` came too late. If it refuses the call, that is recorded already.
    """
    try:
        event = read_event(data, os.environ)
        if event.name != BEFORE_CALLS or _refuses(answer, event):
            return
        if _refuses(closed_answer(note, ""), event):
            from remit.hooks.tool_events import add_undecided

            add_undecided(event, environment)
    except Exception as error:
        log_failure(BEFORE_CALLS, error)


def _refuses(answer: str, event: Event) -> bool:
    """Return whether an answer refuses a call; `claude -p` also refuses what it would ask about."""
    said = json.loads(answer)["hookSpecificOutput"]["permissionDecision"] if answer else None
    return said == "deny" or (said == "ask" and event.is_unattended)


def respond_without_record(data: bytes, error: InstallRecordError) -> str:
    """Return the answer of a hook without a usable install record: deny every call, and say how to fix it."""
    message = f"Remit cannot decide: {error}. To fix it, {error.hint}."
    try:
        name = read_event(data, os.environ).name
    except ValueError:
        name = BEFORE_CALLS
    if name == BEFORE_CALLS:
        return json.dumps(permission_decision("deny", message))
    return json.dumps({"systemMessage": message}) if name == "SessionStart" else ""


def may_decide(data: bytes) -> bool:
    """Return whether an event may be one before a call, wherever it names its kind."""
    return _BEFORE_CALLS in data or len(data) > MAX_BYTES
