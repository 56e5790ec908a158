"""Stores the audit log, by project."""

import json
from collections.abc import Iterable, Iterator

from remit.audit.audit_log import AuditEntry, AuditLink, CallQuery, ChainAnchor, TimelineBar, linked
from remit.configuration.retention import Retention, retention
from remit.decision.projects import Project, Workspace
from remit.store.database import Database, Value

_BATCH = 10_000  # entries that are read at once
_NO_LIMIT = 2**62


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

    def projects(self) -> list[Project]:
        """List all projects with entries; the path of one that was forgotten is empty."""
        return [Project(path=path, hash=hash) for hash, path in self._database.rows("audited_projects")]

    def links(
        self, workspace: Workspace, since: int | None = None, until: int | None = None
    ) -> Iterator[AuditLink]:
        """List the entries of a project with their digests in the order of the chain, read in parts."""
        after = 0
        while True:
            found = self._database.rows(
                "audit_chain",
                project=workspace.project.hash,
                after=after,
                since=since,
                until=until,
                most=_BATCH,
            )
            for *entry, chain, _ in found:
                yield AuditLink(AuditEntry(*entry), chain)
            if len(found) < _BATCH:
                return
            after = found[-1][-1]

    def anchor(self, workspace: Workspace) -> ChainAnchor:
        """Return what is known of the entries that were deleted for their age."""
        found = self._database.rows("audit_anchor", project=workspace.project.hash)
        return ChainAnchor(*found[0]) if found else ChainAnchor()

    def find(self, query: CallQuery, workspace: Workspace) -> list[AuditEntry]:
        """List the selected entries of a project, newest first."""
        return [AuditEntry(*row) for row in self._database.rows("audit", **_selection(query, workspace))]

    def span(self, query: CallQuery, workspace: Workspace) -> tuple[int, int, int]:
        """Count the selected entries without the limit, and return the times of the first and the last."""
        count, first, last = self._database.rows("audit_span", **_selection(query, workspace))[0]
        return count, first or 0, last or 0

    def agents(self, workspace: Workspace, principal: str | None) -> list[str]:
        """List the agents with entries in a project, of any principal or of one."""
        rows = self._database.rows("audit_agents", project=workspace.project.hash, principal=principal)
        return [name for (name,) in rows]

    def application_tools(self, workspace: Workspace) -> dict[str, str]:
        """Return the tools that applications called in a project themselves, with the framework of each."""
        return dict(self._database.rows("audit_application_tools", project=workspace.project.hash))

    def bars(self, query: CallQuery, workspace: Workspace, step: int) -> list[TimelineBar]:
        """Count the selected entries by intervals of `step` milliseconds that have any, oldest first."""
        rows = self._database.rows("audit_bars", step=step, **_selection(query, workspace))
        return [TimelineBar(*row) for row in rows]

    def prune(self, workspace: Workspace, at: int) -> None:
        """Delete the entries and single uses of all projects that are older than a workspace keeps them."""
        kept = stored_retention(self._database, workspace)
        with self._database.transaction():
            prune_entries(self._database, kept, at)
            self._database.run("prune_events", before=at - kept.usage)


def add_entries(database: Database, entries: Iterable[AuditEntry], workspace: Workspace) -> None:
    """Add entries to the chain of a project, inside a transaction."""
    project = workspace.project.hash
    chain = database.rows("audit_chain_end", project=project)[0][0]
    rows: list[dict[str, Value]] = []
    for entry in entries:
        chain = linked(chain, entry)
        rows.append({"project": project, "chain": chain, **entry._asdict()})
    database.run_each("add_audit", rows)


def stored_retention(database: Database, workspace: Workspace) -> Retention:
    """Return how long the configuration of a workspace keeps what."""
    found = database.rows("retention", workspace=workspace.dir, project=workspace.project.hash)
    return retention(json.loads(found[0][0]) if found else {})


def prune_entries(database: Database, kept: Retention, at: int, project: str | None = None) -> None:
    """Delete the entries before the first that is not old, and all but the newest ones, of each project.

    Runs inside a transaction. An entry with a wrong time takes no others with it. Where only an owner may
    delete, make the partitions of the next months instead.
    """
    if database.is_append_only:
        database.rows("prepare_audit")
        return
    for found, first in _first_kept(database, kept, at, project):
        database.run("anchor_audit", project=found, first=first)
        database.run("prune_audit", project=found, first=first)


def entries_to_prune(database: Database, kept: Retention, at: int) -> int:
    """Count the entries that `prune_entries` would delete."""
    counted = (
        database.rows("count_audit", project=project, first=first)[0][0]
        for project, first in _first_kept(database, kept, at, None)
    )
    return sum(counted)


def _first_kept(
    database: Database, kept: Retention, at: int, project: str | None
) -> Iterator[tuple[str, int]]:
    """List the projects with entries to delete, each with the id of the first one to keep."""
    most = _NO_LIMIT if kept.most is None else kept.most
    rows = database.rows("old_audit", before=at - kept.audit, most=most, project=project)
    for found, oldest, young, last, beyond in rows:
        if oldest is None:
            continue
        first = max(last + 1 if young is None else young, 0 if beyond is None else beyond + 1)
        if oldest < first:
            yield found, first


def _selection(query: CallQuery, workspace: Workspace) -> dict[str, Value]:
    """Return the parameters of the `selected_calls` fragment, and of a page."""
    return {"project": workspace.project.hash, **query._asdict()}
