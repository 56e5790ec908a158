"""The log of hooks: one line for each failure, in a file that stays small."""

import os
import time

from remit.errors import RemitError
from remit.files.bounded_reader import this_machine
from remit.settings import data_directory
from remit.text.one_line import one_line

FILE = "hooks.log"
MOST = 256 * 1024  # bytes, after which only the newer half is kept
_LONGEST = 300  # characters of a line


def note(event: str, error: BaseException) -> None:
    """Write down what went wrong; where even that is not possible, it is lost."""
    try:
        machine = this_machine()
        folder = data_directory(machine.variables, machine.platform, machine.home)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, FILE)
        _shorten(path)
        _append(path, _line(event, error))
    except Exception:  # noqa: S110 - there is nobody left to tell
        pass


def _line(event: str, error: BaseException) -> str:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    # Only of our own errors, and of those of reading JSON, is it known that they say nothing secret.
    said = error if isinstance(error, RemitError | ValueError) and not isinstance(error, UnicodeError) else ""
    return f"{at} {one_line(' '.join((event or 'event', type(error).__name__, str(said))), _LONGEST)}\n"


def _append(path: str, line: str) -> None:
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(opened, line.encode(errors="replace"))
    finally:
        os.close(opened)


def _shorten(path: str) -> None:
    try:
        if os.path.getsize(path) <= MOST:
            return
    except OSError:
        return
    with open(path, "rb") as opened:
        opened.seek(-MOST // 2, os.SEEK_END)
        opened.readline()  # the rest of a line
        newer = opened.read()
    with open(f"{path}.new", "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as written:
        written.write(newer)
    os.replace(f"{path}.new", path)
