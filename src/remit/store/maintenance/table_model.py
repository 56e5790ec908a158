"""The tables that hold what a store knows, in the order in which they can be filled.

SQLite's schema is the model; PostgreSQL has the same tables with the same columns. What can be made again
from them, such as word indexes and vectors, is not part of the model.
"""

import os
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import apsw

from remit.store.database import SQL, read_sql

REBUILT = {  # and who makes them again
    "documents_by_word": "a trigger",
    "memory_by_word": "a trigger",
    "memory_unread": "a trigger",
    "document_terms": "the next search",
    "vectors": "the next scan or search",
    "memory_terms": "the next search of memory",
    "memory_texts": "the next search of memory",
    "memory_without_terms": "a trigger",
    "memory_model": "the next search of memory",
    "memory_vectors": "the next search of memory",
    "memory_codes": "the next search of memory",
    "revisions": "triggers",
    "session_keys": "the next session of a gateway",
    "bound_sessions": "gateways",
    "ended_sessions": "gateways",
    "credentials": "a person, with `remit credential set`: SQLite's are in a file, under another key",
}
OUTLIVING = ("audit", "audit_anchors")  # stay in PostgreSQL when their project is forgotten
# Rows that others of the same table refer to come first.
_WAVES = {
    **dict.fromkeys(OUTLIVING, ("project_hash in (select hash from projects)",)),
    "tools": ("server_id is null", "server_id is not null"),
    "memory_nodes": ("home is null", "kind = 'focus'", "home is not null and kind <> 'focus'"),
}
NO_ROWS = "1 = 0"
_STARTING = {"memory_nodes": "kind = 'global'"}  # rows that a new store may have
_LAST = "usage_totals"  # a trigger on the events fills it, so that its own rows replace these


class ForeignKey(NamedTuple):
    """Columns whose values exist in another table."""

    columns: tuple[str, ...]
    table: str
    targets: tuple[str, ...]


class Table(NamedTuple):
    """A table, with the conditions that select the rows to fill in first, second and so on."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    references: tuple[ForeignKey, ...]
    is_numbered: bool  # the database gives new rows a number

    @property
    def waves(self) -> tuple[str, ...]:
        """Conditions that split the rows."""
        return _WAVES.get(self.name, ("1 = 1",))

    @property
    def starting(self) -> str:
        """The condition of the rows that a new store may have; the source has them too."""
        return _STARTING.get(self.name, NO_ROWS)

    @property
    def is_replaced(self) -> bool:
        """Whether rows that triggers made are replaced."""
        return self.name == _LAST


@cache
def tables() -> tuple[Table, ...]:
    """List the tables in the order in which they can be filled."""
    connection: Any = apsw.Connection(":memory:")
    connection.execute(read_sql(os.path.join(SQL, "sqlite", "migrations", "schema.sql")))
    named = "select name from pragma_table_list where type = 'table' and schema = 'main' order by name"
    names = [name for (name,) in connection.execute(named) if not name.startswith("sqlite_")]
    found = {name: _read(connection, name) for name in names if name not in REBUILT}
    connection.close()
    return tuple(_in_order(found))


def _read(connection: Any, name: str) -> Table:
    listed = "select name, pk, type from pragma_table_xinfo(?) where hidden = 0"
    columns = connection.execute(listed, (name,)).fetchall()
    key = [(column, type) for column, place, type in sorted(columns, key=lambda each: each[1]) if place]
    keys: dict[int, list[tuple[str, str, str]]] = {}
    listed = 'select id, "table", "from", "to" from pragma_foreign_key_list(?) order by id, seq'
    for number, table, column, target in connection.execute(listed, (name,)):
        keys.setdefault(number, []).append((table, column, target))
    references = [
        ForeignKey(tuple(each[1] for each in parts), parts[0][0], tuple(each[2] for each in parts))
        for parts in keys.values()
    ]
    return Table(
        name,
        tuple(column for column, _, _ in columns),
        tuple(column for column, _ in key),
        tuple(references),
        is_numbered=key == [("id", "INTEGER")],
    )


def _in_order(found: dict[str, Table]) -> Iterable[Table]:
    """Put each table behind those that it refers to, and the one with totals last."""
    done: list[Table] = []
    while len(done) < len(found):
        known = {table.name for table in done}
        ready = [
            table
            for table in found.values()
            if table.name not in known
            and all(each.table in {*known, table.name} for each in table.references)
        ]
        done += ready
    return sorted(done, key=lambda table: table.is_replaced)
