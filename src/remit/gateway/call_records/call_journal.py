"""Writes each call down before it is answered, so that a gateway that is killed loses no record of one.

A journal is a file of one batch, locked while its gateway lives. It goes away once the batch is stored; what
a dead gateway left is delivered by the next one on the machine. A batch is stored once, by its id.
"""

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from remit.decision.projects import Workspace
from remit.files.file_lock import try_lock
from remit.usage.call_batch import CallBatch, CallRecord, read_batch

_FOLDER = "call-journal"
_SUFFIX = ".calls"
_log = logging.getLogger("remit.gateway")


class WrittenCalls(NamedTuple):
    """An open file of one batch."""

    id: str
    path: str
    file: int

    def drop(self) -> None:
        """Forget the batch: it is stored elsewhere."""
        with suppress(OSError):
            os.remove(self.path)
        self.release()

    def release(self) -> None:
        """Leave the batch to the next gateway that starts."""
        os.close(self.file)


class CallJournal:
    """The journals of an endpoint, for one client in one workspace."""

    def __init__(self, data_directory: str, client: str, workspace: Workspace) -> None:
        self._folder = os.path.join(data_directory, _FOLDER)
        self._client = client
        self._workspace = workspace
        self._open: WrittenCalls | None = None
        self._is_broken = False

    def write(self, record: CallRecord) -> None:
        """Write a call down; if that fails, warn once and go on without a journal."""
        if self._is_broken:
            return
        try:
            if self._open is None:
                self._open = self._begun(record.entry.called_at)
            os.write(self._open.file, _line(record))
        except OSError as error:
            self._is_broken = True
            _log.warning("calls are not written down before they are stored: %s", error.strerror)

    def hand_over(self) -> WrittenCalls | None:
        """Return the journal of all calls so far, and begin another with the next call."""
        done, self._open = self._open, None
        return done

    def orphans(self) -> Iterator[tuple[CallBatch, WrittenCalls]]:
        """Yield the batches of gateways that no longer live, with their journals, which the caller drops."""
        with suppress(FileNotFoundError):
            for name in sorted(os.listdir(self._folder)):
                written = _of_the_dead(os.path.join(self._folder, name)) if name.endswith(_SUFFIX) else None
                if written is not None and (batch := _read(written)) is not None:
                    yield batch, written

    def _begun(self, at: int) -> WrittenCalls:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        id = os.urandom(8).hex()
        path = os.path.join(self._folder, f"{id}{_SUFFIX}")
        file = try_lock(path, is_new=True)
        if file is None:  # another gateway took the empty file for one of the dead
            return self._begun(at)
        os.write(file, _line({"id": id, "at": at, "client": self._client, "workspace": self._workspace}))
        return WrittenCalls(id, path, file)


def _of_the_dead(path: str) -> WrittenCalls | None:
    """Open and lock a journal; None if its gateway lives, or another has delivered it."""
    try:
        file = try_lock(path)
    except OSError:
        return None
    return None if file is None else WrittenCalls(os.path.basename(path).removesuffix(_SUFFIX), path, file)


def _read(written: WrittenCalls) -> CallBatch | None:
    """Read a journal, except for a line that was cut; drop one without calls, and set a damaged one aside."""
    with open(written.file, "rb", closefd=False) as file:
        lines = file.read().split(b"\n")[:-1]
    if len(lines) < 2:  # the first line is about the batch
        written.drop()
        return None
    try:
        head, *calls = map(json.loads, lines)
        used = [call["use"] for call in calls if call["use"] is not None]
        return read_batch({**head, "used": used, "entries": [call["entry"] for call in calls]})
    except (KeyError, TypeError, ValueError) as error:
        _log.warning("`%s` in the journal of calls is damaged: %r", written.path, error)
        os.replace(written.path, f"{written.path}.damaged")
        written.release()
        return None


def _line(content: Mapping[str, Any] | CallRecord) -> bytes:
    values = content._asdict() if isinstance(content, CallRecord) else dict(content)
    return json.dumps(values).encode() + b"\n"  # escaped, because a text may contain half a character
