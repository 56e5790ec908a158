"""Waits for changes in directories with Linux's inotify, without waking up while nothing happens.

`watchfiles` polls twenty times a second, which an idle gateway must not do.
"""

import ctypes
import os
import select
import struct
import time
from collections.abc import Iterable

_IN_CHANGES = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800  # content, names, and itself
_IN_ONLYDIR = 0x01000000
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the following name
_BUFFER = 2**16


class Inotify:
    """Watches some directories, but not those below them.

    Raises:
        OSError: the system has no watches left.
    """

    def __init__(self, directories: Iterable[str]) -> None:
        self._files: tuple[int, ...] = ()
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._file = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._wake, self._woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._files = (self._file, self._wake, self._woken)
        self._poll = select.poll()
        self._poll.register(self._file, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)
        self._paths: dict[int, str] = {}
        for path in directories:
            self._add(path)

    def wait(self, seconds: float, *, quiet: float, most: float) -> set[str]:
        """Wait for changes; collect their paths until `quiet` seconds without one, or for `most` seconds."""
        found: set[str] = set()
        if not self._is_ready(seconds):
            return found
        end = time.monotonic() + most
        found |= self._read()
        while time.monotonic() < end and self._is_ready(quiet):
            if not (more := self._read()):
                break
            found |= more
        return found

    def wake(self) -> None:
        """End the wait, from any thread."""
        os.write(self._woken, b"x")

    def close(self) -> None:
        """Stop watching."""
        files, self._files = self._files, ()
        for file in files:
            os.close(file)

    def __del__(self) -> None:
        self.close()

    def _is_ready(self, seconds: float) -> bool:
        ready = self._poll.poll(max(0, seconds * 1000))
        return any(file == self._file for file, _ in ready)

    def _read(self) -> set[str]:
        try:
            data = os.read(self._file, _BUFFER)
        except BlockingIOError:
            return set()
        found, at = set[str](), 0
        while at < len(data):
            watch, _, _, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size + length
            name = os.fsdecode(data[at - length : at].rstrip(b"\0"))
            if watch in self._paths:
                found.add(os.path.join(self._paths[watch], name) if name else self._paths[watch])
        return found

    def _add(self, path: str) -> None:
        try:
            watch = self._checked(
                self._libc.inotify_add_watch(self._file, os.fsencode(path), _IN_CHANGES | _IN_ONLYDIR)
            )
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return  # removed since, or not readable
        self._paths[watch] = path

    def _checked(self, result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result
