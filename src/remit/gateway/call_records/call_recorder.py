"""Records completed calls for usage and audit, after they are answered.

While the store cannot be written, they wait in a spool on disk. Gateways of a shared store write each call
into a journal before they answer it.
"""

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

import anyio

from remit.audit.audit_log import AuditEntry, AuditOutcome, estimated_size
from remit.catalog.contexts import DEFAULT_CLIENT
from remit.decision.client_reports import CallOutcome, stored_call_id
from remit.decision.decide import Decision
from remit.decision.declarations import Key
from remit.decision.tool_names import storable
from remit.errors import StoreUnavailableError
from remit.gateway.call_records.call_journal import CallJournal, WrittenCalls
from remit.gateway.call_records.call_spool import CallSpool
from remit.gateway.inventory import Inventory
from remit.gateway.registry_worker import RegistryWorker
from remit.protocol.json_rpc import Answer, Params
from remit.text.json_values import as_object
from remit.usage.call_batch import CallBatch, CallRecord

_PAUSE = 0.2  # seconds to collect calls for a batch
_RETRY = 1.0  # seconds between two attempts to deliver what the spool holds
_ENOUGH = 64  # calls that fill a batch
_MOST_SESSIONS = 1_000
_USED = (AuditOutcome.DONE, AuditOutcome.FAILED, AuditOutcome.ERROR)
_LONGEST_NAME = 256
_CALL_ID = "claudecode/toolUseId"  # the client's hook reports the call under the same id
_log = logging.getLogger("remit.gateway")


class CallOrigin(NamedTuple):
    """The endpoint, client and agent that calls are recorded for."""

    endpoint: str
    client: str
    agent: str | None


class CompletedCall(NamedTuple):
    """A call and its outcome; what is stored of it is worked out later, off the caller's path."""

    called_at: int
    seconds: float
    name: str  # canonical, or as the model wrote it
    decision: Decision
    outcome: AuditOutcome
    answered: Key | None  # the tool whose server may have answered; None: nothing to count
    session: str
    principal: str | None
    asked: Params  # `asked` and `answer` are only measured
    answer: Answer | None

    @property
    def milliseconds(self) -> int:
        """How long it took."""
        return round(self.seconds * 1000)


