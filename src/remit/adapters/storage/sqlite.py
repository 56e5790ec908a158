"""The store on SQLite: what the port `Store` asks for, in named queries."""

import json
from collections.abc import Sequence
from hashlib import sha256

from remit.adapters.storage import rows, usage
from remit.adapters.storage.database import Database, Row
from remit.core.declarations import ClientSettings, Declaration, Problem, Reading, Resolved
from remit.core.kinds import ConfigStatus
from remit.core.names import normalise
from remit.core.projects import Project, Workspace
from remit.core.scopes import ancestors
from remit.core.sightings import Sighting
from remit.core.tools import Definition, Tool
from remit.ports import Changes

Key = tuple[str | None, ...]


class SqliteStore:
    """Remit's store in one SQLite file."""

    def __init__(self, path: str) -> None:
        self.database = Database(path)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def catalog(self, workspace: Workspace) -> list[Tool]:
        """List every tool in scope for a workspace, with how its client's configuration resolved it there."""
        return [rows.tool(row) for row in self.database.rows("catalog", **_seen_from(workspace))]

    def inputs(self, client: str, workspace: Workspace) -> dict[str, str]:
        """List what the last scan looked at, with the fingerprints it found."""
        return dict(self.database.rows("inputs", **_view(client, workspace)))

    def problems(self, client: str, workspace: Workspace) -> list[Problem]:
        """List what was wrong in the files of the last scan."""
        found = self.database.rows("problems", **_view(client, workspace))
        return [Problem(source=source, place=place, reason=reason) for source, place, reason in found]

    def last_known(
        self, client: str, workspace: Workspace, sources: frozenset[str]
    ) -> tuple[list[Declaration], ClientSettings]:
        """Recall what files said, and what was switched off here, when they could last be read."""
        found = self.database.rows("declared", client=client, **_seen_from(workspace))
        active = [row for row in found if row[9] == "active" and row[4] in sources]
        return [rows.declaration(client, row) for row in active], ClientSettings(
            disabled=frozenset(row[7] for row in found if row[10] == ConfigStatus.DISABLED),
            rejected=frozenset(normalise(row[7]) for row in found if row[10] == ConfigStatus.REJECTED),
        )

    def save(self, reading: Reading, resolved: Sequence[Resolved], workspace: Workspace, at: int) -> Changes:
        """Make a client's view of a workspace what was just read; what left the files goes stale."""
        client, project = reading.client, workspace.project
        with self.database.transaction():
            self.database.run("see_project", hash=project.hash, path=project.path, at=at)
            before = self.database.rows("declared", client=client, **_seen_from(workspace))
            ids = {item.declaration.key: self._declare(item.declaration, at) for item in resolved}
            kept = set(ids.values())
            gone = [
                row
                for row in before
                if row[0] not in kept and row[9] == "active" and row[4] in reading.inputs
            ]
            for row in gone:
                self.database.run("mark_stale", tool=row[0], at=at)
            self._save_view(reading, resolved, ids, workspace, at)
            changes = _changes(client, before, gone, resolved, ids)
            if changes.added:
                usage.rehome(self.database, client, at)
        return changes

    def record(
        self,
        sighting: Sighting,
        *,
        session_id: str | None = None,
        call_id: str | None = None,
        succeeded: bool | None = None,
        duration_ms: int | None = None,
    ) -> bool:
        """Count one use of a tool; False when the call was known already."""
        return usage.record(
            self.database,
            sighting,
            session_id=session_id,
            call_id=call_id,
            succeeded=succeeded,
            duration_ms=duration_ms,
        )

    def report(self, definition: Definition, sighting: Sighting) -> None:
        """Keep what somebody says of a tool."""
        digest = _digest(definition)
        with self.database.transaction():
            tool = usage.sight(self.database, sighting)
            self.database.run(
                "define",
                digest=digest,
                server=definition.server,
                name=definition.name,
                description=definition.description,
                input_schema=definition.input_schema,
            )
            self.database.run("attach_definition", tool=tool, digest=digest, at=sighting.at)

    def find_project(self, name: str) -> Project | None:
        """Find a project that something is stored about, by its hash or its path."""
        found = self.database.rows("project_by_hash_or_path", name=name)
        return Project(path=found[0][1], hash=found[0][0]) if found else None

    def forget(self, project: Project) -> None:
        """Erase all that is stored about a project."""
        with self.database.erasure():
            self.database.run("forget_project", project=project.hash)
            self.database.run("forget_unused_sightings")
            self.database.run("forget_unused_definitions")

    def prune_events(self, before: int) -> None:
        """Drop the single events older than a time; totals stay."""
        self.database.run("prune_events", before=before)

    def _declare(self, declaration: Declaration, at: int) -> int:
        return self.database.rows(
            "declare",
            client=declaration.client,
            kind=declaration.kind,
            scope=declaration.scope,
            project_hash=declaration.project_hash,
            dir=declaration.dir,
            server=declaration.server,
            name=declaration.name,
            source=declaration.source,
            digest=declaration.digest,
            at=at,
        )[0][0]

    def _save_view(
        self,
        reading: Reading,
        resolved: Sequence[Resolved],
        ids: dict[Key, int],
        workspace: Workspace,
        at: int,
    ) -> None:
        view = self.database.rows("see_view", **_view(reading.client, workspace), at=at)[0][0]
        for step in ("forget_inputs", "forget_problems", "forget_resolutions"):
            self.database.run(step, view=view)
        for name, fingerprint in reading.inputs.items():
            self.database.run("add_input", view=view, name=name, fingerprint=fingerprint)
        for problem in reading.problems:
            self.database.run(
                "add_problem", view=view, source=problem.source, place=problem.place, reason=problem.reason
            )
        for item in resolved:
            self.database.run(
                "add_resolution",
                view=view,
                tool=ids[item.declaration.key],
                config_status=item.config_status,
                shadowed_by=None if item.shadowed_by is None else ids[item.shadowed_by.key],
            )


def _changes(
    client: str,
    before: Sequence[Row],
    gone: Sequence[Row],
    resolved: Sequence[Resolved],
    ids: dict[Key, int],
) -> Changes:
    known = {row[0]: row for row in before}
    added: list[Declaration] = []
    changed: list[Declaration] = []
    for item in resolved:
        row = known.get(ids[item.declaration.key])
        winner = None if item.shadowed_by is None else ids[item.shadowed_by.key]
        if row is None or row[9] != "active":
            added.append(item.declaration)
        elif row[8] != item.declaration.digest or (row[10] and row[10:12] != (item.config_status, winner)):
            changed.append(item.declaration)
    return Changes(added=added, removed=[rows.declaration(client, row) for row in gone], changed=changed)


def _seen_from(workspace: Workspace) -> dict[str, str]:
    return {
        "project": workspace.project.hash,
        "workspace": workspace.dir,
        "reach": json.dumps(ancestors(workspace.dir)),
    }


def _view(client: str, workspace: Workspace) -> dict[str, str]:
    return {"client": client, "workspace": workspace.dir, "project": workspace.project.hash}


def _digest(definition: Definition) -> str:
    content = [definition.server, definition.name, definition.description, definition.input_schema]
    return sha256(json.dumps(content).encode()).hexdigest()
