"""`remit hook`: one event on stdin, its answer on stdout.

A hook never breaks the session that it is called from: whatever happens, the exit code is 0, and nothing but
an answer is printed. A failure is one line in a log of bounded size.

This module imports next to nothing: a client that ends tells the hooks that it does not wait for to end, too,
and a use that was told is to be kept all the same.
"""

import os
import signal
import sys

_LIMIT = 64 * 1024 * 1024 + 1  # bytes; an event that is as long is passed over
_HEAD = 10_000  # bytes in which an event says what it is
_BEFORE_CALLS = b'"PreToolUse"'  # which the client waits 15 s for, and then goes on as if allowed
_PATIENCE = 10.0  # seconds
_REPORTS = (b'"PostToolUse"', b'"PostToolUseFailure"')  # which nobody waits for an answer to


def main() -> None:
    """Answer the event on stdin, and end well."""
    try:
        usual = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        data = sys.stdin.buffer.read(_LIMIT)
        # A call may be given any words: where somebody may wait for an answer, nobody leaves.
        if _BEFORE_CALLS not in data and any(name in data[:_HEAD] for name in _REPORTS):
            _leave_the_client()
        else:
            signal.signal(signal.SIGTERM, usual)
        if _BEFORE_CALLS in data[:_HEAD]:
            _hurry()
        from remit.hooks.event_dispatch import respond

        if text := respond(data):
            os.write(1, text.encode())
    except BrokenPipeError:  # a client that ended has no use for an answer
        pass
    except BaseException as error:
        from remit.hooks.hook_log import note

        note("", error)
    finally:
        os._exit(0)  # whatever happened, and without the time that an orderly end takes


def _hurry() -> None:
    """Answer while somebody still waits: late is as good as a yes."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _give_up)
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE)


def _give_up(_number: int, _frame: object) -> None:
    raise TimeoutError("it takes too long")


def _leave_the_client() -> None:
    """Go on in a process of our own, where it is a client that called."""
    if "CLAUDE_PID" not in os.environ or not hasattr(os, "fork"):
        return
    if os.fork():
        os._exit(0)
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
