"""What the files of clients say: stores a reading, and keeps what files said that are invalid now."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from remit.decision import Declaration, Kind, Origin, PermissionEffect, PermissionRule
from remit.store.catalog import KINDS, SCOPES, STATUSES, read_profile
from remit.store.database import (
    Database,
    Row,
    Value,
    key_parameters,
    scope_parameters,
    see_project,
    view_parameters,
)

if TYPE_CHECKING:
    from remit.decision import Key, Resolved, View, Workspace


class Problem(NamedTuple):
    """A problem in a configuration file."""

    source: str
    place: str  # line and column, or a path of keys; empty for the whole file
    reason: str


class StoredFile(NamedTuple):
    """The last valid content of a file."""

    source: str
    project_hash: str | None  # None: it says the same in every project
    fingerprint: str
    content: str  # JSON, in the form of its reader


class Reading(NamedTuple):
    """What a client's files say in one workspace, judged and resolved."""

    resolved: Sequence[Resolved]
    inputs: Mapping[str, str]  # each file or variable that was read, with its fingerprint
    permissions: Sequence[PermissionRule] = ()
    problems: Sequence[Problem] = ()
    facts: Mapping[str, Any] = {}  # what else the client's settings say, as JSON
    files: Sequence[StoredFile] = ()  # valid settings, whose rules must stay when the file breaks


class Changes(NamedTuple):
    """The differences between two scans of a workspace."""

    added: Sequence[Declaration] = ()
    removed: Sequence[Declaration] = ()
    changed: Sequence[Declaration] = ()


class ClientFacts(NamedTuple):
    """What a client's settings say, as last read."""

    permissions: Sequence[PermissionRule]
    facts: Mapping[str, Any]


class _Known(NamedTuple):
    """The stored state of a declaration in a view."""

    declaration: Declaration
    id: int
    winner: int | None
    is_as_stored: bool  # its row was last written from the same file


class ScanStore:
    """Stores the results of scans."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def inputs(self, view: View) -> dict[str, str]:
        """Return the inputs of a view's last scan, with their fingerprints; empty before the first."""
        rows = self._database.rows("inputs", **view_parameters(view))
        return json.loads(rows[0][0]) if rows else {}

    def clients(self, view: View) -> dict[str, ClientFacts]:
        """Return what the settings of every client say in a view's workspace, by client."""
        place = view_parameters(view)
        del place["client"]
        rows = self._database.rows("permissions", **place)
        return {client: ClientFacts(_rules(rules), json.loads(facts)) for client, rules, facts in rows}

    def last(self, view: View) -> Reading | None:
        """Return the last reading of a view, without launches; None before the first."""
        rows = self._database.rows("view", **view_parameters(view))
        if not rows:
            return None
        from remit.decision import Resolved  # hooks read only inputs and rules

        inputs, permissions, problems, facts = rows[0]
        known = self._known(view)
        by_id = {item.id: item.declaration for item in known}
        return Reading(
            [Resolved(item.declaration, by_id.get(item.winner or 0)) for item in known],
            json.loads(inputs),
            _rules(permissions),
            [Problem(*problem) for problem in json.loads(problems)],
            json.loads(facts),
        )

    def last_declared(self, view: View, sources: Iterable[str]) -> list[Declaration]:
        """Return what files declared when they were last valid, in this or another workspace."""
        files = {"client": view.client, "sources": json.dumps(list(sources))}
        rows = self._database.rows("last_declared", **files, **scope_parameters(view.workspace))
        return [_declaration(row) for row in rows]

    def files(self, client: str, sources: Iterable[str], workspace: Workspace) -> dict[str, StoredFile]:
        """Return the last valid content of a client's files, as this project reads them."""
        return stored_files(self._database, client, sources, workspace)

    def save(self, reading: Reading, view: View, at: int) -> Changes:
        """Replace a view; declarations missing from the files become stale in it."""
        place = view_parameters(view)
        known = self._known(view)
        changes = _changes(known, reading.resolved)
        written = _written(reading)
        rows = self._database.rows("view", **place)
        is_same = not any(changes) and [(written["permissions"], written["facts"])] == [
            (permissions, facts) for _, permissions, _, facts in rows
        ]
        with self._database.transaction(changes=None if is_same else "catalog"):
            see_project(self._database, view.workspace, at)
            id = self._database.rows("see_view", **place, **written, at=at)[0][0]
            keep_files(self._database, view.client, reading.files)
            if any(changes):  # rewriting the same data would look like a change to watchers
                self._save_resolutions(id, reading.resolved, known, at)
        return changes

    def _known(self, view: View) -> list[_Known]:
        place = {**view_parameters(view), **scope_parameters(view.workspace)}
        rows = self._database.rows("resolved", **place)
        return [_Known(_declaration(row), row[16], row[17], bool(row[18])) for row in rows]

    def _save_resolutions(
        self, view: int, resolved: Sequence[Resolved], known: Sequence[_Known], at: int
    ) -> None:
        unchanged = {item.declaration: item.id for item in known if item.is_as_stored}
        ids: dict[Key, int] = {}
        for declaration, _ in resolved:
            id = unchanged.get(declaration._replace(launch=None))
            ids[declaration.key] = self._declare(declaration, at) if id is None else id
        self._database.rows("forget_resolutions", view=view)
        self._database.run_each(
            "add_resolution",
            [
                {
                    "view": view,
                    "tool": ids[declaration.key],
                    "source": declaration.source,
                    "digest": declaration.digest,
                    "status": declaration.status,
                    "shadows": int(declaration.shadows),
                    "shadowed_by": None if winner is None else ids[winner.key],
                }
                for declaration, winner in resolved
            ],
        )

    def _declare(self, declaration: Declaration, at: int) -> int:
        from remit.text import definition_tokens  # most scans find what is stored

        profile, is_line = declaration.profile, declaration.kind not in (Kind.MCP_SERVER, Kind.PLUGIN)
        return self._database.rows(
            "declare",
            **key_parameters(declaration.key),
            plugin=declaration.plugin,
            source=declaration.source,
            description=declaration.description,
            tokens=definition_tokens(declaration.name, declaration.description) if is_line else None,
            profile=None if profile is None else json.dumps(profile),
            endpoint=declaration.endpoint,
            digest=declaration.digest,
            at=at,
        )[0][0]


