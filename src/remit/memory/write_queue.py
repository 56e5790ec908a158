"""A folder of writes that memory could not make yet: a file each, on the disk before it counts as kept."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import cast

from remit.errors import StoreUnavailableError
from remit.files.safe_changes import sync_directory

_SUFFIX = ".json"


class FolderQueue:
    """Keeps writes as files whose names say when they came."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def add(self, write: Mapping[str, object], id: str, at: int) -> None:
        """Keep a write.

        Raises:
            StoreUnavailableError: there is no room for it.
        """
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._put(f"{at:016d}-{id}{_SUFFIX}", write)
        except OSError as error:
            raise StoreUnavailableError(
                f"`{self._folder}` cannot be written: {error.strerror}",
                hint="make room on the disk, then save again: nothing was kept",
            ) from error

    def waiting(self) -> Sequence[tuple[str, Mapping[str, object]]]:
        """List the writes, the oldest first; a file that is no write is left alone."""
        try:
            names = sorted(name for name in os.listdir(self._folder) if name.endswith(_SUFFIX))
        except OSError:
            return []
        found = [(name, self._read(name)) for name in names]
        return [(name, write) for name, write in found if write is not None]

    def drop(self, name: str) -> None:
        """Forget a write that was made."""
        try:
            os.remove(os.path.join(self._folder, name))
        except FileNotFoundError:
            return  # another process was faster

    def mark(self, name: str, write: Mapping[str, object]) -> None:
        """Keep a write with what is said of it now."""
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

    def _read(self, name: str) -> Mapping[str, object] | None:
        try:
            with open(os.path.join(self._folder, name), encoding="utf-8") as file:
                read: object = json.load(file)
        except (OSError, ValueError):
            return None
        return cast("Mapping[str, object]", read) if isinstance(read, dict) else None
