"""What the files of clients say: stores a reading, and keeps what files said that are invalid now."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from remit.decision import (
    Declaration,
    Key,
    Origin,
    PermissionEffect,
    PermissionRule,
    Resolved,
    View,
)
from remit.store.catalog import KINDS, SCOPES, STATUSES, read_profile
from remit.store.database import Database, Row, key_parameters, scope_parameters, view_parameters


class Problem(NamedTuple):
    """A problem in a configuration file."""

    source: str
    place: str  # line and column, or a path of keys; empty for the whole file
    reason: str


class Reading(NamedTuple):
    """What a client's files say in one workspace, judged and resolved."""

    resolved: Sequence[Resolved]
    inputs: Mapping[str, str]  # each file or variable that was read, with its fingerprint
    permissions: Sequence[PermissionRule] = ()
    problems: Sequence[Problem] = ()
    facts: Mapping[str, Any] = {}  # what else the client's settings say, as JSON


class Changes(NamedTuple):
    """The differences between two scans of a workspace."""

    added: Sequence[Declaration] = ()
    removed: Sequence[Declaration] = ()
    changed: Sequence[Declaration] = ()


class ScanStore:
    """Stores the results of scans."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def inputs(self, view: View) -> dict[str, str]:
        """Return the inputs of a view's last scan, with their fingerprints; empty before the first."""
        return dict(self._database.rows("inputs", **view_parameters(view)))

    def last(self, view: View) -> Reading | None:
        """Return the last reading of a view, without launches; None before the first."""
        place = view_parameters(view)
        rows = self._database.rows("view", **place)
        if not rows:
            return None
        permissions, facts, _ = rows[0]
        known = self._known(view)
        by_id = {id: declaration for declaration, id, *_ in known}
        return Reading(
            [Resolved(declaration, by_id.get(winner)) for declaration, _, winner, _ in known],
            dict(self._database.rows("inputs", **place)),
            [_rule(rule) for rule in json.loads(permissions)],
            [Problem(*row) for row in self._database.rows("problems", **place)],
            json.loads(facts),
        )

    def save(self, reading: Reading, view: View, at: int) -> Changes:
        """Replace a view; declarations missing from the files become stale in it."""
        workspace = view.workspace
        before = {id: (declaration, winner) for declaration, id, winner, _ in self._known(view)}
        unchanged = {
            declaration: id for declaration, id, _, is_as_stored in self._known(view) if is_as_stored
        }
        changes = _changes(before, reading.resolved)
        is_same = not any(changes) and reading.permissions == getattr(self.last(view), "permissions", None)
        with self._database.transaction(changes=None if is_same else "catalog"):
            self._database.rows(
                "see_project", project=workspace.project.hash, path=workspace.project.path, at=at
            )
            ids = {
                item.declaration.key: unchanged.get(item.declaration._replace(launch=None))
                or self._declare(item.declaration)
                for item in reading.resolved
            }
            self._save_view(reading, ids, view, at, is_same=is_same)
        return changes

    def _known(self, view: View) -> list[tuple[Declaration, int, int | None, bool]]:
        rows = self._database.rows("resolved", **view_parameters(view), **_scope(view))
        return [(_declaration(row), row[16], row[17], bool(row[18])) for row in rows]

    def _declare(self, declaration: Declaration) -> int:
        profile = declaration.profile
        return self._database.rows(
            "declare",
            **key_parameters(declaration.key),
            plugin=declaration.plugin,
            source=declaration.source,
            description=declaration.description,
            profile=None if profile is None else json.dumps(profile._asdict()),
            endpoint=declaration.endpoint,
            digest=declaration.digest,
        )[0][0]

    def _save_view(
        self, reading: Reading, ids: Mapping[Key, int], view: View, at: int, *, is_same: bool
    ) -> None:
        permissions = [[rule.effect, rule.text, *rule.origin] for rule in reading.permissions]
        written = {"permissions": json.dumps(permissions), "facts": json.dumps(reading.facts)}
        id = self._database.rows("see_view", **view_parameters(view), **written, at=at)[0][0]
        for step in ("forget_inputs", "forget_problems"):
            self._database.rows(step, view=id)
        self._database.run_each(
            "add_input",
            [{"view": id, "name": name, "fingerprint": seen} for name, seen in reading.inputs.items()],
        )
        self._database.run_each("add_problem", [{"view": id, **item._asdict()} for item in reading.problems])
        if is_same:  # rewriting the same data would look like a change to watchers
            return
        self._database.rows("forget_resolutions", view=id)
        self._database.run_each(
            "add_resolution",
            [
                {
                    "view": id,
                    "tool": ids[declaration.key],
                    "source": declaration.source,
                    "digest": declaration.digest,
                    "status": declaration.status,
                    "shadows": int(declaration.shadows),
                    "shadowed_by": None if winner is None else ids[winner.key],
                }
                for declaration, winner in reading.resolved
            ],
        )


def _scope(view: View) -> dict[str, str]:
    parameters = scope_parameters(view.workspace)
    del parameters["project"]
    return parameters


def _changes(before: Mapping[int, tuple[Declaration, int | None]], resolved: Sequence[Resolved]) -> Changes:
    known = {
        declaration.key: (
            declaration,
            None if winner is None else before[winner][0].key if winner in before else None,
        )
        for declaration, winner in before.values()
    }
    added: list[Declaration] = []
    changed: list[Declaration] = []
    for declaration, winner in resolved:
        state = known.pop(declaration.key, None)
        if state is None:
            added.append(declaration)
        elif state != (declaration._replace(launch=None), None if winner is None else winner.key):
            changed.append(declaration)
    return Changes(added, [declaration for declaration, _ in known.values()], changed)


def _declaration(row: Row) -> Declaration:
    """Read the first columns of a row of the query `resolved`."""
    client, kind, scope, project_hash, dir, agent, server, name, plugin, source = row[:10]
    description, profile, digest, endpoint, status, shadows = row[10:16]
    key = (client, KINDS[kind], SCOPES[scope], project_hash, dir, agent, server, name)
    return Declaration(
        *key,
        plugin,
        source,
        description,
        read_profile(profile),
        None,
        digest,
        endpoint,
        STATUSES[status],
        bool(shadows),
    )


def _rule(written: list[Any]) -> PermissionRule:
    effect, text, *origin = written
    return PermissionRule(PermissionEffect(effect), text, Origin(*origin))
