"""Retries the writes that were queued while the store could not be written; every later call does."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from remit.errors import RemitError, StoreUnavailableError
from remit.files.write_queue import WriteQueue
from remit.memory.hygiene import PendingWrite
from remit.memory.results import SaveResult, SaveStatus
from remit.memory.tool_permissions import SAVING_TOOLS
from remit.memory.writer import MemoryWriter, WritePlan, WriteStamp, Written

if TYPE_CHECKING:
    from remit.store.memory_store import SqlMemory

Arguments = Mapping[str, object]

_LOCKED = "the store cannot be written"
_MOST_REFUSED = 20  # of a project; the oldest are dropped


class _Queued(NamedTuple):
    """A queued write."""

    name: str
    tool: str
    arguments: Arguments
    turn: WriteStamp
    refused: str | None  # the reason why it is not retried


class PendingWrites:
    """Retries queued writes in order; keeps and reports refused ones."""

    def __init__(
        self,
        queue: WriteQueue,
        store: "SqlMemory",
        writer: MemoryWriter,
        plan: Callable[[str, Arguments], WritePlan],
    ) -> None:
        self._queue = queue
        self._plan = plan
        self._store = store
        self._writer = writer

    def add(self, tool: str, arguments: Arguments, turn: WriteStamp) -> None:
        """Add a write.

        Raises:
            StoreUnavailableError: the queue cannot be written.
        """
        write = {"tool": tool, "arguments": dict(arguments), "id": turn.id, "at": turn.at}
        self._queue.add(write, turn.id, turn.at)

    def retry(self) -> bool:
        """Retry all writes; return False if the store cannot be written."""
        for queued in self._queued():
            if queued.refused is not None:
                continue
            try:
                wanted = self._plan(queued.tool, queued.arguments)
                with self._store.transaction():
                    written, _ = self._writer.write(wanted, queued.turn, None)
                reason = _refusal(written)
            except StoreUnavailableError:
                return False
            except RemitError as error:
                reason = str(error)
            if reason is None:
                self._queue.drop(queued.name)
            else:
                self._queue.mark(queued.name, {**_raw(queued), "refused": reason})
                self._drop_refused(queued.arguments.get("project_id"))
        return True

    def waiting(self, project_id: object) -> list[PendingWrite]:
        """List the queued writes of a project."""
        return [
            PendingWrite(queued.turn.id, queued.turn.at, queued.refused or _LOCKED)
            for queued in self._queued()
            if queued.arguments.get("project_id") == project_id
        ]

    def _drop_refused(self, project_id: object) -> None:
        refused = [queued for queued in self._queued() if queued.refused is not None]
        names = [queued.name for queued in refused if queued.arguments.get("project_id") == project_id]
        for name in names[:-_MOST_REFUSED]:
            self._queue.drop(name)

    def _queued(self) -> list[_Queued]:
        read = [_read(name, write) for name, write in self._queue.waiting()]
        return [queued for queued in read if queued is not None]


def _read(name: str, write: Mapping[str, object]) -> _Queued | None:
    """Parse a file of the queue; None if the queue did not write it."""
    tool, arguments, id, at = (write.get(key) for key in ("tool", "arguments", "id", "at"))
    if tool not in SAVING_TOOLS or not isinstance(arguments, dict) or not isinstance(id, str):
        return None
    if not isinstance(at, int) or not isinstance(refused := write.get("refused"), str | None):
        return None
    return _Queued(name, str(tool), cast("Arguments", arguments), WriteStamp(id, at), refused)


def _raw(queued: _Queued) -> dict[str, object]:
    return {"tool": queued.tool, "arguments": dict(queued.arguments), **queued.turn._asdict()}


def _refusal(written: Written) -> str | None:
    first = written if isinstance(written, SaveResult) else written.session
    return first.message if first.status is SaveStatus.BLOCKED_SCOPE else None