def stored_files(
    database: Database, reader: str, sources: Iterable[str], workspace: Workspace
) -> dict[str, StoredFile]:
    """Return the last valid content of files, as a project reads them."""
    scope: dict[str, Value] = {**scope_parameters(workspace)}
    del scope["reach"]
    rows = database.rows("files", reader=reader, sources=json.dumps(list(sources)), **scope)
    return {row[0]: StoredFile(*row) for row in rows}


def keep_files(database: Database, reader: str, files: Iterable[StoredFile]) -> None:
    """Store valid files, inside a transaction."""
    database.run_each("keep_file", [{"reader": reader, **file._asdict()} for file in files])


def _written(reading: Reading) -> dict[str, str]:
    return {
        "inputs": json.dumps(dict(reading.inputs)),
        "permissions": json.dumps([[rule.effect, rule.text, *rule.origin] for rule in reading.permissions]),
        "problems": json.dumps(list(reading.problems)),
        "facts": json.dumps(dict(reading.facts)),
    }


def _changes(known: Sequence[_Known], resolved: Sequence[Resolved]) -> Changes:
    keys = {item.id: item.declaration.key for item in known}
    before = {item.declaration.key: (item.declaration, keys.get(item.winner or 0)) for item in known}
    added: list[Declaration] = []
    changed: list[Declaration] = []
    for declaration, winner in resolved:
        stored = before.pop(declaration.key, None)
        now = (declaration._replace(launch=None), None if winner is None else winner.key)
        if stored is None:
            added.append(declaration)
        elif stored != now:
            changed.append(declaration)
    return Changes(added, [declaration for declaration, _ in before.values()], changed)


def _declaration(row: Row) -> Declaration:
    """Read the first 16 columns of a row."""
    client, kind, scope, project_hash, dir, agent, server, name, plugin, source = row[:10]
    description, profile, digest, endpoint, status, shadows = row[10:16]
    key = (client, KINDS[kind], SCOPES[scope], project_hash, dir, agent, server, name)
    read = None if profile is None else read_profile(profile)
    status = STATUSES[status]
    return Declaration(*key, plugin, source, description, read, None, digest, endpoint, status, bool(shadows))


def _rules(written: str) -> list[PermissionRule]:
    rules: list[list[Any]] = json.loads(written)
    return [
        PermissionRule(PermissionEffect(effect), text, Origin(*origin)) for effect, text, *origin in rules
    ]
