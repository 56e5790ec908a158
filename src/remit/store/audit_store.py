"""Stores the audit log, by project."""

from collections.abc import Iterable

from remit.decision.projects import Workspace
from remit.policy.audit import AuditEntry, CallQuery, TimelineBar
from remit.store.database import Database, Value


class SqlAudit:
    """The audit log in SQLite."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, entries: Iterable[AuditEntry], workspace: Workspace, at: int) -> None:
        """Store entries."""
        project = workspace.project
        with self._database.transaction():
            self._database.run("see_project", project=project.hash, path=project.path, at=at)
            add_entries(self._database, entries, workspace)

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
        self._database.run("prune_audit", before=before, most=most)


def add_entries(database: Database, entries: Iterable[AuditEntry], workspace: Workspace) -> None:
    """Store entries inside a transaction."""
    project = workspace.project.hash
    database.run_each("add_audit", [{"project": project, **entry._asdict()} for entry in entries])


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
