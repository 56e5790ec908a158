"""The store on SQLite: what the port `Store` asks for, in named queries."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING

from remit.adapters.storage import documents, listings, rows, usage
from remit.adapters.storage.database import Database, seen_from
from remit.adapters.storage.states import SqliteStates
from remit.core.audit import AuditEntry
from remit.core.declarations import Changes, Declaration, Key, Problem, Resolved
from remit.core.documents import Columns, Document
from remit.core.kinds import ConfigStatus
from remit.core.memory.scopes import memory_id
from remit.core.projects import Project, Workspace
from remit.core.reading import Reading, Remembered
from remit.core.scopes import Scope
from remit.core.sightings import Sighting, Use
from remit.core.tools import Definition, Tool
from remit.core.views import USUAL, Flags, View
from remit.ports import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from remit.adapters.storage.approvals import SqliteApprovals
    from remit.adapters.storage.memory import SqliteMemory
    from remit.adapters.storage.sessions import SqliteSessions
    from remit.core.upstreams import Offer, Wares
    from remit.ports import Vector

Ids = dict[Key, int]


class SqliteStore:
    """Remit's store in one SQLite database."""

    def __init__(self, path: str) -> None:
        self.database = Database(path)
        self.states = SqliteStates(self.database)

    @property
    def approvals(self) -> SqliteApprovals:
        """What persons are asked."""
        from remit.adapters.storage.approvals import SqliteApprovals  # as the next two: few ask for it

        return SqliteApprovals(self.database)

    @property
    def memory(self) -> SqliteMemory:
        """Memory, as a graph."""
        from remit.adapters.storage.memory import SqliteMemory

        return SqliteMemory(self.database)

    @property
    def sessions(self) -> SqliteSessions:
        """What happened in sessions."""
        from remit.adapters.storage.sessions import SqliteSessions

        return SqliteSessions(self.database)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def revision(self) -> int:
        """Give a number that is another one whenever somebody else has written."""
        return self.database.revision()

    def catalog(self, workspace: Workspace, flags: Flags) -> list[Tool]:
        """List every tool in scope for a workspace, with how its client's configuration resolved it there."""
        found = self.database.rows("catalog", flags=flags.key, **seen_from(workspace))
        return [rows.tool(row, workspace) for row in found]

    def inputs(self, view: View) -> dict[str, str]:
        """List what the last scan looked at, with the fingerprints it found."""
        return dict(self.database.rows("inputs", **_key(view)))

    def problems(self, view: View) -> list[Problem]:
        """List what was wrong in the files of the last scan."""
        found = self.database.rows("problems", **_key(view))
        return [Problem(source=source, place=place, reason=reason) for source, place, reason in found]

    def last_known(self, view: View, sources: Iterable[str], scopes: Iterable[Scope]) -> Remembered:
        """Recall what files, and all files of some scopes, said when they could last be read."""
        workspace = view.workspace
        query = {"client": view.client, "sources": json.dumps(list(sources))}
        ruled = self.database.rows("last_rules", project=workspace.project.hash, **query)
        declared = self.database.rows(
            "last_known", scopes=json.dumps(list(scopes)), **query, **seen_from(workspace)
        )
        known = map(rows.view, self.database.rows("resolved", **{**_key(view), **seen_from(workspace)}))
        return Remembered(
            declarations=[replace(rows.declaration(row), was_denied=bool(row[16])) for row in declared],
            rules=[rows.rule(row) for row in ruled],
            denied={state.declaration.key: state.config_status == ConfigStatus.DENIED for state in known},
        )

    def save(self, reading: Reading, resolved: Sequence[Resolved], view: View, at: int) -> Changes:
        """Make a view what was just read; what left the files is stale there."""
        workspace, project = view.workspace, view.workspace.project
        with self.database.transaction():
            self.database.run("see_project", hash=project.hash, path=project.path, at=at)
            known = self.database.rows("resolved", **{**_key(view), **seen_from(workspace)})
            before = {state.tool: state for state in map(rows.view, known)}
            unchanged = {state.declaration: state.tool for state in before.values() if state.is_as_stored}
            ids = {
                item.declaration.key: unchanged.get(item.declaration) or self._declare(item.declaration, at)
                for item in resolved
            }
            changes = _changes(before, resolved, ids)
            is_as_before = not (changes.added or changes.removed or changes.changed)
            self._save_view(reading, resolved, ids, view, at, is_as_before=is_as_before)
            self._save_rules(reading, project)
            if view.flags == USUAL:  # sessions started in other ways say nothing about the usual ones
                usage.rehome(self.database, view.client, workspace, at)
        return changes

    def record(self, sighting: Sighting, use: Use) -> bool:
        """Count one use of a tool; False when the call was known already."""
        return usage.record(self.database, sighting, use)

    def record_all(self, used: Iterable[tuple[Sighting, Use]]) -> None:
        """Count many uses at once."""
        usage.record_all(self.database, used)

    def report(self, definition: Definition, sighting: Sighting) -> None:
        """Keep what somebody says of a tool, for the project it was said in."""
        project = sighting.workspace.project.hash
        with self.database.transaction():
            tool = usage.sight(self.database, sighting)
            earlier = self.database.rows("definition", tool=tool, project=project)
            description, input_schema = earlier[0] if earlier else (None, None)
            complete = replace(
                definition,
                description=definition.description or description,
                input_schema=definition.input_schema or input_schema,
            )
            self.database.run(
                "attach_definition",
                tool=tool,
                project=project,
                definition=listings.define(self.database, complete),
            )

    def keep(self, declaration: Declaration, offer: Offer, workspace: Workspace, at: int) -> None:
        """Keep what came of asking a server from a workspace."""
        with self.database.transaction():
            listings.keep(self.database, declaration, offer, workspace, at)

    def wares(self, workspace: Workspace) -> dict[Key, Wares]:
        """List what servers offer besides tools, by their keys; without those whose entry changed since."""
        return {
            tuple(row[:8]): rows.wares(row[8:])
            for row in self.database.rows("wares_here", **seen_from(workspace))
        }

    def uses_here(self, workspace: Workspace) -> dict[Key, tuple[int, int]]:
        """Tell how often tools were used in a project, and when last, by their keys."""
        found = self.database.rows("uses_here", **seen_from(workspace))
        return {tuple(row[:8]): (row[8], row[9]) for row in found}

    def catalog_revision(self) -> int:
        """Count the changes of what catalogs are made of, whoever made them."""
        return self.database.rows("catalog_revision")[0][0]

    def add_audit(self, entries: Iterable[AuditEntry], workspace: Workspace, at: int) -> None:
        """Keep what became of calls."""
        project = workspace.project
        with self.database.transaction():
            self.database.run("see_project", hash=project.hash, path=project.path, at=at)
            self.database.run_each(
                "add_audit", [{"project": project.hash, **entry._asdict()} for entry in entries]
            )

    def audit(self, workspace: Workspace, limit: int) -> list[AuditEntry]:
        """List what became of the last calls in a project, the newest first."""
        found = self.database.rows("audit", project=workspace.project.hash, limit=limit)
        return [AuditEntry(*row) for row in found]

    def prune_audit(self, before: int, most: int) -> None:
        """Drop what is older than a time, and all but the newest entries."""
        self.database.run("prune_audit", before=before, most=most)

    def trusts(self, workspace: Workspace) -> dict[Key, str]:
        """List the digests that were trusted of the servers a workspace can see, by declarations' keys."""
        return {tuple(row[:-1]): row[-1] for row in self.database.rows("trusts", **seen_from(workspace))}

    def trust(self, declaration: Declaration, workspace: Workspace, at: int) -> None:
        """Keep the user's word that a server may be started as it was declared."""
        with self.database.transaction():
            tool = listings.server_row(self.database, declaration, workspace)
            if tool is not None:
                self.database.run("trust", tool=tool, digest=declaration.digest, at=at)

    def revoke(self, declaration: Declaration, workspace: Workspace) -> None:
        """Take the user's word back."""
        with self.database.transaction():
            self.database.run("revoke", tool=listings.server_row(self.database, declaration, workspace))

    def find_project(self, name: str) -> Project | None:
        """Find a project that something is stored about, by its hash or its path."""
        found = self.database.rows("project_by_hash_or_path", name=name)
        return Project(path=found[0][1], hash=found[0][0]) if found else None

    def projects(self) -> list[Project]:
        """List the projects that something is stored about."""
        return [Project(path=path, hash=hash) for hash, path in self.database.rows("all_projects")]

    def forget(self, project: Project) -> None:
        """Erase all that is stored about a project."""
        with self.database.transaction():
            self.database.run("forget_project", project=project.hash)
            self.database.run("memory_delete_project", project=memory_id(project))
            self.database.run("forget_what_nobody_saw")
            self.database.run("forget_unused_definitions")
            self.database.run("forget_unused_documents")
        self.database.empty_log()

    def prune_events(self, before: int) -> None:
        """Drop the single events older than a time; totals stay."""
        self.database.run("prune_events", before=before)

    def definitions(self, tools: Iterable[Tool], workspace: Workspace) -> dict[Key, Definition]:
        """List what is said of tools, by their keys; a tool of which nothing is said is not among them."""
        names = json.dumps([tool.name for tool in tools])
        found = self.database.rows("definitions_of", names=names, **seen_from(workspace))
        return {tuple(row[:8]): rows.definition(row[8:]) for row in found}

    def read_documents(self, workspace: Workspace) -> None:
        """Make what search reads of every tool of a workspace that it has not read yet."""
        documents.read(self.database, workspace)

    def without_vector(self, workspace: Workspace, model: str) -> dict[int, Document]:
        """List the documents of a workspace's tools that have no vector of a model yet."""
        return documents.without_vector(self.database, workspace, model)

    def add_vectors(self, model: str, vectors: Mapping[int, Vector]) -> None:
        """Keep the vectors of documents, as far as these are still there."""
        with self.database.transaction():
            for vector in islice(vectors.values(), 1):  # all are of one length, or the model is another now
                self.database.run("forget_other_vectors", model=model, length=len(vector))
            self.database.run_each(
                "add_vector",
                [{"model": model, "document": id, "vector": vector} for id, vector in vectors.items()],
            )

    def can_compare(self) -> bool:
        """Make ready to compare vectors; False where that is not possible here."""
        extension = documents.extension()
        return extension is not None and self.database.load(extension)

    def index(self, workspace: Workspace, model: str | None) -> documents.SqlIndex:
        """Make ready to search the tools of a workspace; with a model, `can_compare` has been asked."""
        return documents.SqlIndex(self.database, workspace, model)

    def entries(self, model: str | None) -> list[Entry]:
        """List all that is indexed, of every project, for an index in memory."""
        found = self.database.rows("indexed", model=model)
        return [Entry(row[0], Columns(*row[1:6]), row[6]) for row in found]

    def _declare(self, declaration: Declaration, at: int) -> int:
        definition = None
        if declaration.description is not None:
            said = Definition(
                name=declaration.name, server=declaration.server, description=declaration.description
            )
            definition = listings.define(self.database, said)
        return self.database.rows(
            "declare",
            client=declaration.client,
            kind=declaration.kind,
            scope=declaration.scope,
            project_hash=declaration.project_hash,
            dir=declaration.dir,
            server=declaration.server,
            name=declaration.name,
            plugin=declaration.plugin,
            agent=declaration.agent,
            profile=rows.written(declaration.profile),
            source=declaration.source,
            endpoint=declaration.endpoint,
            digest=declaration.digest,
            is_remit=int(declaration.is_remit),
            own_status=declaration.own_status,
            definition=definition,
            at=at,
        )[0][0]

    def _save_view(
        self,
        reading: Reading,
        resolved: Sequence[Resolved],
        ids: Ids,
        view: View,
        at: int,
        *,
        is_as_before: bool,
    ) -> None:
        id = self.database.rows("see_view", **_key(view), at=at)[0][0]
        for step in ("forget_inputs", "forget_problems"):
            self.database.run(step, view=id)
        self.database.run_each(
            "add_input",
            [{"view": id, "name": name, "fingerprint": seen} for name, seen in reading.inputs.items()],
        )
        self.database.run_each("add_problem", [{"view": id, **asdict(item)} for item in reading.problems])
        if is_as_before:  # to write the same again would look like a change to those who watch
            return
        self.database.run("forget_resolutions", view=id)
        self.database.run_each(
            "add_resolution",
            [
                {
                    "view": id,
                    "tool": ids[item.declaration.key],
                    "source": item.declaration.source,
                    "digest": item.declaration.digest,
                    "config_status": item.config_status,
                    "shadowed_by": _winner(item, ids),
                }
                for item in resolved
            ],
        )

    def _save_rules(self, reading: Reading, project: Project) -> None:
        mine = {"client": reading.client, "project": project.hash}
        believed = json.dumps([name for name in reading.inputs if name not in reading.unreadable])
        self.database.run("forget_rules", sources=believed, **mine)
        self.database.run_each(
            "add_rule", [{**mine, **asdict(rule), "subject": rule.memorable} for rule in reading.rules]
        )


def _changes(before: dict[int, rows.View], resolved: Sequence[Resolved], ids: Ids) -> Changes:
    added: list[Declaration] = []
    changed: list[Declaration] = []
    for item in resolved:
        state = before.pop(ids[item.declaration.key], None)
        if state is None:
            added.append(item.declaration)
        elif state[:-1] != (item.declaration, state.tool, item.config_status, _winner(item, ids)):
            changed.append(item.declaration)
    return Changes(added=added, removed=[state.declaration for state in before.values()], changed=changed)


def _winner(item: Resolved, ids: Ids) -> int | None:
    return None if item.shadowed_by is None else ids[item.shadowed_by.key]


def _key(view: View) -> dict[str, str]:
    workspace = view.workspace
    return {
        "client": view.client,
        "workspace": workspace.dir,
        "project": workspace.project.hash,
        "flags": view.flags.key,
    }
