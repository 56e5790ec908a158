"""Dispatches an event to its handler and returns the answer, logging failures."""

import json
import os
from importlib import import_module

from remit.configuration.file_paths import configuration_paths
from remit.errors import InstallRecordError
from remit.files.bounded_reader import this_machine
from remit.files.checkout import locate
from remit.hooks.event import Answer, Event, permission_decision, read_event
from remit.hooks.hook_context import SYSTEM, HookEnvironment
from remit.hooks.hook_log import log_failure

BEFORE_CALLS = "PreToolUse"
MAX_BYTES = 64 * 1024 * 1024  # bytes per event
_HEAD = 10_000  # bytes that contain the event's name
_HANDLERS = {  # modules are loaded on demand, because most hooks live for milliseconds
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
_UNDECIDED = "Remit: it could not be decided whether this call is allowed here ({}); hooks.log says more."


def respond(data: bytes, environment: HookEnvironment = SYSTEM) -> str:
    """Return the answer to an event; empty if there is none, or after a failure outside decisions."""
    name, event = "", None
    try:
        if len(data) > MAX_BYTES:
            raise ValueError(f"an event of more than {MAX_BYTES:,} bytes")
        event = read_event(data, os.environ)
        name = event.name
        if name not in _HANDLERS:
            return ""
        module, handler = _HANDLERS[name]
        answer: Answer = getattr(import_module(f"remit.hooks.{module}"), handler)(event, environment)
        return "" if answer is None else json.dumps(answer)
    except Exception as error:
        log_failure(name, error)
        return _answer_to_failure(data, event, error)


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


def _answer_to_failure(data: bytes, event: Event | None, error: Exception) -> str:
    is_before = f'"{BEFORE_CALLS}"'.encode() in data[:_HEAD] if event is None else event.name == BEFORE_CALLS
    if not is_before:
        return ""
    try:
        here = os.environ.get("CLAUDE_PROJECT_DIR") or os.curdir
        answer = _undecided(here if event is None else event.directory, error)
        return "" if answer is None else json.dumps(answer)
    except Exception as another:
        log_failure(BEFORE_CALLS, another)
        return ""


def _undecided(directory: str, error: BaseException) -> Answer:
    """Ask for approval of a call that could not be decided, if there are rules that might forbid it.

    Without rules, a failing hook changes nothing; with rules, an error must not permit a call.
    """
    if not _has_rules(directory):
        return None
    return permission_decision("ask", _UNDECIDED.format(type(error).__name__))


def _has_rules(directory: str) -> bool:
    place = os.path.abspath(directory)
    while not os.path.isdir(place):  # the directory may have been deleted
        place = os.path.dirname(place)
    return any(os.path.lexists(path) for _, path, _ in configuration_paths(locate(place), this_machine()))
