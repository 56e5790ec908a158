"""Keeps large results on disk while their session lasts, readable by their user only.

Each endpoint has a folder of its own with a lock. The lock ends with the process, so the next gateway that
starts finds the folders of those that crashed, and removes them.
"""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from remit.decision.declarations import Key
from remit.files.file_lock import try_lock
from remit.presentation.results.result_document import ResultDocument

FOLDER = "results"
PER_SESSION = 64 * 2**20  # bytes
IN_ALL = 512 * 2**20  # bytes, of all gateways of a user
LIFETIME = 60 * 60 * 1000  # milliseconds since it was last read
_LOCK = "lock"
_TRIES = 3


class KeptResult(NamedTuple):
    """A result that is kept, without its content."""

    id: str
    session: str
    principal: str | None
    tool: Key
    served: str  # the name that it was called by
    was_asked: bool  # the call needed approval, and got it


class _Kept(NamedTuple):
    result: KeptResult
    size: int
    used_at: int


class ResultStore:
    """The large results of one endpoint."""

    def __init__(
        self,
        directory: str,
        now: Callable[[], int],  # Unix milliseconds
        *,
        per_session: int = PER_SESSION,
        in_all: int = IN_ALL,
    ) -> None:
        self._root = os.path.join(directory, FOLDER)
        self._now = now
        self._per_session = per_session
        self._in_all = in_all
        self._folder: str | None = None
        self._lock: int | None = None
        self._kept: dict[str, _Kept] = {}  # least recently used first

    def keep(self, document: ResultDocument, result: KeptResult) -> bool:
        """Keep a result; False if it is too large or cannot be written."""
        data = json.dumps(document).encode()
        self._drop_old()
        if not self._make_room(len(data), result.session):
            return False
        try:
            folder = self._folder or self._open()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
            with open(os.open(os.path.join(folder, result.id), flags, 0o600), "wb") as file:
                file.write(data)
        except OSError:
            self._unlink(result.id)
            return False
        self._kept[result.id] = _Kept(result, len(data), self._now())
        return True

    def find(self, result: str, session: str, principal: str | None) -> KeptResult | None:
        """Find a result that was kept for this session and principal."""
        self._drop_old()
        kept = self._kept.get(result)
        if kept is None or (kept.result.session, kept.result.principal) != (session, principal):
            return None
        return kept.result

    def read(self, result: str) -> ResultDocument | None:
        """Read a result; None if it is gone."""
        kept = self._kept.pop(result, None)
        if kept is None or self._folder is None:
            return None
        try:
            with open(os.path.join(self._folder, result), "rb") as file:
                content: list[Any] = json.load(file)
        except (OSError, ValueError):
            self._unlink(result)
            return None
        self._kept[result] = kept._replace(used_at=self._now())
        return ResultDocument(*content)

    def leave(self, session: str) -> None:
        """Remove the results of a session."""
        for each in [*self._kept.values()]:
            if each.result.session == session:
                self._drop(each)

    def close(self) -> None:
        """Remove all results."""
        self._kept.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def sweep(self) -> None:
        """Remove what gateways left behind that did not end properly."""
        for folder in self._folders():
            with suppress(OSError):
                lock = try_lock(os.path.join(folder, _LOCK))
                if lock is not None:
                    shutil.rmtree(folder, ignore_errors=True)
                    os.close(lock)
            with suppress(OSError):
                os.rmdir(folder)  # if it has nothing in it, not even a lock

    def _open(self) -> str:
        """Create the folder of this endpoint.

        Raises:
            OSError: it cannot be created.
        """
        os.makedirs(self._root, mode=0o700, exist_ok=True)
        for _ in range(_TRIES):
            folder = os.path.join(self._root, secrets.token_hex(8))
            with suppress(OSError):  # a gateway that starts now may take it for abandoned
                os.mkdir(folder, 0o700)
                lock = try_lock(os.path.join(folder, _LOCK), is_new=True)
                if lock is not None and os.path.exists(os.path.join(folder, _LOCK)):
                    self._folder, self._lock = folder, lock
                    return folder
        raise OSError(f"cannot create a folder in {self._root}")

    def _make_room(self, size: int, session: str) -> bool:
        """Drop the least recently used results until one of this size fits."""
        if size > min(self._per_session, self._in_all):
            return False
        own = [each for each in self._kept.values() if each.result.session == session]
        used = sum(each.size for each in own)
        for each in own:
            if used + size <= self._per_session:
                break
            used -= each.size
            self._drop(each)
        total = sum(self._sizes())
        for each in [*self._kept.values()]:
            if total + size <= self._in_all:
                break
            total -= each.size
            self._drop(each)
        return total + size <= self._in_all

    def _drop_old(self) -> None:
        oldest = self._now() - LIFETIME
        for each in [*self._kept.values()]:
            if each.used_at < oldest:
                self._drop(each)

    def _drop(self, kept: _Kept) -> None:
        del self._kept[kept.result.id]
        self._unlink(kept.result.id)

    def _unlink(self, result: str) -> None:
        if self._folder is not None:
            with suppress(OSError):
                os.unlink(os.path.join(self._folder, result))

    def _folders(self) -> list[str]:
        try:
            return [os.path.join(self._root, name) for name in os.listdir(self._root)]
        except OSError:
            return []

    def _sizes(self) -> Iterator[int]:
        for folder in self._folders():
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    with suppress(OSError):
                        yield entry.stat(follow_symlinks=False).st_size