class CallRecorder:
    """Collects completed calls and stores them in batches, without delaying answers."""

    def __init__(
        self,
        worker: RegistryWorker[Inventory],
        spool: CallSpool,
        origin: CallOrigin,
        journal: CallJournal | None = None,
    ) -> None:
        self._worker = worker
        self._spool = spool
        self._origin = origin
        self._journal = journal
        self._is_behind = len(spool) > 0
        self._waiting: list[CompletedCall | CallRecord] = []
        self._has_calls = anyio.Event()
        self._is_enough = anyio.Event()
        self._run = os.urandom(8).hex()
        self._sessions: dict[str, str] = {}

    @property
    def is_full(self) -> bool:
        """Whether no more calls can be recorded, even on disk."""
        return self._spool.is_full

    def note(self, done: CompletedCall) -> None:
        """Queue a completed call for storage; with a journal, it is written down first."""
        if self._journal is None:
            self._waiting.append(done)
        else:
            record = self._record_of(done)
            self._journal.write(record)
            self._waiting.append(record)
        if len(self._waiting) == 1:
            self._has_calls.set()
        elif len(self._waiting) == _ENOUGH:
            self._is_enough.set()

    async def run(self) -> None:
        """Store queued calls until cancelled, after those that a killed gateway left."""
        if self._journal is not None:
            await self._worker.run(self._adopt_orphans, self._journal)
        while True:
            with anyio.move_on_after(_RETRY if self._is_behind else None):
                await self._has_calls.wait()
                with anyio.move_on_after(_PAUSE):
                    await self._is_enough.wait()
            await self.flush()

    async def flush(self) -> None:
        """Store all queued calls now."""
        done, self._waiting = self._waiting, []
        written = None if self._journal is None else self._journal.hand_over()
        self._has_calls, self._is_enough = anyio.Event(), anyio.Event()
        if done or self._is_behind:
            with anyio.CancelScope(shield=True):  # cancellation would lose the calls
                await self._worker.run(self._try_to_store, done, written)

    def _try_to_store(
        self, inventory: Inventory, done: Sequence[CompletedCall | CallRecord], written: WrittenCalls | None
    ) -> None:
        try:
            self._store(inventory, done, os.urandom(8).hex() if written is None else written.id)
        except Exception as error:  # a failure here must not stop calls
            _log.warning("%d calls could not be recorded: %s: %s", len(done), type(error).__name__, error)
            if written is not None:
                written.release()
        else:
            if written is not None:
                written.drop()

    def _store(self, inventory: Inventory, done: Sequence[CompletedCall | CallRecord], batch_id: str) -> None:
        if done:
            batch = self._batch(inventory, done, batch_id)
            try:
                self._record(inventory, batch)
                inventory.registry.audit.prune(inventory.context)
            except StoreUnavailableError as error:
                self._spool.add(batch)
                if not self._is_behind:
                    _log.warning("calls wait in the spool: %s", error)
                self._is_behind = True
                return
        if self._is_behind:
            with suppress(StoreUnavailableError):  # the next attempt is soon
                self._spool.deliver(inventory.registry.usage.deliver)
                self._is_behind = False
                _log.info("all calls of the spool are recorded")

    def _adopt_orphans(self, _inventory: Inventory, journal: CallJournal) -> None:
        """Move the journals of killed gateways into the spool, from where they are delivered."""
        for batch, written in journal.orphans():
            try:
                self._spool.add(batch)
            except StoreUnavailableError as error:
                _log.warning("the calls of a killed gateway wait in its journal: %s", error)
                written.release()
                return
            written.drop()
            self._is_behind = True

    def _record(self, inventory: Inventory, batch: CallBatch) -> None:
        usage = inventory.registry.usage
        try:
            usage.record_calls(batch, inventory.context)
        except StoreUnavailableError:
            raise
        except Exception:  # one call must not cost the records of the others
            self._spool.record(batch, usage.deliver)

    def _batch(
        self, inventory: Inventory, done: Sequence[CompletedCall | CallRecord], batch_id: str
    ) -> CallBatch:
        context = inventory.context
        records = [each if isinstance(each, CallRecord) else self._record_of(each) for each in done]
        used = [each.use for each in records if each.use is not None]
        entries = [each.entry for each in records]
        client = context.client or DEFAULT_CLIENT
        return CallBatch(batch_id, entries[-1].called_at, client, context.workspace, used, entries)

    def _record_of(self, done: CompletedCall) -> CallRecord:
        tool = done.answered if done.outcome in _USED else None
        return CallRecord(None if tool is None else (tool, self._use(done)), self._entry(done))

    def _entry(self, done: CompletedCall) -> AuditEntry:
        return AuditEntry(
            called_at=done.called_at,
            endpoint=self._origin.endpoint,
            client=self._origin.client,
            agent=self._origin.agent,
            principal=done.principal,
            tool=storable(done.name)[:_LONGEST_NAME],
            verdict=done.decision.verdict,
            gate=done.decision.gate,
            outcome=done.outcome,
            duration_ms=done.milliseconds,
            bytes_in=estimated_size(done.asked.get("arguments")),
            bytes_out=estimated_size(done.answer),
        )

    def _use(self, done: CompletedCall) -> CallOutcome:
        # The client's hook may report the same call under a different session id.
        call_id = call_id_of(done.asked)
        session = None if call_id is not None else self._session(done.session)
        return CallOutcome(session, call_id, done.outcome is AuditOutcome.DONE, done.milliseconds)

    def _session(self, session: str) -> str:
        """Return a digest of a session id: the id itself would let others resume the session."""
        if session not in self._sessions:
            if len(self._sessions) >= _MOST_SESSIONS:
                self._sessions.clear()
            mark = sha256(f"{self._run} {session}".encode("utf-8", "replace"))
            self._sessions[session] = mark.hexdigest()[:16]
        return self._sessions[session]


def call_id_of(asked: Params) -> str | None:
    """Return the client's own id of a call."""
    found = as_object(asked.get("_meta")).get(_CALL_ID)
    return stored_call_id(found) if isinstance(found, str) else None
