"""The backlog: writes that could not be made when they were asked for, tried again by every later call."""

from collections.abc import Mapping
from typing import NamedTuple, cast

from remit.errors import RemitError, StoreUnavailableError
from remit.memory.hygiene import Waiting
from remit.memory.ports import MemoryStore, WriteQueue
from remit.memory.results import SaveResult, SaveStatus
from remit.memory.write_plan import WRITES, Arguments, plan
from remit.memory.writer import Turn, Writer, Written

_LOCKED = "the store cannot be written"


class _Queued(NamedTuple):
    """A write that waits."""

    name: str
    tool: str
    arguments: Arguments
    turn: Turn
    refused: str | None  # why it will never be made as it is


class Backlog:
    """Writes in the order they came; what is refused when its turn comes is kept, and told."""

    def __init__(self, queue: WriteQueue, store: MemoryStore, writer: Writer) -> None:
        self._queue = queue
        self._store = store
        self._writer = writer

    def add(self, tool: str, arguments: Arguments, turn: Turn) -> None:
        """Keep a write on disk.

        Raises:
            StoreUnavailableError: not even that is possible.
        """
        write = {"tool": tool, "arguments": dict(arguments), "id": turn.id, "at": turn.at}
        self._queue.add(write, turn.id, turn.at)

    def retry(self) -> bool:
        """Try what waits; False where it still cannot be written."""
        for queued in self._queued():
            if queued.refused is not None:
                continue
            try:
                wanted = plan(queued.tool, queued.arguments)
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
        return True

    def waiting(self, project_id: object) -> list[Waiting]:
        """List what waits for a project."""
        return [
            Waiting(queued.turn.id, queued.turn.at, queued.refused or _LOCKED)
            for queued in self._queued()
            if queued.arguments.get("project_id") == project_id
        ]

    def _queued(self) -> list[_Queued]:
        read = [_read(name, write) for name, write in self._queue.waiting()]
        return [queued for queued in read if queued is not None]


def _read(name: str, write: Mapping[str, object]) -> _Queued | None:
    """Read a file of the queue; None where nobody could have put it there."""
    tool, arguments, id, at = (write.get(key) for key in ("tool", "arguments", "id", "at"))
    if tool not in WRITES or not isinstance(arguments, dict) or not isinstance(id, str):
        return None
    if not isinstance(at, int) or not isinstance(refused := write.get("refused"), str | None):
        return None
    return _Queued(name, str(tool), cast("Arguments", arguments), Turn(id, at), refused)


def _raw(queued: _Queued) -> dict[str, object]:
    return {"tool": queued.tool, "arguments": dict(queued.arguments), **queued.turn._asdict()}


def _refusal(written: Written) -> str | None:
    first = written if isinstance(written, SaveResult) else written.session
    return first.message if first.status is SaveStatus.BLOCKED_SCOPE else None
