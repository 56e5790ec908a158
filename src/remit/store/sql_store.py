"""The store in a database that runs named queries."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from remit.decision.kinds import Authority
from remit.decision.permissions.client_permissions import NO_PERMISSIONS, ClientPermissions
from remit.decision.problems import CHANGED_ENTRY, Problem
from remit.decision.projects import Project, Workspace
from remit.store import row_values, usage_store
from remit.store.database import scope_parameters, view_parameters
from remit.store.state_store import SqlStates
from remit.store.tool_rows import find_or_add_tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit.decision.client_reports import CallOutcome, ReportedTool
    from remit.decision.declarations import Key
    from remit.decision.projects import LaunchFlags, View
    from remit.decision.tools import Definition, Tool
    from remit.store.approval_store import SqlApprovals
    from remit.store.audit_store import SqlAudit
    from remit.store.database import Database
    from remit.store.document_store import SqlDocuments
    from remit.store.memory_store import SqlMemory
    from remit.store.scan_store import SqlScans
    from remit.store.server_store import SqlServers
    from remit.store.session_store import SqlSessions
    from remit.usage.call_batch import CallBatch


_DELIVERIES_KEPT = 7 * 86_400_000  # milliseconds for which the ids of batches are kept


class SqlStore:
    """Remit's store in one database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.states = SqlStates(database)

    # Each part is imported on first use, because most commands need none.

    @property
    def approvals(self) -> SqlApprovals:
        """Approvals."""
        from remit.store.approval_store import SqlApprovals

        return SqlApprovals(self.database)

    @property
    def audit(self) -> SqlAudit:
        """The audit log."""
        from remit.store.audit_store import SqlAudit

        return SqlAudit(self.database)

    @property
    def documents(self) -> SqlDocuments:
        """Documents and vectors for search."""
        from remit.store.document_store import SqlDocuments

        return SqlDocuments(self.database)

    @property
    def memory(self) -> SqlMemory:
        """Project memory."""
        from remit.store.memory_store import SqlMemory

        return SqlMemory(self.database)

    @property
    def scans(self) -> SqlScans:
        """The results of scans."""
        from remit.store.scan_store import SqlScans

        return SqlScans(self.database)

    @property
    def servers(self) -> SqlServers:
        """The listings of servers, and trust in them."""
        from remit.store.server_store import SqlServers

        return SqlServers(self.database)

    @property
    def sessions(self) -> SqlSessions:
        """Sessions and suggestions."""
        from remit.store.session_store import SqlSessions

        return SqlSessions(self.database)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def catalog(self, workspace: Workspace, flags: LaunchFlags) -> list[Tool]:
        """List every tool in scope for a workspace, with its configuration status there."""
        found = self.database.rows("catalog", flags=flags.key, **scope_parameters(workspace))
        return [row_values.tool(row, workspace) for row in found]

    def inputs(self, view: View) -> dict[str, str]:
        """List the inputs of the last scan with their fingerprints."""
        return dict(self.database.rows("inputs", **view_parameters(view)))

    def problems(self, view: View) -> list[Problem]:
        """List the problems that the last scan found in files."""
        found = self.database.rows("problems", **view_parameters(view))
        return [Problem(source=source, place=place, reason=reason) for source, place, reason in found]

    def permissions(self, view: View) -> ClientPermissions:
        """Return the client's permission rules that count in a view."""
        found = self.database.rows("permissions", **view_parameters(view))
        return row_values.permissions(found[0][0]) if found else NO_PERMISSIONS

    def is_resolved(self, source: str, view: View) -> bool:
        """Return whether a view has declarations from a source."""
        return bool(self.database.rows("is_resolved", source=source, **view_parameters(view)))

    def record(self, reported: ReportedTool, use: CallOutcome) -> bool:
        """Count one use of a tool; False if the call was already counted."""
        return usage_store.record(self.database, reported, use)

    def record_calls(self, batch: CallBatch) -> None:
        """Count the uses of a batch and store its audit entries, unless that was done before."""
        from remit.decision.client_reports import ReportedTool  # for gateways only
        from remit.store.audit_store import add_entries

        reported = ReportedTool("", batch.client, batch.workspace, Authority.HOOK, batch.at, is_scanned=True)
        used = ((reported._replace(name=key[-1] or "", key=key), use) for key, use in batch.used)
        project = batch.workspace.project
        with self.database.transaction():
            self.database.run("see_project", project=project.hash, path=project.path, at=batch.at)
            if not self.database.rows("note_delivery", id=batch.id, at=batch.at):
                return
            usage_store.count_all(self.database, used)
            add_entries(self.database, batch.entries, batch.workspace)
            self.database.run("forget_deliveries", before=batch.at - _DELIVERIES_KEPT)

    def report(self, definition: Definition, reported: ReportedTool) -> None:
        """Store a reported definition of a tool, for the project that reported it."""
        from remit.store.definition_rows import define  # for agents that report tools only

        project = reported.workspace.project.hash
        with self.database.transaction():
            tool = find_or_add_tool(self.database, reported)
            earlier = self.database.rows(
                "reported_definition", tool=tool, **scope_parameters(reported.workspace)
            )
            for authority, description, input_schema in earlier:
                if authority == Authority.CONFIG:  # its server or its file describes it
                    continue
                complete = replace(
                    definition,
                    description=definition.description or description,
                    input_schema=definition.input_schema or input_schema,
                )
                self.database.run(
                    "attach_definition",
                    tool=tool,
                    project=project,
                    definition=define(self.database, complete),
                )

    def changed_entries(self, workspace: Workspace, client: str | None) -> list[Problem]:
        """List the servers of a client, or of all, whose entries are no longer the trusted ones."""
        rows = self.database.rows("changed_trusts", **scope_parameters(workspace))
        return [Problem(source, server, CHANGED_ENTRY) for of, source, server in rows if client in (None, of)]

    def trusted_sandboxes(self, workspace: Workspace) -> dict[Key, str]:
        """Return the sandboxes that projects declared for their servers when the user trusted these."""
        rows = self.database.rows("trusted_sandboxes", **scope_parameters(workspace))
        return {tuple(row[:-1]): row[-1] for row in rows}

    def uses_here(self, workspace: Workspace) -> dict[Key, tuple[int, int]]:
        """Return the number of uses of each tool in a project and the time of the last, by key."""
        found = self.database.rows("uses_here", **scope_parameters(workspace))
        return {tuple(row[:8]): (row[8], row[9]) for row in found}

    def find_project(self, name: str) -> Project | None:
        """Find a stored project by its hash or path."""
        found = self.database.rows("project_by_hash_or_path", name=name)
        return Project(path=found[0][1], hash=found[0][0]) if found else None

    def projects(self) -> list[Project]:
        """List the stored projects."""
        return [Project(path=path, hash=hash) for hash, path in self.database.rows("all_projects")]

    def forget(self, project: Project) -> None:
        """Erase everything stored about a project."""
        with self.database.transaction():
            self.database.run("forget_project", project=project.hash)
            self.memory.forget(project)
            self.database.run("forget_unseen_tools")
            self.database.run("forget_unused_definitions")
            self.database.run("forget_unused_documents")
        self.database.erase()

    def definitions(self, tools: Iterable[Tool], workspace: Workspace) -> dict[Key, Definition]:
        """Return the definitions of tools by key, omitting tools without one."""
        names = json.dumps([tool.name for tool in tools])
        found = self.database.rows("definitions_of", names=names, **scope_parameters(workspace))
        return {tuple(row[:8]): row_values.definition(row[8:]) for row in found}
