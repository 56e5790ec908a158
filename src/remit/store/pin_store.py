"""Stores which definitions were accepted, and holds others in the transaction that lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.definitions.definition_changes import ChangeVerdict, DefinitionChange
from remit.decision.launch import DIGEST_VERSION
from remit.decision.tools import Definition
from remit.store import row_values
from remit.store.database import Database, Row, scope_parameters
from remit.store.definition_rows import prepare, store_definition
from remit.trust.held_definitions import AcceptedBy, HeldDefinition

if TYPE_CHECKING:
    from remit.decision.declarations import Declaration
    from remit.decision.projects import Workspace
    from remit.trust.change_judgement import Inspections


class ListedDefinition(NamedTuple):
    """A definition that a server lists now: of a tool, or its instructions."""

    tool: int
    definition: Definition
    id: int
    pin: str


class _Pin(NamedTuple):
    """What is stored about a tool."""

    accepted_id: int | None
    entry: str | None
    verdict: str | None
    accepted: str | None  # pin
    changed: str | None  # pin
    changed_id: int | None


class SqlitePins:
    """Stores pins."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def changed(self, workspace: Workspace) -> list[HeldDefinition]:
        """List the definitions in scope that are not the accepted ones, or that are news."""
        found = self._database.rows("changed_definitions", **scope_parameters(workspace))
        return [self._held(row) for row in found]

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

    def _held(self, row: Row) -> HeldDefinition:
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
            accepted=_definition(self._database, accepted_id),
            current=_definition(self._database, changed_id),
        )


def pin_listing(
    database: Database,
    server: int,
    declaration: Declaration,
    listed: Sequence[ListedDefinition],
    inspections: Callable[[], Inspections],
    workspace: Workspace,
    at: int,
) -> None:
    """Compare what a server lists with what was accepted; accept what is new, and hold what changed."""
    found = database.rows("pins_of_server", server_id=server, **scope_parameters(workspace))
    pins = {row[0]: _Pin(*row[1:]) for row in found}
    unsettled = [item for item in listed if not _is_settled(item, pins.get(item.tool), declaration)]
    if not unsettled:
        return
    is_known = any(_is_same_entry(pins[tool].entry, declaration) for tool in pins if tool != server)
    settling = _Settling(database, declaration.digest, inspections(), at)
    for item in unsettled:
        pin = pins.get(item.tool)
        if pin is None and is_known and item.tool != server:
            settling.hold_new(item)
        elif pin is None or not _is_same_entry(pin.entry, declaration):
            settling.see_first(item, pin)
        else:
            settling.compare(item, pin)


def _is_settled(item: ListedDefinition, pin: _Pin | None, declaration: Declaration) -> bool:
    """Return whether a definition is as accepted."""
    if pin is None or pin.verdict is not None:
        return False
    return pin.accepted_id == item.id and pin.entry == declaration.digest


def _is_rejected(item: ListedDefinition, pin: _Pin) -> bool:
    """Return whether a person rejected exactly this definition."""
    return pin.verdict == ChangeVerdict.REJECTED and pin.changed == item.pin


def _is_same_entry(entry: str | None, declaration: Declaration) -> bool:
    """Return whether the user did not change an entry; another form of digest says nothing about that."""
    now = declaration.digest or ""
    return entry == now or (entry or "").startswith(DIGEST_VERSION) is not now.startswith(DIGEST_VERSION)


class _Settling(NamedTuple):
    """Accepts or holds the definitions of one listing."""

    database: Database
    entry: str | None
    inspections: Inspections
    at: int

    def see_first(self, item: ListedDefinition, pin: _Pin | None) -> None:
        """Accept a definition of a new server, or of one whose entry the user changed."""
        from remit.trust.change_judgement import judge_first_sight  # not needed without changes

        if pin is not None and (pin.accepted == item.pin or _is_rejected(item, pin)):
            self.compare(item, pin)
        elif (flagged := judge_first_sight(item.definition, self.inspections)) is not None:
            self._hold(item, flagged)
        elif pin is None:
            self._accept(item, AcceptedBy.FIRST_SIGHT)
        else:
            self._accept(item, AcceptedBy.ENTRY, is_news=True)

    def hold_new(self, item: ListedDefinition) -> None:
        """Hold a tool that an accepted server adds."""
        from remit.trust.change_judgement import judge_new  # not needed without changes

        self._hold(item, judge_new(item.definition, self.inspections))

    def compare(self, item: ListedDefinition, pin: _Pin) -> None:
        """Hold a definition that differs from the accepted one."""
        from remit.trust.change_judgement import judge_change  # not needed without changes

        accepted = _definition(self.database, pin.accepted_id)
        if pin.accepted_id == item.id:
            self._keep(item)
        elif item.id == pin.changed_id or pin.accepted != item.pin == pin.changed:  # judged before
            self.database.run("follow_change", tool=item.tool, definition=item.id, entry=self.entry)
        elif accepted is not None and pin.accepted == item.pin:
            self._keep_same_pin(item, accepted)
        elif accepted is None:  # held since it was first seen
            self.hold_new(item)
        else:
            self._hold(item, judge_change(accepted, item.definition, self.inspections))

    def _keep_same_pin(self, item: ListedDefinition, accepted: Definition) -> None:
        """Follow a definition with another date or line break, unless inspection flags it now."""
        from remit.trust.change_judgement import judge_same_pin  # not needed without changes

        if (flagged := judge_same_pin(accepted, item.definition, self.inspections)) is not None:
            self._hold(item, flagged)
        else:
            self._keep(item)

    def _keep(self, item: ListedDefinition) -> None:
        self.database.run("unchange_definition", tool=item.tool, definition=item.id, entry=self.entry)

    def _accept(self, item: ListedDefinition, by: AcceptedBy, *, is_news: bool = False) -> None:
        self.database.run(
            "accept_definition",
            tool=item.tool,
            definition=item.id,
            by=by,
            at=self.at,
            entry=self.entry,
            is_news=int(is_news),
        )

    def _hold(self, item: ListedDefinition, change: DefinitionChange) -> None:
        self.database.run(
            "hold_definition",
            tool=item.tool,
            entry=self.entry,
            definition=item.id,
            at=self.at,
            **change._asdict(),
        )


def inspections_beside(
    database: Database, declaration: Declaration, tools: Sequence[Definition], workspace: Workspace
) -> Inspections:
    """Prepare to inspect a server's tools, among those of the other servers."""
    # Imported late: a listing without changes needs no inspection.
    from remit.inspection.surroundings import Surroundings
    from remit.trust.change_judgement import Inspections

    beside = database.rows(
        "definitions_beside",
        client=declaration.client,
        server=declaration.server,
        **scope_parameters(workspace),
    )
    return Inspections(Surroundings.of([*map(row_values.definition, beside), *tools]))


def list_instructions(
    database: Database, server: int, declaration: Declaration, text: str
) -> ListedDefinition:
    """Store a server's instructions as the definition that their pin compares."""
    said = Definition(name=declaration.name, server=declaration.server, description=text)
    return ListedDefinition(server, said, *store_definition(database, prepare(said)))


def _definition(database: Database, id: int | None) -> Definition | None:
    found = database.rows("definition_by_id", id=id)
    return row_values.definition(found[0]) if found else None
