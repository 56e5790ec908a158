"""Answers an event in a child process, so an answer always comes in time, and a lost one is closed.

The child does the work. Before it touches the repository, it notes what to answer if it fails. The parent
only waits. So no `except` can swallow the time limit, and the limit also holds while a library runs C code or
a file system does not respond. A system without `fork` has a timer thread instead, which C code can delay.
If the machine is too busy to run the child, it gets a little more time. Then the call is refused as well, but
the child may finish: it stores its decision, so the next call of the tool gets an answer at once. A refusal
without a decision is recorded afterwards, in a process that nobody waits for.

This module imports almost nothing, because every hook loads it.
"""

import os
import signal
import time
from collections.abc import Callable

# The child's notes: what to answer if it fails from here on.
DENY = b"d"  # the user's or the administrator's rules could forbid the call
ASK = b"a"  # only other rules could forbid it
SILENT = b"n"  # no rule could forbid it
SESSION = b"s"  # a session starts
OTHER = b"o"  # an event without a decision

DECISION_SECONDS = 1.6  # answers must come within 2 s of the start
BUSY_SECONDS = 1.4  # more for a decision of a child that the machine hardly ran; the client waits 10 s
SESSION_SECONDS, OTHER_SECONDS = 25.0, 12.0  # less than the client waits
_HARDLY = 0.4  # seconds of processor time, which most decisions need at most
# Why there is no answer.
LATE, LOST = "it takes too long", "the hook ended unexpectedly"
BUSY = "the machine is too busy"
_DONE = b"\n"  # ends the notes
_END = b"\0"  # ends the answer
_CHUNK = 65_536
_AFTER = 1.0  # seconds; then the kernel ends a child whose parent was killed
_RECORD_SECONDS = 10.0  # to record a refusal

Note = Callable[[bytes], None]
Work = Callable[[Note], str]  # returns the answer; empty: none
Record = Callable[[bytes, str], None]  # gets the note that was answered, and the answer that came too late


def answer_in_time(work: Work, record: Record, *, first: bytes, start: float) -> None:
    """Write the answer of the work to stdout, or the closed answer to its last note, and record that.

    `first` counts until the work notes something, and `start` is the time that limits count from.
    """
    try:
        pid, reader = _start_child(work, record, first)
    except (AttributeError, OSError):  # no `fork` on this system, or no process left
        _answer_with_timer(work, first, start)
        return
    said, why = _receive(pid, reader, first, start)
    notes, _, answer = said.partition(_DONE)
    if answer.endswith(_END):
        _write(1, answer[:-1])
    else:
        note = notes[-1:] or first
        _fail(note, why)
        if note in (DENY, ASK) and why != BUSY:  # a child that goes on records it itself
            _afterwards(lambda: record(note, ""))


def process_start() -> float:
    """Return when this process started, in monotonic seconds: starting Python takes time, too."""
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as opened:
            ticks = int(opened.read().rpartition(") ")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (AttributeError, OSError, ValueError, IndexError):  # not on this system
        age = 0.0
    return time.monotonic() - max(age, 0.0)


def _seconds(note: bytes) -> float:
    return {SESSION: SESSION_SECONDS, OTHER: OTHER_SECONDS}.get(note, DECISION_SECONDS)


def _start_child(work: Work, record: Record, first: bytes) -> tuple[int, int]:
    """Start the work in a child; return its id, and the descriptor for its notes and answer."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    try:
        os.close(reader)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, SESSION_SECONDS + _AFTER)
        leave_streams()
        told = [first]  # the notes that the parent got
        _tell(writer, first)
        answer = work(lambda note: told.append(note) if _tell(writer, note) else None)
        if not _tell(writer, _DONE + answer.encode() + _END):
            record(told[-1], answer)
    finally:
        os._exit(0)


def _afterwards(act: Callable[[], None]) -> None:
    """Do something in a process of its own, within bounds."""
    try:
        if os.fork():
            return
    except (AttributeError, OSError):  # no `fork` on this system, or no process left
        return
    try:
        os.setsid()
        signal.setitimer(signal.ITIMER_REAL, _RECORD_SECONDS)
        leave_streams()
        act()
    finally:
        os._exit(0)


def leave_streams() -> None:
    """Connect the standard streams to nothing."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # the client waits until no process has these open
        os.dup2(nowhere, stream)


def _receive(pid: int, reader: int, first: bytes, start: float) -> tuple[bytes, str]:
    """Read what the child sends until it ends or is late; return that, and why no answer may be there.

    A late child is ended, unless the machine was too busy to run it.
    """
    import select

    said, more = b"", 0.0
    while True:
        note = said.partition(_DONE)[0][-1:] or first
        left = start + _seconds(note) + more - time.monotonic()
        if left <= 0:
            if not more and not _is_starved(pid):
                os.kill(pid, signal.SIGKILL)
                return said, LATE
            if more or note in (SESSION, OTHER):
                os.close(reader)  # so that the child knows
                return said, BUSY
            more = BUSY_SECONDS
            continue
        if not select.select([reader], [], [], left)[0]:
            continue
        chunk = os.read(reader, _CHUNK)
        if not chunk:
            os.waitpid(pid, 0)
            return said, LOST
        said += chunk


def _is_starved(pid: int) -> bool:
    """Tell whether a process hardly ran although it is ready to, which no file can cause."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as opened:
            state, *fields = opened.read().rpartition(") ")[2].split()
    except OSError:  # not on this system
        return False
    ticks = int(fields[10]) + int(fields[11])  # in the program, and in the system for it
    return state == "R" and ticks / os.sysconf("SC_CLK_TCK") < _HARDLY


def _answer_with_timer(work: Work, first: bytes, start: float) -> None:
    """Do the work in this process, while a timer thread waits to write the closed answer."""
    import threading

    notes, only_one = [first], threading.Lock()

    def watch() -> None:
        while (left := start + _seconds(notes[-1]) - time.monotonic()) > 0:
            time.sleep(left)
        only_one.acquire()
        _fail(notes[-1], LATE)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    try:
        answer = work(notes.append)
    except BaseException:
        only_one.acquire()
        _fail(notes[-1], LOST)
        return
    only_one.acquire()
    _write(1, answer.encode())


def _fail(note: bytes, why: str) -> None:
    """Write the closed answer to a note, and log the failure."""
    from remit.hooks.fail_closed import closed_answer
    from remit.hooks.hook_log import log_failure

    _write(1, closed_answer(note, why).encode())
    log_failure("", ValueError(why))


def _tell(writer: int, data: bytes) -> bool:
    """Write to the parent; False if it has answered without the child."""
    try:
        _write(writer, data)
    except BrokenPipeError:
        return False
    return True


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
