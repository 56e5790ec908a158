"""Keeps recorded calls on disk while the store cannot be written, and delivers them later, each once."""

import logging
import os
from collections.abc import Callable

from remit.errors import StoreError, StoreRefusedError, StoreUnavailableError
from remit.files.write_queue import WriteQueue
from remit.usage.call_batch import CallBatch, read_batch

MOST = 20_000  # batches
_MOST_BYTES = 256 * 2**20
_FOLDER = "call-spool"
_log = logging.getLogger("remit.gateway")


class CallSpool:
    """A bounded folder of batches, shared by all gateways of a machine."""

    def __init__(self, data_directory: str, *, most: int = MOST, most_bytes: int = _MOST_BYTES) -> None:
        folder = os.path.join(data_directory, _FOLDER)
        self._queue = WriteQueue(folder, most=most, most_bytes=most_bytes)
        self.is_full = False  # calls that cannot be recorded are refused

    def __len__(self) -> int:
        return len(self._queue.names())

    def add(self, batch: CallBatch) -> None:
        """Keep a batch on disk.

        Raises:
            StoreUnavailableError: the folder is full or cannot be written.
        """
        try:
            self._queue.add(batch.as_json(), batch.id, batch.at)
        except StoreUnavailableError:
            self.is_full = True
            raise

    def deliver(self, record: Callable[[CallBatch], None]) -> None:
        """Record all batches, oldest first, and drop them.

        Raises:
            StoreError: the store cannot be written yet.
        """
        for name in self._queue.names():
            written = self._queue.read(name)
            if written is not None:
                try:
                    batch = read_batch(written)
                except (KeyError, TypeError, ValueError) as error:
                    _log.warning("`%s` in the spool of calls is damaged: %r", name, error)
                else:
                    self.record(batch, record)
                self._queue.drop(name)
        self.is_full = False

    def record(self, batch: CallBatch, record: Callable[[CallBatch], None]) -> None:
        """Record a batch; of one that the store refuses, set only the cause aside.

        Raises:
            StoreError: the store cannot be written.
        """
        try:
            record(batch)
        except Exception as error:  # also a violated constraint, or a text that cannot be encoded
            if isinstance(error, StoreError) and not isinstance(error, StoreRefusedError):
                raise
            halves = batch.halves()
            for half in halves:
                self.record(half, record)
            if not halves:
                self._set_aside(batch, error)

    def _set_aside(self, batch: CallBatch, error: Exception) -> None:
        part = "the audit entry" if batch.entries else "the use"
        _log.warning("the store does not accept %s of a call: %s: %s", part, type(error).__name__, error)
        try:
            self._queue.set_aside(batch.as_json(), batch.id, batch.at)
        except OSError as failure:
            _log.warning("it cannot be kept on disk either: %s", failure.strerror)
