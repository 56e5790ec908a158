"""Stores the audit log, by project."""

from collections.abc import Iterable, Iterator

from remit.decision.projects import Workspace
from remit.policy.audit import AuditEntry, AuditLink, CallQuery, TimelineBar, linked
from remit.store.database import Database, Value

_BATCH = 10_000  # entries that are read at once


class SqlAudit:
    """Stores the audit log, as a chain of digests for each project."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, entries: Iterable[AuditEntry], workspace: Workspace, at: int) -> None:
        """Store entries."""
        project = workspace.project
        with self._database.transaction():
            self._database.run("see_project", project=project.hash, path=project.path, at=at)
            add_entries(self._database, entries, workspace)

    def links(self, workspace: Workspace) -> Iterator[AuditLink]:
        """List all entries of a project with their digests, oldest first."""
        after = 0
        while True:
            found = self._database.rows(
                "audit_chain", project=workspace.project.hash, after=after, most=_BATCH
            )
            for *entry, chain, _ in found:
                yield AuditLink(AuditEntry(*entry), chain)
            if len(found) < _BATCH:
                return
            after = found[-1][-1]

    def anchor(self, workspace: Workspace) -> str:
        """Return the digest of the last entry that was deleted for its age; empty if none was."""
        found = self._database.rows("audit_anchor", project=workspace.project.hash)
        return found[0][0] if found else ""

    def find(self, query: CallQuery, workspace: Workspace) -> list[AuditEntry]:
        """List the selected entries of a project, newest first."""
        page = {"limit": query.limit, "offset": query.offset}
        return [
            AuditEntry(*row) for row in self._database.rows("audit", **_selection(query, workspace), **page)
        ]

    def span(self, query: CallQuery, workspace: Workspace) -> tuple[int, int, int]:
        """Count the selected entries without the limit, and return the times of the first and the last."""
        count, first, last = self._database.rows("audit_span", **_selection(query, workspace))[0]
        return count, first or 0, last or 0

    def agents(self, workspace: Workspace) -> list[str]:
        """List the agents with entries in a project."""
        return [name for (name,) in self._database.rows("audit_agents", project=workspace.project.hash)]

    def bars(self, query: CallQuery, workspace: Workspace, step: int) -> list[TimelineBar]:
        """Count the selected entries by intervals of `step` milliseconds that have any, oldest first."""
        rows = self._database.rows("audit_bars", step=step, **_selection(query, workspace))
        return [TimelineBar(*row) for row in rows]

    def prune(self, before: int, most: int) -> None:
        """Delete entries older than a time, and all but the newest `most`."""
        with self._database.transaction():
            prune_entries(self._database, before, most)


def add_entries(database: Database, entries: Iterable[AuditEntry], workspace: Workspace) -> None:
    """Add entries to the chain of a project, inside a transaction."""
    project = workspace.project.hash
    chain = database.rows("audit_chain_end", project=project)[0][0]
    rows: list[dict[str, Value]] = []
    for entry in entries:
        chain = linked(chain, entry)
        rows.append({"project": project, "chain": chain, **entry._asdict()})
    database.run_each("add_audit", rows)


def prune_entries(database: Database, before: int, most: int, project: str | None = None) -> None:
    """Delete the entries before the first that is not old, and all but the newest `most`, of each project.

    Runs inside a transaction. An entry with a wrong time takes no others with it.
    """
    for found, oldest, kept, last, beyond in database.rows(
        "old_audit", before=before, most=most, project=project
    ):
        if oldest is None:
            continue
        first = max(last + 1 if kept is None else kept, 0 if beyond is None else beyond + 1)
        if oldest < first:
            database.run("anchor_audit", project=found, first=first)
            database.run("prune_audit", project=found, first=first)


def _selection(query: CallQuery, workspace: Workspace) -> dict[str, Value]:
    """Return the parameters of the `selected_calls` fragment."""
    return {
        "project": workspace.project.hash,
        "text": query.text,
        "agent": query.agent,
        "outcome": query.outcome,
        "since": query.since,
        "until": query.until,
    }
