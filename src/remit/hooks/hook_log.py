"""Logs the failures of hooks, one per line, in a file of bounded size."""

import os
import time

from remit.errors import RemitError
from remit.files.bounded_reader import this_machine
from remit.settings import data_directory

FILE = "hooks.log"
MAX_BYTES = 256 * 1024  # above this, only the newer half is kept
_MAX_LINE = 300  # characters


def log_failure(event: str, error: BaseException, *, max_bytes: int = MAX_BYTES) -> None:
    """Log a failure; if logging fails, ignore it."""
    try:
        machine = this_machine()
        folder = data_directory(machine)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, FILE)
        _shorten(path, max_bytes)
        _append(path, _line(event, error))
    except Exception:  # noqa: S110 - nothing else can be done
        pass


def _line(event: str, error: BaseException) -> str:
    from remit.text.untrusted_text import one_line  # only failures need this

    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    # Only our own errors and those of the JSON parser are known to contain no secrets.
    is_safe = isinstance(error, RemitError | ValueError) and not isinstance(error, UnicodeError)
    message = str(error) if is_safe else ""
    return f"{at} {one_line(' '.join((event or 'event', type(error).__name__, message)), _MAX_LINE)}\n"


def _append(path: str, line: str) -> None:
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(opened, line.encode(errors="replace"))
    finally:
        os.close(opened)


def _shorten(path: str, max_bytes: int) -> None:
    try:
        if os.path.getsize(path) <= max_bytes:
            return
    except OSError:
        return
    with open(path, "rb") as opened:
        opened.seek(-max_bytes // 2, os.SEEK_END)
        opened.readline()  # skip the rest of a line
        newer = opened.read()
    with open(f"{path}.new", "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as written:
        written.write(newer)
    os.replace(f"{path}.new", path)
