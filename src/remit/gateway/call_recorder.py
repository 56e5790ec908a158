"""Recording: what became of calls, kept after they were answered and off their way."""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, cast

import anyio

from remit.decision.client_reports import CallOutcome
from remit.decision.context import Context
from remit.gateway.registry_worker import RegistryWorker
from remit.policy.audit import AuditEntry, Outcome
from remit.registry import Registry

_PAUSE = 0.2  # seconds in which calls are gathered
_ENOUGH = 64  # calls that are kept without waiting for more
_MOST_SESSIONS = 1_000
_USED = (Outcome.DONE, Outcome.FAILED, Outcome.ERROR)
_log = logging.getLogger("remit.gateway")


class CompletedCall(NamedTuple):
    """A call that was answered."""

    entry: AuditEntry
    server: str | None
    session: str
    call_id: str | None
    outcome: Outcome
    asked: object  # both only to tell how long they are
    answer: object


class CallRecorder:
    """Gathers what became of calls, and has it kept.

    It has a registry of its own, so that no call waits for what others did.
    """

    def __init__(self, open: Callable[[], Registry], context: Callable[[], Context]) -> None:
        self._open = open
        self._context = context
        self._registry: Registry | None = None
        self._clerk = RegistryWorker(self)
        self._waiting: list[CompletedCall] = []
        self._bell = anyio.Event()
        self._is_enough = anyio.Event()
        self._run = os.urandom(8).hex()
        self._sessions: dict[str, str] = {}

    def note(self, done: CompletedCall) -> None:
        """Keep what became of a call, soon."""
        self._waiting.append(done)
        self._bell.set()
        if len(self._waiting) >= _ENOUGH:
            self._is_enough.set()

    async def run(self) -> None:
        """Keep what is noted, until cancelled."""
        while True:
            await self._bell.wait()
            with anyio.move_on_after(_PAUSE):
                await self._is_enough.wait()
            await self.flush()

    async def flush(self) -> None:
        """Keep all that was noted, now."""
        done, self._waiting = self._waiting, []
        self._bell, self._is_enough = anyio.Event(), anyio.Event()
        if done:
            await self._clerk.do(CallRecorder._try_to_keep, done)

    async def close(self) -> None:
        """Keep all that was noted, and let go of the registry."""
        await self.flush()
        await self._clerk.do(CallRecorder._close)

    def _try_to_keep(self, done: Sequence[CompletedCall]) -> None:
        try:
            self._keep(done)
        except Exception as error:  # whatever it is, calls go on
            _log.warning("%d calls could not be recorded: %s: %s", len(done), type(error).__name__, error)

    def _keep(self, done: Sequence[CompletedCall]) -> None:
        self._registry = registry = self._registry or self._open()
        context = self._context()
        used = [
            (each.entry.tool, each.server, self._use(each))
            for each in done
            if each.server is not None and each.outcome in _USED
        ]
        if used:
            registry.record_all(used, context)
        entries = [
            each.entry._replace(bytes_in=_size(each.asked), bytes_out=_size(each.answer)) for each in done
        ]
        registry.supply.add_audit(entries, context)

    def _use(self, done: CompletedCall) -> CallOutcome:
        # The client's hook, which may report the same call, knows another name for the session.
        session = None if done.call_id is not None else self._session(done.session)
        return CallOutcome(session, done.call_id, done.outcome is Outcome.DONE, done.entry.duration_ms)

    def _session(self, session: str) -> str:
        """Tell one session from another without its name, by which others could go on with it."""
        if session not in self._sessions:
            if len(self._sessions) >= _MOST_SESSIONS:
                self._sessions.clear()
            mark = sha256(f"{self._run} {session}".encode("utf-8", "replace"))
            self._sessions[session] = mark.hexdigest()[:16]
        return self._sessions[session]

    def _close(self) -> None:
        if self._registry is not None:
            self._registry.close()


def _size(message: object) -> int:
    """Tell about how long a message is as JSON, without writing it: it may be very long."""
    if isinstance(message, str):
        return len(message) + 2
    if isinstance(message, Mapping):
        members = cast("Mapping[str, object]", message)
        return 2 + sum(len(key) + 4 + _size(value) for key, value in members.items()) - bool(members)
    if isinstance(message, list | tuple):
        items = cast("Sequence[object]", message)
        return 2 + sum(1 + _size(item) for item in items) - bool(items)
    return len(str(message))
