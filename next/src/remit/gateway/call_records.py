"""Records completed calls in batches, after they are answered; until then they are in a journal on disk."""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from remit.catalog import Registry
from remit.decision import Decision, Workspace
from remit.errors import StoreError
from remit.protocol import Answer, Params
from remit.store import Call, Outcome, storable
from remit.text import Clock, as_object

if TYPE_CHECKING:  # loaded at the first call
    from remit.gateway.journal import Journal, Written
    from remit.gateway.live_lists import Worker

_PAUSE = 0.2  # seconds to collect calls for a batch
_RETRY = 5.0  # seconds between two attempts while the store cannot be used
_ENOUGH = 64  # calls that fill a batch
_KEPT = 90 * 86_400_000  # milliseconds for which calls are kept, unless the configuration says otherwise
_MOST_KEPT = 50_000  # calls of a project
_HOUR = 3_600_000  # milliseconds
_LONGEST_NAME = 256
_LONGEST_ID = 128
_CALL_ID = "claudecode/toolUseId"  # the client's hook reports the call under the same id
_SESSION = "CLAUDE_CODE_SESSION_ID"
_log = logging.getLogger("remit.gateway")


class Origin(NamedTuple):
    """The endpoint that calls are recorded for."""

    workspace: Workspace
    endpoint: str  # empty: the main session, without a room
    client: str
    agent: str | None


class CompletedCall(NamedTuple):
    """A call and its outcome; arguments and answer are only measured."""

    called_at: int
    seconds: float
    name: str  # canonical, or as the model wrote it
    decision: Decision
    outcome: Outcome
    session: str
    caller: str | None
    environment: Mapping[str, str]
    params: Params
    answer: Answer | None


class Records:
    """Collects the calls of a process and stores them in batches, without delaying answers."""

    def __init__(self, worker: "Worker[Registry]", journal_folder: str, clock: Clock) -> None:
        self._worker = worker
        self._folder = journal_folder
        self._clock = clock
        self._journal: Journal | None = None
        self._waiting: list[tuple[Workspace, Call]] = []
        self._files: list[Written] = []  # of calls that the store did not take yet
        self._storing: asyncio.Future[None] | None = None
        self._pruned_at = 0
        self._has_calls = asyncio.Event()
        self._is_enough = asyncio.Event()
        self._run = os.urandom(8).hex()
        self._is_down = False

    def note(self, call: CompletedCall, origin: Origin) -> None:
        """Write a completed call down, and queue it for the store."""
        if self._journal is None:
            from remit.gateway.journal import Journal  # loaded at the first call

            self._journal = Journal(self._folder)
        entry = self._entry(call, origin)
        self._journal.write(origin.workspace, entry)
        self._waiting.append((origin.workspace, entry))
        self._has_calls.set()
        if len(self._waiting) >= _ENOUGH:
            self._is_enough.set()

    async def run(self) -> None:
        """Store queued calls until cancelled, after those that a killed gateway left."""
        if os.path.isdir(self._folder):
            await self._worker.run(self._adopt)
        while True:
            await self._has_calls.wait()
            try:
                async with asyncio.timeout(_RETRY if self._is_down else _PAUSE):
                    await self._is_enough.wait()
            except TimeoutError:
                pass
            await self.flush()

    async def flush(self) -> None:
        """Store all queued calls now; who is cancelled meanwhile loses none."""
        if self._storing is not None:
            await asyncio.shield(self._storing)
        self._has_calls.clear()
        self._is_enough.clear()
        if self._waiting:
            self._storing = asyncio.ensure_future(self._store_waiting())
            await asyncio.shield(self._storing)

    async def _store_waiting(self) -> None:
        batch, self._waiting = self._waiting, []
        files, self._files = self._files, []
        if self._journal is not None and (written := self._journal.hand_over()) is not None:
            files.append(written)
        error = await self._worker.run(lambda registry: self._store(registry, batch))
        if error is None:
            self._is_down = False
            for written in files:
                written.drop()
            return
        self._waiting, self._files = [*batch, *self._waiting], [*files, *self._files]
        self._has_calls.set()
        if not self._is_down:
            _log.warning("%d calls wait for the store: %s", len(batch), error)
        self._is_down = True

    def _store(self, registry: Registry, batch: Sequence[tuple[Workspace, Call]]) -> StoreError | None:
        by_workspace: dict[Workspace, list[Call]] = {}
        for workspace, call in batch:
            by_workspace.setdefault(workspace, []).append(call)
        try:
            for workspace, calls in by_workspace.items():
                registry.store.calls.add(calls, workspace)
            if (now := self._clock()) - self._pruned_at > _HOUR:
                retention = registry.config.current(batch[-1][0]).retention or _KEPT
                registry.store.calls.prune(now - retention, _MOST_KEPT)
                self._pruned_at = now
        except StoreError as error:
            return error
        return None

    def _adopt(self, registry: Registry) -> None:
        """Store the calls of killed gateways."""
        from remit.gateway.journal import orphans

        for written, batch in orphans(self._folder):
            error = self._store(registry, batch) if batch else None
            if error is None:
                written.drop()
            else:
                _log.warning("the calls of a killed gateway wait in its journal: %s", error)
                written.close()

    def _entry(self, call: CompletedCall, origin: Origin) -> Call:
        name = call.name if call.name.isascii() and call.name.isprintable() else storable(call.name)
        call_id = call_id_of(call.params) if "_meta" in call.params else None
        return Call(
            called_at=call.called_at,
            endpoint=origin.endpoint,
            client=origin.client,
            agent=origin.agent,
            caller=call.caller,
            tool=name[:_LONGEST_NAME],
            verdict=call.decision.verdict,
            gate=call.decision.gate,
            outcome=call.outcome,
            duration_ms=round(call.seconds * 1000),
            bytes_in=estimated_size(call.params.get("arguments")),
            bytes_out=estimated_size(call.answer),
            session=self._session(call),
            call_id=call_id,
        )

    def _session(self, call: CompletedCall) -> str:
        """Return the client's own session, or a digest of ours, which would let others resume it."""
        if (own := call.environment.get(_SESSION)) and len(own) <= _LONGEST_ID:
            return storable(own)
        mark = sha256(f"{self._run} {call.session}".encode("utf-8", "replace"))
        return mark.hexdigest()[:16]


def call_id_of(params: Params) -> str | None:
    """Return the client's own id of a call."""
    found = as_object(params.get("_meta")).get(_CALL_ID)
    return storable(found) if isinstance(found, str) and 0 < len(found) <= _LONGEST_ID else None


def estimated_size(message: object) -> int:
    """Estimate the JSON length of a message without encoding it, since it may be very long."""
    if isinstance(message, str):
        return len(message) + 2
    if isinstance(message, Mapping):
        members = cast("Mapping[str, object]", message)
        return 2 + sum(len(key) + 4 + estimated_size(value) for key, value in members.items())
    if isinstance(message, list):
        items = cast("list[Any]", message)
        return 2 + sum(map(estimated_size, items)) + max(len(items) - 1, 0)
    return len(str(message))
