"""Stores which definitions a person accepted or rejected."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from remit.decision.definitions.definition_changes import ChangeVerdict, DefinitionChange
from remit.decision.tools import Definition
from remit.store import row_values
from remit.store.database import Database, Row, scope_parameters
from remit.trust.held_definitions import AcceptedBy, HeldDefinition

if TYPE_CHECKING:
    from remit.decision.projects import Workspace


class SqlPins:
    """Stores pins."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def changed(self, workspace: Workspace) -> list[HeldDefinition]:
        """List the definitions in scope that are not the accepted ones, or that are news."""
        rows = self._database.rows("changed_definitions", **scope_parameters(workspace))
        found = definitions_of(self._database, workspace, (id for row in rows for id in row[-2:]))
        return [_held(row, found) for row in rows]

    def accept(self, items: Iterable[HeldDefinition], workspace: Workspace, at: int) -> None:
        """Accept definitions as they were listed; one that changed since then stays held."""
        with self._database.transaction():
            for tool, entry, item in self._as_shown(items, workspace):
                self._database.run(
                    "accept_definition",
                    tool=tool,
                    definition=item.changed_id,
                    by=AcceptedBy.PERSON,
                    at=at,
                    entry=entry,
                    is_news=0,
                )

    def reject(self, items: Iterable[HeldDefinition], workspace: Workspace, reason: str) -> None:
        """Reject definitions, which stay hidden until they change again."""
        with self._database.transaction():
            for tool, _, item in self._as_shown(items, workspace):
                detail = f"{reason}: {item.change.detail}" if item.change is not None else reason
                self._database.run(
                    "reject_definition", tool=tool, definition=item.changed_id, reason=reason, detail=detail
                )

    def mark_reported(self, workspace: Workspace) -> None:
        """Record that a session reported all changes in scope."""
        self._database.run("report_changes", **scope_parameters(workspace))

    def _as_shown(
        self, items: Iterable[HeldDefinition], workspace: Workspace
    ) -> list[tuple[int, str | None, HeldDefinition]]:
        """Find the rows of definitions that are still as they were shown."""
        found: list[tuple[int, str | None, HeldDefinition]] = []
        for item in items:
            client, kind, scope, project_hash, dir, agent, server, name = item.key
            rows = self._database.rows(
                "pin_row",
                client=client,
                kind=kind,
                scope=scope,
                project_hash=project_hash,
                dir=dir,
                agent=agent,
                server=server,
                name=name,
                **scope_parameters(workspace),
            )
            found += [(tool, entry, item) for tool, entry, changed in rows if changed == item.changed_id]
        return found


def definitions_of(
    database: Database, workspace: Workspace, ids: Iterable[int | None]
) -> dict[int | None, Definition]:
    """Read stored definitions by their ids: all at once, since a list may have thousands."""
    wanted = sorted({id for id in ids if id is not None})
    if not wanted:
        return {}
    found = database.rows("definitions_by_id", ids=json.dumps(wanted), **scope_parameters(workspace))
    return {row[0]: row_values.definition(row[1:]) for row in found}


def _held(row: Row, found: Mapping[int | None, Definition]) -> HeldDefinition:
    verdict, reason, detail, changed_at, by, accepted_at, is_news, accepted_id, changed_id = row[8:]
    change = None if verdict is None else DefinitionChange(ChangeVerdict(verdict), reason, detail)
    return HeldDefinition(
        key=tuple(row[:8]),
        change=change,
        changed_at=changed_at,
        accepted_by=None if by is None else AcceptedBy(by),
        accepted_at=accepted_at,
        is_news=bool(is_news),
        changed_id=changed_id,
        accepted=found.get(accepted_id),
        current=found.get(changed_id),
    )
