"""Accepts and holds the definitions of a server's list, in the transaction that stores the list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from remit.store.database import Database, Value, scope_parameters
from remit.store.pin_store import definitions_of
from remit.trust.held_definitions import AcceptedBy
from remit.trust.server_list_comparison import (
    Known,
    ListedDefinition,
    Pin,
    ServerListComparison,
    Sight,
    Sighting,
)

if TYPE_CHECKING:
    from remit.decision.declarations import Declaration
    from remit.decision.definitions.definition_changes import DefinitionChange
    from remit.decision.projects import Workspace
    from remit.decision.tools import Definition

Judge = Callable[[Sighting], "DefinitionChange | None"]


def read_pins(database: Database, server: int, workspace: Workspace) -> dict[str, Pin]:
    """Read the pins of a server, by the names of its tools; its instructions have its own name."""
    found = database.rows("pins_of_server", server_id=server, **scope_parameters(workspace))
    return {row[0]: Pin(*row[1:]) for row in found}


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
    pins = read_pins(database, server, workspace)
    found: dict[int | None, Definition] = {}
    comparison = ServerListComparison(pins, declaration, found.get)
    rows = {item.definition.name: row for row, item in listed.items()}
    settling = _Settling(declaration.digest, at)
    unsettled = [*comparison.unsettled(listed.values())]
    before = (pins[item.definition.name] for item in unsettled if item.definition.name in pins)
    found |= definitions_of(database, workspace, (pin.accepted_id for pin in before))
    for item in unsettled:
        row, seen = rows[item.definition.name], comparison.sight(item)
        if seen is Known.ACCEPTED:
            settling.keep(row, item)
        elif seen is Known.HELD:
            settling.follow(row, item)
        elif (change := judge(seen)) is not None:
            settling.hold(row, item, change)
        elif seen.sight is Sight.FIRST:
            settling.accept(row, item, is_known=item.definition.name in pins)
        else:
            settling.keep(row, item)
    for query, values in settling.writes.items():  # together: a new list may have thousands of tools
        database.run_each(query, values)


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
