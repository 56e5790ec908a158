"""Calls that are recorded together: their uses and their audit entries, as one write that counts once."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from remit.audit.audit_log import AuditEntry
from remit.decision.client_reports import CallOutcome
from remit.decision.declarations import Key
from remit.decision.projects import Project, Workspace


class CallRecord(NamedTuple):
    """What is stored of one call."""

    use: tuple[Key, CallOutcome] | None  # None: nothing to count
    entry: AuditEntry


class CallBatch(NamedTuple):
    """Calls of one client in one workspace."""

    id: str  # a store that has recorded this id does not record the batch again
    at: int
    client: str
    workspace: Workspace
    used: Sequence[tuple[Key, CallOutcome]]
    entries: Sequence[AuditEntry]

    def as_json(self) -> dict[str, object]:
        """Return it as values for a JSON file."""
        return {**self._asdict(), "used": list(self.used), "entries": list(self.entries)}

    def halves(self) -> "tuple[CallBatch, ...]":
        """Return two batches with ids of their own, audit entries first; none if it cannot be divided."""
        if self.used and self.entries:
            return self._part("a", (), self.entries), self._part("b", self.used, ())
        middle = (len(self.used) + len(self.entries)) // 2  # one of them is empty
        if middle == 0:
            return ()
        return (
            self._part("a", self.used[:middle], self.entries[:middle]),
            self._part("b", self.used[middle:], self.entries[middle:]),
        )

    def _part(
        self, mark: str, used: Sequence[tuple[Key, CallOutcome]], entries: Sequence[AuditEntry]
    ) -> "CallBatch":
        return self._replace(id=self.id + mark, used=used, entries=entries)


def read_batch(written: Mapping[str, Any]) -> CallBatch:
    """Read a batch that `as_json` wrote.

    Raises:
        KeyError, TypeError, ValueError: it did not.
    """
    directory, checkout, project, team = written["workspace"]
    return CallBatch(
        id=str(written["id"]),
        at=int(written["at"]),
        client=str(written["client"]),
        workspace=Workspace(directory, checkout, Project(*project), None if team is None else Project(*team)),
        used=[(tuple(key), CallOutcome(*outcome)) for key, outcome in written["used"]],
        entries=[AuditEntry(*entry) for entry in written["entries"]],
    )
