"""Stores with rows in every table, written without the store, and their content."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import apsw

from remit.decision.tools import Definition
from remit.store.definition_rows import PreparedDefinition
from remit.store.maintenance.table_access import TableAccess, columns_of
from remit.store.maintenance.table_model import Table, tables
from remit.store.open_store import open_store
from remit.store.sqlite.sqlite_access import read_sqlite

TEXT = "tab\t, quote ', \\ and \N{SNOWMAN} %s"
_FIXED: Mapping[str, Mapping[str, object]] = {
    "tools": {"scope": "plugin", "dir": None, "authority": 3, "server_id": None},
    "definitions": {"danger": 2, "raw": "{}"},
    "approvals": {"answered_at": 5, "is_approved": 1},
    "memory_nodes": {"kind": "session", "home_kind": "project", "project": "shop", "status": "live"},
    "memory_edges": {"project": "shop"},
    "memory_words": {"home": 7},
    "pins": {"verdict": "changed"},
}
_COLUMNS = "select name, type from pragma_table_info(?)"
_ROOT = (
    "insert into memory_nodes (id, key, kind, project, name, body, subject, fingerprint, content, status, "
    "dated_at, created_at, updated_at) "
    "values (7, 'root', 'project', 'shop', '', '', '', '', '{}', 'live', 0, 0, 0)"
)


def fill_every_table(path: Path, rows: int = 3) -> None:
    """Write rows into each table of a new store."""
    open_store(str(path)).close()
    connection: Any = apsw.Connection(str(path))
    connection.execute("pragma foreign_keys = on")
    connection.execute(_ROOT)
    for table in tables():
        if table.is_replaced:  # by a trigger; as if older events were deleted
            connection.execute("update usage_totals set uses = uses + 40")
            continue
        types = dict(connection.execute(_COLUMNS, (table.name,)).fetchall())
        for number in range(1, rows + 1):
            row = _row(table, types, number)
            marks = ", ".join("?" * len(row))
            connection.execute(f"insert into {table.name} values ({marks})", row)  # noqa: S608 - from the schema
    connection.close()


def _row(table: Table, types: Mapping[str, str], number: int) -> list[object]:
    linked = {column: key.table for key in table.references for column in key.columns}
    row: dict[str, object] = {}
    for column, type in types.items():
        target = linked.get(column)
        if table.name == "memory_nodes" and column in ("id", "home"):
            row[column] = 100 + number if column == "id" else 7
        elif target == "memory_nodes" and column != "project":
            row[column] = 100 + number
        elif type == "INTEGER" and (target or column == "id"):
            row[column] = number
        elif type == "INTEGER":
            row[column] = 2**40 + number if column.endswith("_at") else number % 2
        elif target == "projects" or (table.name, column) == ("projects", "hash"):
            row[column] = f"hash {number} {TEXT}"
        else:
            row[column] = f"{column} {number} {TEXT}"
    row |= _FIXED.get(table.name, {})
    if table.name == "definitions":
        known = {field.name: row[field.name] for field in fields(Definition)}
        row["digest"] = PreparedDefinition(Definition(**cast("Any", known))).digest
    return list(row.values())


def content(access: TableAccess) -> dict[str, list[Any]]:
    """Read all rows of all tables."""
    queries = {table: f"select {columns_of(table)} from {table.name}" for table in tables()}  # noqa: S608 - from the schema
    return {table.name: sorted(access.select(query), key=repr) for table, query in queries.items()}


def content_of(path: Path) -> dict[str, list[Any]]:
    access = read_sqlite(str(path))
    try:
        return content(access)
    finally:
        access.close()
