"""A folder of writes that wait on disk until the store can be written."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

from remit.errors import StoreUnavailableError
from remit.files.safe_changes import sync_directory

_MOST = 2_000  # writes
_MOST_BYTES = 256 * 2**20
_MOST_REFUSED = 1_000
_SUFFIX = ".json"
_REFUSED = ".refused"


class WriteQueue:
    """A bounded folder of queued writes, one file each, named by time and synced to disk."""

    def __init__(self, folder: str, *, most: int = _MOST, most_bytes: int = _MOST_BYTES) -> None:
        self._folder = folder
        self._most = most
        self._most_bytes = most_bytes

    def add(self, write: Mapping[str, object], id: str, at: int) -> None:
        """Add a write.

        Raises:
            StoreUnavailableError: the folder is full or cannot be written.
        """
        names, data = self.names(), _encoded(write)
        if len(names) >= self._most or self._size(names) + len(data) > self._most_bytes:
            raise StoreUnavailableError(f"`{self._folder}` is full: {len(names):,} writes wait in it")
        try:
            self._put(f"{at:016d}-{id}{_SUFFIX}", data)
        except OSError as error:
            raise StoreUnavailableError(
                f"`{self._folder}` cannot be written: {error.strerror}",
                hint="free space on the disk, then save again: nothing was saved",
            ) from error

    def waiting(self) -> Sequence[tuple[str, Mapping[str, object]]]:
        """List the writes, oldest first; ignore other files."""
        found = [(name, self.read(name)) for name in self.names()]
        return [(name, write) for name, write in found if write is not None]

    def names(self) -> Sequence[str]:
        """List the names of the writes, oldest first."""
        return self._names(_SUFFIX)

    def drop(self, name: str) -> None:
        """Remove a write."""
        try:
            os.remove(os.path.join(self._folder, name))
        except FileNotFoundError:
            return  # another process removed it first

    def mark(self, name: str, write: Mapping[str, object]) -> None:
        """Replace a write with its new content."""
        self._put(name, _encoded(write))

    def set_aside(self, write: Mapping[str, object], id: str, at: int) -> None:
        """Keep a write that no attempt can make, for people to read; only the newest are kept.

        Raises:
            OSError: it cannot be kept.
        """
        self._put(f"{at:016d}-{id}{_REFUSED}", _encoded(write))
        for name in self._names(_REFUSED)[:-_MOST_REFUSED]:
            self.drop(name)

    def _names(self, suffix: str) -> Sequence[str]:
        try:
            return sorted(name for name in os.listdir(self._folder) if name.endswith(suffix))
        except OSError:
            return []

    def _size(self, names: Sequence[str]) -> int:
        size = 0
        for name in names:
            with suppress(OSError):  # another process removed it
                size += os.stat(os.path.join(self._folder, name)).st_size
        return size

    def _put(self, name: str, data: bytes) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        path = os.path.join(self._folder, name)
        draft = f"{path}.{os.getpid()}.tmp"
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode=0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except BaseException:
            if os.path.exists(draft):
                os.remove(draft)
            raise
        sync_directory(self._folder)

    def read(self, name: str) -> Mapping[str, object] | None:
        """Read a write; None if it is gone or unreadable."""
        try:
            with open(os.path.join(self._folder, name), encoding="utf-8") as file:
                read: object = json.load(file)
        except (OSError, ValueError):
            return None
        return cast("Mapping[str, object]", read) if isinstance(read, dict) else None


def _encoded(write: Mapping[str, object]) -> bytes:
    return json.dumps(dict(write)).encode()  # escaped, because a text may contain half a character
