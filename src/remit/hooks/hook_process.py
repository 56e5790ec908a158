"""The `remit hook` command: reads an event from stdin and writes the answer to stdout.

A hook never breaks the session that runs it: the exit code is 0, and only an answer is printed. A failure
adds one line to a log of bounded size.

This module imports almost nothing: a client that exits kills the hooks it does not wait for, and a use must
be recorded anyway.
"""

import os
import signal
import sys

from remit.hooks.guarded_answer import DENY, OTHER, Note, answer_in_time, leave_streams, process_start

_LIMIT = 64 * 1024 * 1024 + 1  # bytes; events of this length or more are not read
_HEAD = 10_000  # bytes that contain the name of most events
_BEFORE_CALLS = b'"PreToolUse"'
_REPORTS = (b'"PostToolUse"', b'"PostToolUseFailure"')  # the client does not wait for an answer
_REPORT_SECONDS = 60.0
BLOCKS = 2  # the exit code that blocks a call; the client shows the model what is on stderr
CANNOT_RUN = (
    "Remit's hook cannot run, so this call is refused. Ask the user to repair it with `remit install "
    "claude-code`, or to remove it with `remit uninstall claude-code`.\n"
)


def main(record: str | None = None) -> None:
    """Answer the event on stdin; take all paths from the install record, if one is given.

    The exit code is 0, or 2 if a call can be refused in no other way.
    """
    code, may_decide = 0, False
    try:
        start = process_start()
        usual = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        data = sys.stdin.buffer.read(_LIMIT)
        # Arguments may contain any text, so do not detach if the client could be waiting for an answer.
        may_decide = _BEFORE_CALLS in data or len(data) >= _LIMIT
        if record is not None and (text := _fix_environment(record, data)):
            os.write(1, text.encode())
            return
        if not may_decide and any(name in data[:_HEAD] for name in _REPORTS):
            _detach()
            _limit_time()
            _respond(data, record)
        else:
            signal.signal(signal.SIGTERM, usual)
            first = DENY if may_decide else OTHER
            answer_in_time(
                lambda note: _respond(data, record, note),
                lambda note, answer: _record_undecided(data, record, note, answer),
                first=first,
                start=start,
            )
    except BrokenPipeError:  # the client has exited
        pass
    except BaseException as error:
        code = _refuse() if may_decide else 0
        from remit.hooks.hook_log import log_failure

        log_failure("", error)
    finally:
        os._exit(code)  # skip the slower regular exit


def _fix_environment(record: str, data: bytes) -> str:
    """Take paths from the install record; return the answer to the event if that fails."""
    from remit.errors import InstallRecordError
    from remit.install.recorded_environment import read_environment

    try:
        read_environment(record).apply(os.environ)
    except InstallRecordError as error:
        from remit.hooks.event_dispatch import respond_without_record

        return respond_without_record(data, error)
    return ""


def _refuse() -> int:
    """Refuse a call by the exit code that blocks it, and tell how to repair the hook."""
    os.write(2, CANNOT_RUN.encode())
    return BLOCKS


def _respond(data: bytes, record: str | None, note: Note = lambda _note: None) -> str:
    from remit.hooks.event_dispatch import respond
    from remit.hooks.hook_context import SYSTEM, installed

    return respond(data, SYSTEM if record is None else installed(record), note)


def _record_undecided(data: bytes, record: str | None, note: bytes, answer: str) -> None:
    from remit.hooks.event_dispatch import record_undecided
    from remit.hooks.hook_context import SYSTEM, installed

    record_undecided(data, note, SYSTEM if record is None else installed(record), answer)


def _detach() -> None:
    """Continue in a separate process if a client started this one."""
    if "CLAUDE_PID" not in os.environ or not hasattr(os, "fork"):
        return
    if os.fork():
        os._exit(0)
    os.setsid()
    leave_streams()


def _limit_time() -> None:
    """Let the kernel end a process that hangs."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, _REPORT_SECONDS)
