"""Stores the results of scans, including the last valid content of files that are now invalid."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.declarations import Changes, ClientReading, Declaration, Key, Resolved, StoredReading
from remit.decision.kinds import ConfigStatus
from remit.decision.projects import DEFAULT_FLAGS, View
from remit.decision.settings_rules import Effect, SettingsLevel, SettingsRule
from remit.decision.tools import Definition
from remit.store import row_values
from remit.store.database import Database, Row, key_parameters, scope_parameters, view_parameters
from remit.store.definition_rows import define
from remit.store.tool_rows import assign_to_servers

if TYPE_CHECKING:
    from remit.decision.agents import AgentProfile
    from remit.decision.projects import Project
    from remit.decision.scopes import Scope

Ids = dict[Key, int]


class _Known(NamedTuple):
    """The stored state of a declaration in a view."""

    declaration: Declaration
    tool: int
    config_status: str
    shadowed_by: int | None
    is_as_stored: bool  # its row was last written from the same file


class SqlScans:
    """Stores the results of scans."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def last_known(self, view: View, sources: Iterable[str], scopes: Iterable[Scope]) -> StoredReading:
        """Return the last valid content of the given files, and of all files of the given scopes."""
        workspace = view.workspace
        query = {"client": view.client, "sources": json.dumps(list(sources))}
        ruled = self._database.rows("last_rules", project=workspace.project.hash, **query)
        declared = self._database.rows(
            "last_known", scopes=json.dumps(list(scopes)), **query, **scope_parameters(workspace)
        )
        known = map(
            _view, self._database.rows("resolved", **{**view_parameters(view), **scope_parameters(workspace)})
        )
        return StoredReading(
            declarations=[replace(_declaration(row), was_denied=bool(row[16])) for row in declared],
            rules=[_rule(row) for row in ruled],
            denied={state.declaration.key: state.config_status == ConfigStatus.DENIED for state in known},
        )

    def save(self, reading: ClientReading, resolved: Sequence[Resolved], view: View, at: int) -> Changes:
        """Replace a view with a new reading; declarations missing from the files become stale in it."""
        workspace, project = view.workspace, view.workspace.project
        with self._database.transaction():
            self._database.run("see_project", project=project.hash, path=project.path, at=at)
            known = self._database.rows(
                "resolved", **{**view_parameters(view), **scope_parameters(workspace)}
            )
            before = {state.tool: state for state in map(_view, known)}
            unchanged = {state.declaration: state.tool for state in before.values() if state.is_as_stored}
            ids = {
                item.declaration.key: unchanged.get(item.declaration) or self._declare(item.declaration, at)
                for item in resolved
            }
            changes = _changes(before, resolved, ids)
            is_as_before = not (changes.added or changes.removed or changes.changed)
            self._save_view(reading, resolved, ids, view, at, is_as_before=is_as_before)
            self._save_rules(reading, project)
            if view.flags == DEFAULT_FLAGS:  # sessions with other flags do not affect the default ones
                assign_to_servers(self._database, view.client, workspace, at)
        return changes

    def _declare(self, declaration: Declaration, at: int) -> int:
        definition = None
        if declaration.description is not None:
            said = Definition(
                name=declaration.name, server=declaration.server, description=declaration.description
            )
            definition = define(self._database, said)
        return self._database.rows(
            "declare",
            **key_parameters(declaration.key),
            plugin=declaration.plugin,
            profile=_written(declaration.profile),
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
        reading: ClientReading,
        resolved: Sequence[Resolved],
        ids: Ids,
        view: View,
        at: int,
        *,
        is_as_before: bool,
    ) -> None:
        permissions = row_values.write_permissions(reading.permissions)
        place = {**view_parameters(view), "permissions": permissions}
        id = self._database.rows("see_view", **place, at=at)[0][0]
        for step in ("forget_inputs", "forget_problems"):
            self._database.run(step, view=id)
        self._database.run_each(
            "add_input",
            [{"view": id, "name": name, "fingerprint": seen} for name, seen in reading.inputs.items()],
        )
        self._database.run_each("add_problem", [{"view": id, **item._asdict()} for item in reading.problems])
        if is_as_before:  # rewriting the same data would look like a change to watchers
            return
        self._database.run("forget_resolutions", view=id)
        self._database.run_each(
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

    def _save_rules(self, reading: ClientReading, project: Project) -> None:
        mine = {"client": reading.client, "project": project.hash}
        believed = json.dumps([name for name in reading.inputs if name not in reading.unreadable])
        self._database.run("forget_rules", sources=believed, **mine)
        self._database.run_each(
            "add_rule", [{**mine, **asdict(rule), "subject": rule.storable_subject} for rule in reading.rules]
        )


def _changes(before: dict[int, _Known], resolved: Sequence[Resolved], ids: Ids) -> Changes:
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


def _written(profile: AgentProfile | None) -> str | None:
    """Serialize an agent's profile."""
    return None if profile is None else json.dumps(asdict(profile))


def _declaration(row: Row) -> Declaration:
    """Read the first columns of a row of the query `last_known`."""
    (name, kind, client, scope, source, project_hash, dir, server, plugin) = row[:9]
    (agent, of_agent, endpoint, digest, is_remit, own_status, description) = row[9:16]
    return Declaration(
        name=name,
        kind=row_values.KINDS[kind],
        client=client,
        scope=row_values.SCOPES[scope],
        source=source,
        project_hash=project_hash,
        dir=dir,
        server=server,
        plugin=plugin,
        agent=agent,
        profile=row_values.profile(of_agent),
        endpoint=endpoint,
        digest=digest,
        is_remit=bool(is_remit),
        own_status=row_values.CONFIG_STATUSES.get(own_status),
        description=description,
    )


def _view(row: Row) -> _Known:
    """Read a row of the query `resolved`."""
    return _Known(_declaration(row[:16]), *row[16:])


def _rule(row: Row) -> SettingsRule:
    """Read a row of the query `last_rules`."""
    source, level, effect, subject = row
    return SettingsRule(source=source, level=SettingsLevel(level), effect=Effect(effect), subject=subject)
