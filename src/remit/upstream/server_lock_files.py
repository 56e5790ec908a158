"""Locks of servers as files, for the processes of one machine."""

import os
from hashlib import sha256
from threading import Lock

from remit.files.file_lock import try_lock
from remit.upstream.ownership import Lost


class ServerLockFiles:
    """Locks in one folder; the system releases those of a process that ends."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._guard = Lock()
        self._held: dict[str, int] = {}  # descriptors

    def take(self, name: str, lost: Lost) -> bool:  # noqa: ARG002 - a file's lock cannot be lost
        """Take a lock, unless it is held."""
        path = os.path.join(self._folder, f"{sha256(name.encode()).hexdigest()[:32]}.lock")
        with self._guard:
            if name in self._held:
                return False
            descriptor = self._locked(path)
            if descriptor is not None:
                self._held[name] = descriptor
            return descriptor is not None

    def release(self, name: str) -> None:
        """Let others take a lock."""
        with self._guard:
            descriptor = self._held.pop(name, None)
        if descriptor is not None:
            os.close(descriptor)

    def close(self) -> None:
        """Release all."""
        for name in [*self._held]:
            self.release(name)

    def _locked(self, path: str) -> int | None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        while True:
            try:
                return try_lock(path)
            except FileNotFoundError:
                pass
            try:
                return try_lock(path, is_new=True)
            except FileExistsError:  # another process was faster
                pass
