"""Keeps recorded calls on disk while the store cannot be written, and delivers them later, each once."""

import logging
import os
from collections.abc import Callable

from remit.errors import StoreUnavailableError
from remit.files.write_queue import WriteQueue
from remit.usage.call_batch import CallBatch, read_batch

MOST = 20_000  # batches
_FOLDER = "call-spool"
_log = logging.getLogger("remit.gateway")


class CallSpool:
    """A bounded folder of batches, shared by all gateways of a machine."""

    def __init__(self, data_directory: str, *, most: int = MOST) -> None:
        self._queue = WriteQueue(os.path.join(data_directory, _FOLDER), most=most)
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
            StoreUnavailableError: the store cannot be written yet.
        """
        for name in self._queue.names():
            written = self._queue.read(name)
            if written is not None:
                try:
                    batch = read_batch(written)
                except (KeyError, TypeError, ValueError) as error:
                    _log.warning("`%s` in the spool of calls is damaged: %r", name, error)
                else:
                    record(batch)
                self._queue.drop(name)
        self.is_full = False
