"""The audit log: one entry per call through the gateway, and per call that a hook denied.

Entries never contain arguments or results.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit.decision.context import Context
    from remit.store.ports import Clock, Store

AUDIT_LIFETIME = 90 * 86_400_000  # milliseconds
MOST_AUDITED = 100_000  # entries
_PRUNE_EVERY = 60_000  # milliseconds


class AuditOutcome(StrEnum):
    """The outcome of a call."""

    DONE = "done"
    FAILED = "failed"  # the tool reported a failure
    ERROR = "error"  # the server returned an error
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    WAITING = "waiting"  # for a person's approval
    UNKNOWN = "unknown"  # the tool does not exist
    CANCELLED = "cancelled"
    ASKS_BACK = "asks_back"  # the server needs more input from the caller first


class AuditEntry(NamedTuple):
    """One call."""

    called_at: int
    endpoint: str
    client: str
    agent: str | None
    principal: str | None
    tool: str  # canonical
    verdict: str
    gate: str | None
    outcome: str
    duration_ms: int
    bytes_in: int
    bytes_out: int


class AuditLog:
    """Stores and lists audit entries, and drops old ones."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._pruned_at = 0

    def add(self, entries: Sequence[AuditEntry], context: Context) -> None:
        """Store entries, and drop old ones beyond the limits of age and number."""
        at = self._clock()
        self._store.add_audit(entries, context.workspace, at)
        if at - self._pruned_at > _PRUNE_EVERY:
            self._store.prune_audit(at - AUDIT_LIFETIME, MOST_AUDITED)
            self._pruned_at = at

    def last(self, context: Context, *, limit: int = 100) -> Sequence[AuditEntry]:
        """List the last calls in the project, newest first."""
        return self._store.audit(context.workspace, limit)
