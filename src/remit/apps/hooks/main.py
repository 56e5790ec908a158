"""`remit hook`: one event on stdin, its answer on stdout.

A hook never breaks the session that it is called from: whatever happens, the exit code is 0, and nothing but
an answer is printed. A failure is one line in a log of bounded size.
"""

import json
import os
import sys
from importlib import import_module
from typing import NoReturn

from remit.apps.hooks.answers import Answer
from remit.apps.hooks.events import read
from remit.apps.hooks.log import note

MOST = 64 * 1024 * 1024  # bytes of an event that are read
_HANDLERS = {  # loaded one at a time: most events live for milliseconds
    "PreToolUse": ("calls", "before"),
    "PostToolUse": ("calls", "after"),
    "PostToolUseFailure": ("calls", "failed"),
    "SessionStart": ("sessions", "start"),
    "SessionEnd": ("sessions", "end"),
    "UserPromptSubmit": ("prompts", "submitted"),
    "UserPromptExpansion": ("prompts", "expanded"),
    "ConfigChange": ("files", "changed"),
    "FileChanged": ("files", "changed"),
    "CwdChanged": ("files", "changed"),
}


def main() -> NoReturn:
    """Answer the event on stdin, and end well."""
    try:
        text = respond(sys.stdin.buffer.read(MOST + 1))
        os.write(1, text.encode()) if text else None
    except BaseException as error:
        note("", error)
    os._exit(0)  # without the time that an orderly end takes


def respond(data: bytes) -> str:
    """Answer an event; empty where there is nothing to say, or where answering failed."""
    name = ""
    try:
        if len(data) > MOST:
            raise ValueError(f"an event of more than {MOST:,} bytes")
        event = read(data, os.environ)
        name = event.name
        if name not in _HANDLERS:
            return ""
        module, handler = _HANDLERS[name]
        answer: Answer = getattr(import_module(f"remit.apps.hooks.{module}"), handler)(event)
        return "" if answer is None else json.dumps(answer)
    except Exception as error:
        note(name, error)
        return ""
