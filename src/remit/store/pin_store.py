"""Stores which definitions a person accepted or rejected, and holds those of a server's list that changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from remit.decision.definitions.definition_changes import ChangeVerdict, DefinitionChange
from remit.decision.tools import Definition
from remit.store import row_values
from remit.store.database import Database, Row, Value, key_parameters, scope_parameters
from remit.trust.held_definitions import AcceptedBy, HeldDefinition
from remit.trust.server_list_comparison import (
    Known,
    ListedDefinition,
    Pin,
    ServerListComparison,
    ServerPins,
    Sight,
    Sighting,
)

if TYPE_CHECKING:
    from remit.decision.declarations import Declaration
    from remit.decision.projects import Workspace


Judge = Callable[[Sighting], "DefinitionChange | None"]


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
            rows = self._database.rows("pin_row", **key_parameters(item.key), **scope_parameters(workspace))
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


def read_pins(database: Database, server: int, declaration: Declaration, workspace: Workspace) -> ServerPins:
    """Read the pins of a server."""
    place = {"server_id": server, **scope_parameters(workspace)}
    listed = database.rows("listed_entry", **place)
    found = database.rows("pins_of_server", **place)
    plugin = {"plugin": declaration.plugin, "client": declaration.client}
    is_late = declaration.plugin is not None and database.rows("earlier_tool_of_plugin", **plugin, **place)
    pins = {row[0]: Pin(*row[1:]) for row in found}
    return ServerPins(pins, listed[0][0] if listed else None, is_late=bool(is_late))


def pin_listing(
    database: Database,
    server: int,
    declaration: Declaration,
    listed: Mapping[int, ListedDefinition],
    judge: Judge,
    workspace: Workspace,
    at: int,
) -> None:
    """Accept what is new, and hold what changed; `listed` has the rows of the tools."""
    pins = read_pins(database, server, declaration, workspace)
    found: dict[int | None, Definition] = {}
    comparison = ServerListComparison(pins, declaration, found.get)
    rows = {item.definition.name: row for row, item in listed.items()}
    settling = _Settling(declaration.digest, at)
    unsettled = [*comparison.unsettled(listed.values())]
    known = pins.by_name
    before = (known[item.definition.name] for item in unsettled if item.definition.name in known)
    found |= definitions_of(database, workspace, (pin.accepted_id for pin in before))
    for item in unsettled:
        row, seen = rows[item.definition.name], comparison.sight(item)
        if seen is Known.ACCEPTED:
            settling.keep(row, item)
        elif seen is Known.HELD:
            settling.follow(row, item)
        elif (change := judge(seen)) is not None:
            if _is_told(known.get(item.definition.name), item, change):
                settling.follow(row, item)
            else:
                settling.hold(row, item, change)
        elif seen.sight is Sight.FIRST:
            settling.accept(row, item, is_known=item.definition.name in known)
        else:
            settling.keep(row, item)
    for query, values in settling.writes.items():  # together: a new list may have thousands of tools
        database.run_each(query, values)


def _is_told(pin: Pin | None, item: ListedDefinition, change: DefinitionChange) -> bool:
    """Return whether a change was reported before, except for what its pin leaves out."""
    return pin is not None and (pin.changed, pin.verdict) == (item.pin, change.verdict)


class _Settling:
    """Collects what to write about pins."""

    def __init__(self, entry: str | None, at: int) -> None:
        self.entry, self.at = entry, at
        self.writes: dict[str, list[Mapping[str, Value]]] = {}  # by query

    def accept(self, row: int, item: ListedDefinition, *, is_known: bool) -> None:
        """Accept a definition of a new server, or of one whose entry the user changed."""
        self._write(
            "accept_definition",
            tool=row,
            definition=item.id,
            by=AcceptedBy.ENTRY if is_known else AcceptedBy.FIRST_SIGHT,
            at=self.at,
            entry=self.entry,
            is_news=int(is_known),
        )

    def keep(self, row: int, item: ListedDefinition) -> None:
        """Go on with what was accepted."""
        self._write("unchange_definition", tool=row, definition=item.id, entry=self.entry)

    def follow(self, row: int, item: ListedDefinition) -> None:
        """Go on with the judgement about a definition that is held."""
        self._write("follow_change", tool=row, definition=item.id, entry=self.entry)

    def hold(self, row: int, item: ListedDefinition, change: DefinitionChange) -> None:
        """Hold a definition until a person accepts it."""
        values = change._asdict()
        self._write("hold_definition", tool=row, entry=self.entry, definition=item.id, at=self.at, **values)

    def _write(self, query: str, **values: Value) -> None:
        self.writes.setdefault(query, []).append(values)
