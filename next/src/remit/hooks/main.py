"""Answers one event of a client: dispatch, failures, and their log.

A hook ends with 0, or it has failed. Then the script that started it blocks the call, lets it run, or tells
the user; without the script nothing is blocked.
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from remit.errors import NotFoundError, RemitError, StoreError
from remit.hooks.event import Answer, permission, read_event, told
from remit.hooks.kept import MAX_BYTES, OPTION, read_all

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.decision import Context
    from remit.hooks.event import Event
    from remit.text import Clock

CLOSED = "closed"  # the mode of a hook for tools that a rule names
_MODES = (CLOSED, "open", "start")
LOG = "hooks.log"
_LOG_BYTES = 128 * 1024  # above this, a new one is begun, and one old one is kept
_MAX_LINE = 300  # characters
_REPAIR = "Ask the user to run `remit doctor`; `remit uninstall claude-code` removes Remit"
_CAUSES = (  # in plain words, because people and models read them
    (StoreError, "Remit's database cannot be used"),
    (NotFoundError, "the directory of this session does not exist"),
    (RemitError, "Remit's own files cannot be used"),
    (OSError, "a file cannot be read"),
    (ValueError, "the event cannot be read"),
)
_HANDLERS = {  # loaded on demand, because most hooks live for milliseconds; other events answer nothing
    "PreToolUse": ("calls", "before_call"),
    "PermissionRequest": ("calls", "permission_requested"),
    "PostToolUse": ("calls", "after_call"),
    "PostToolUseFailure": ("calls", "after_failed_call"),
    "UserPromptExpansion": ("calls", "prompt_expanded"),
    "UserPromptSubmit": ("session", "prompt_submitted"),
    "SessionStart": ("session", "session_started"),
}


def _now() -> int:
    return time.time_ns() // 1_000_000


class Parts(NamedTuple):
    """What hooks get from the packages that put Remit together."""

    open_registry: "Callable[[], Registry]"
    refresh_copies: "Callable[[Registry, Context], bool]"  # of rules in the client; whether any changed


class Hook(NamedTuple):
    """How a hook was started, and what it may use."""

    parts: Parts
    mode: str = ""  # `closed`, `open` or `start`; empty in older installs
    level: str = "full"  # how much of Remit is in the client
    now: "Clock" = _now


def run(words: Sequence[str], parts: Parts, data: bytes | None = None) -> NoReturn:
    """Answer the event on standard input, or one that was read already, and end the process.

    Words that are unknown, as older installs wrote them, are ignored.
    """
    mode, code = next((word for word in words[:1] if word in _MODES), ""), 0
    try:
        hook = Hook(parts, mode)
        data = read_all() if data is None else data
        if OPTION in words[:-1]:
            hook = hook._replace(level=apply_record(words[words.index(OPTION) + 1]))
        answer = respond(data, hook, os.environ)
        _write(answer.encode())
    except BrokenPipeError:  # the client has exited
        pass
    except BaseException as error:
        code = 1 if mode else 0
        log_failure("", error)
    finally:
        os._exit(code)  # a regular exit takes longer


def apply_record(path: str) -> str:
    """Take all paths from the install record, whatever the environment says; return the level.

    Raises:
        InstallRecordError: the record is missing or damaged.
    """
    from remit.clients import read_environment  # first of all, whatever the event

    read_environment(path).apply(os.environ)
    with open(path, encoding="utf-8") as file:
        return str(json.load(file).get("level", "full"))


def respond(data: bytes, hook: Hook, variables: Mapping[str, str]) -> str:
    """Return the answer to an event as JSON; empty if there is nothing to say."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"an event of more than {MAX_BYTES:,} bytes")
    event = read_event(data, variables)
    if event.name not in _HANDLERS:
        return ""
    module, name = _HANDLERS[event.name]
    handler: Callable[[Event, Hook], Answer] = _load(module, name)
    try:
        answer = handler(event, hook)
    except Exception as error:
        log_failure(event.name, error)
        answer = _failed(event, hook, error)
    return "" if answer is None else json.dumps(answer)


def cause(error: Exception) -> str:
    """Say in plain words why an event could not be handled."""
    return next(
        (words for kinds, words in _CAUSES if isinstance(error, kinds)), "an unexpected error in Remit"
    )


def _failed(event: "Event", hook: Hook, error: Exception) -> Answer:
    """Refuse a call that a rule is about; else only say at session start what is wrong."""
    if event.name == "PreToolUse" and hook.mode == CLOSED:
        undecided = f"Remit could not decide whether this call is allowed here ({cause(error)}). {_REPAIR}."
        return permission("deny", undecided)
    if event.name == "SessionStart":
        hint = f"; {error.hint}" if isinstance(error, RemitError) and error.hint else ""
        shown = f"{error}{hint}" if isinstance(error, RemitError) else cause(error)
        return told(event.name, "", [f"this session could not be prepared: {shown}"])
    return None


def _load(module: str, name: str) -> Any:
    from importlib import import_module

    return getattr(import_module(f"remit.hooks.{module}"), name)


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def log_failure(event: str, error: BaseException) -> None:
    """Log a failure, one line each, in a file of bounded size; if logging fails, ignore it."""
    try:
        from remit.config import data_directory
        from remit.files import this_machine

        folder = data_directory(this_machine())
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, LOG)
        if os.path.exists(path) and os.path.getsize(path) > _LOG_BYTES:
            os.replace(path, f"{path}.old")
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(log, _line(event, error).encode(errors="replace"))
    except Exception:  # noqa: S110 - nothing else can be done
        pass


def _line(event: str, error: BaseException) -> str:
    from remit.text import one_line  # only failures need this

    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    # Only our own errors and those of the JSON parser are known to hold nothing of an event.
    is_safe = isinstance(error, RemitError | ValueError) and not isinstance(error, UnicodeError)
    message = str(error) if is_safe else ""
    return f"{at} {one_line(' '.join((event or 'event', type(error).__name__, message)), _MAX_LINE)}\n"
