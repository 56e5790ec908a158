"""A folder of writes that wait on disk until the store can be written."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import cast

from remit.errors import StoreUnavailableError
from remit.files.safe_changes import sync_directory

_SUFFIX = ".json"


class WriteQueue:
    """A folder of queued writes, one file each, named by time and synced to disk."""

    def __init__(self, folder: str, *, most: int | None = None) -> None:
        self._folder = folder
        self._most = most  # None: as many as the disk holds

    def add(self, write: Mapping[str, object], id: str, at: int) -> None:
        """Add a write.

        Raises:
            StoreUnavailableError: the folder is full or cannot be written.
        """
        if self._most is not None and len(self.names()) >= self._most:
            raise StoreUnavailableError(f"`{self._folder}` is full: {self._most:,} writes wait in it")
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._put(f"{at:016d}-{id}{_SUFFIX}", write)
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
        try:
            return sorted(name for name in os.listdir(self._folder) if name.endswith(_SUFFIX))
        except OSError:
            return []

    def drop(self, name: str) -> None:
        """Remove a write."""
        try:
            os.remove(os.path.join(self._folder, name))
        except FileNotFoundError:
            return  # another process removed it first

    def mark(self, name: str, write: Mapping[str, object]) -> None:
        """Replace a write with its new content."""
        self._put(name, write)

    def _put(self, name: str, write: Mapping[str, object]) -> None:
        path = os.path.join(self._folder, name)
        draft = f"{path}.{os.getpid()}.tmp"
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode=0o600), "wb") as file:
                file.write(json.dumps(dict(write), ensure_ascii=False).encode())
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
