"""`remit hook`: one event on stdin, its answer on stdout.

A hook never breaks the session that calls it: the exit code is always 0, and only an answer is printed. A
failure is one line in a log of bounded size.

This module imports almost nothing: a client that ends also ends the hooks it does not wait for, and a use
must be recorded anyway.
"""

import os
import signal
import sys

_LIMIT = 64 * 1024 * 1024 + 1  # bytes; an event of this length is ignored
_HEAD = 10_000  # bytes that contain the name of an event
_BEFORE_CALLS = b'"PreToolUse"'  # the client waits 15 s for it, then proceeds as if allowed
_TIMEOUT = 10.0  # seconds
_REPORTS = (b'"PostToolUse"', b'"PostToolUseFailure"')  # the client does not wait for an answer


def main() -> None:
    """Answer the event on stdin and exit with 0."""
    try:
        usual = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        data = sys.stdin.buffer.read(_LIMIT)
        # Arguments may contain any text: if the client may be waiting for an answer, do not detach.
        if _BEFORE_CALLS not in data and any(name in data[:_HEAD] for name in _REPORTS):
            _detach()
        else:
            signal.signal(signal.SIGTERM, usual)
        if _BEFORE_CALLS in data[:_HEAD]:
            _start_timeout()
        from remit.hooks.event_dispatch import respond

        if text := respond(data):
            os.write(1, text.encode())
    except BrokenPipeError:  # the client has ended
        pass
    except BaseException as error:
        from remit.hooks.hook_log import log_failure

        log_failure("", error)
    finally:
        os._exit(0)  # without the time that an orderly exit takes


def _start_timeout() -> None:
    """Fail before the client stops waiting: it takes a late answer for a permission."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _time_out)
        signal.setitimer(signal.ITIMER_REAL, _TIMEOUT)


def _time_out(_number: int, _frame: object) -> None:
    raise TimeoutError("it takes too long")


def _detach() -> None:
    """Continue in a process of our own if a client called."""
    if "CLAUDE_PID" not in os.environ or not hasattr(os, "fork"):
        return
    if os.fork():
        os._exit(0)
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
