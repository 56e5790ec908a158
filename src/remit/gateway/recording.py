"""Recording: what became of calls, kept after they were answered and off their way."""

import json
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import anyio

from remit.core.audit import AuditEntry, Outcome
from remit.errors import RemitError
from remit.gateway.clerk import Clerk
from remit.gateway.inventory import Inventory

_PAUSE = 0.2  # seconds in which calls are gathered
_ENOUGH = 64  # calls that are kept without waiting for more
_USED = (Outcome.DONE, Outcome.FAILED, Outcome.ERROR)
_log = logging.getLogger("remit.gateway")


class Done(NamedTuple):
    """A call that was answered."""

    entry: AuditEntry
    server: str | None
    session: str
    call_id: str | None
    outcome: Outcome
    asked: object  # both only to tell how long they are
    answer: object


class Recorder:
    """Gathers what became of calls, and has it kept."""

    def __init__(self, clerk: Clerk[Inventory]) -> None:
        self._clerk = clerk
        self._waiting: list[Done] = []
        self._bell = anyio.Event()
        self._is_enough = anyio.Event()

    def note(self, done: Done) -> None:
        """Keep what became of a call, soon."""
        self._waiting.append(done)
        self._bell.set()
        if len(self._waiting) >= _ENOUGH:
            self._is_enough.set()

    async def run(self) -> None:
        """Keep what is noted, until cancelled; what was noted till then is kept in any case."""
        try:
            while True:
                await self._bell.wait()
                with anyio.move_on_after(_PAUSE):
                    await self._is_enough.wait()
                await self.flush()
        finally:
            with anyio.CancelScope(shield=True):
                await self.flush()

    async def flush(self) -> None:
        """Keep all that was noted, now."""
        done, self._waiting = self._waiting, []
        self._bell, self._is_enough = anyio.Event(), anyio.Event()
        if done:
            try:
                await self._clerk.do(_keep, done)
            except RemitError as error:
                _log.warning("%d calls could not be recorded: %s", len(done), error)


def _keep(inventory: Inventory, done: Sequence[Done]) -> None:
    registry = inventory.registry
    for each in done:
        if each.outcome in _USED:
            registry.record(
                each.entry.tool,
                inventory.context,
                server=each.server,
                session_id=None
                if each.call_id is not None
                else each.session,  # the client's hook knows its own
                call_id=each.call_id,
                succeeded=each.outcome is Outcome.DONE,
                duration_ms=each.entry.duration_ms,
            )
    entries = [each.entry._replace(bytes_in=_size(each.asked), bytes_out=_size(each.answer)) for each in done]
    registry.add_audit(entries, inventory.context)


def _size(message: Any) -> int:
    return len(
        json.dumps(message, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace")
    )
