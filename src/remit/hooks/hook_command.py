"""The `remit hook` command: reads an event from stdin and writes the answer to stdout.

A hook never breaks the session that runs it: the exit code is always 0, and only an answer is printed. A
failure adds one line to a log of bounded size.

This module imports almost nothing: a client that exits kills the hooks it does not wait for, and a use must
be recorded anyway.
"""

import os
import signal
import sys

_LIMIT = 64 * 1024 * 1024 + 1  # bytes; events of this length or more are ignored
_HEAD = 10_000  # bytes that contain the event's name
_BEFORE_CALLS = b'"PreToolUse"'  # the client waits 15 s for an answer, then allows the call
_TIMEOUT = 10.0  # seconds
_REPORTS = (b'"PostToolUse"', b'"PostToolUseFailure"')  # the client does not wait for an answer


def main(record: str | None = None) -> None:
    """Answer the event on stdin and exit with 0; take all paths from the install record, if one is given."""
    try:
        usual = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        data = sys.stdin.buffer.read(_LIMIT)
        if record is not None and (text := _fix_ground(record, data)):
            os.write(1, text.encode())
            return
        # Arguments may contain any text, so do not detach if the client could be waiting for an answer.
        if _BEFORE_CALLS not in data and any(name in data[:_HEAD] for name in _REPORTS):
            _detach()
        else:
            signal.signal(signal.SIGTERM, usual)
        if _BEFORE_CALLS in data[:_HEAD]:
            _start_timeout()
        from remit.hooks.event_dispatch import respond

        if text := respond(data):
            os.write(1, text.encode())
    except BrokenPipeError:  # the client has exited
        pass
    except BaseException as error:
        from remit.hooks.hook_log import log_failure

        log_failure("", error)
    finally:
        os._exit(0)  # skip the slower regular exit


def _fix_ground(record: str, data: bytes) -> str:
    """Take paths from the install record; return the answer to the event if that fails."""
    from remit.errors import InstallRecordError
    from remit.install.ground import read_ground

    try:
        read_ground(record).apply(os.environ)
    except InstallRecordError as error:
        from remit.hooks.event_dispatch import respond_without_record

        return respond_without_record(data, error)
    return ""


def _start_timeout() -> None:
    """Fail before the client stops waiting, because it treats a late answer as permission."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _time_out)
        signal.setitimer(signal.ITIMER_REAL, _TIMEOUT)


def _time_out(_number: int, _frame: object) -> None:
    raise TimeoutError("it takes too long")


def _detach() -> None:
    """Continue in a separate process if a client started this one."""
    if "CLAUDE_PID" not in os.environ or not hasattr(os, "fork"):
        return
    if os.fork():
        os._exit(0)
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
