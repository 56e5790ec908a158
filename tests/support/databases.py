"""Databases behind the store: direct SQL, databases of older versions, and the schema that migrations make.

Run as a program, this module writes `sqlite/migrations/schema.sql`, which a new database starts from.
"""

import os
import re
from pathlib import Path
from typing import Any, cast

import apsw
import psycopg

from remit.store import open_store
from remit.store.database import SQL
from remit.store.sql_store import SqlStore
from remit.store.sqlite import sqlite_database as storage
from support.postgres import STANDING_IN

MIGRATIONS = Path(SQL) / "sqlite" / "migrations"
SCHEMA = MIGRATIONS / "schema.sql"
_HEAD = "-- All migrations in one, for a new database; written by `make schema`."
_INTERNAL = ("sqlite_", "documents_by_word_", "memory_by_word_")  # tables that SQLite makes by itself


def older_database(path: Path, version: int) -> None:
    """Make a database with the schema of an older version."""
    for script in sorted(MIGRATIONS.glob("[0-9]*.sql"))[:version]:
        run_sql(path, script.read_text(encoding="utf-8"))
    run_sql(path, f"pragma user_version = {version}")


def run_sql(database: Path | SqlStore, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement on the database itself, without the store, over all projects."""
    if isinstance(database, SqlStore):
        return _run(cast("Any", database.database)._connection, statement)
    address = STANDING_IN.get(str(database))
    if address is None:
        return _run(apsw.Connection(str(database)), statement)
    opened = open_store.open_database(address)
    try:
        return _run(cast("Any", opened)._connection, statement)
    finally:
        opened.close()


def _run(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    if isinstance(connection, apsw.Connection):
        return cast("Any", connection).execute(statement).fetchall()
    with connection.transaction():
        connection.execute("set local role none")  # a node may not change the audit log
        connection.execute("set local remit.everything = 'on'")
        answer = connection.execute(statement)
        return answer.fetchall() if answer.description else []


class Locked:
    """Another process that does not let go of the database."""

    def __init__(self, database: Path) -> None:
        address = STANDING_IN.get(str(database))
        self._connection: Any = (
            apsw.Connection(str(database)) if address is None else psycopg.connect(address, autocommit=True)
        )
        lock = "begin; lock table remit.memory_nodes in exclusive mode"  # as in SQLite, others may read
        self._lock = "begin immediate" if address is None else lock

    def __enter__(self) -> None:
        self._connection.execute(self._lock)

    def __exit__(self, *_: object) -> None:
        self._connection.execute("rollback")
        self._connection.close()


def run_constrained(database: Path, statement: str) -> None:
    """Run a statement with all constraints checked.

    Raises:
        ConstraintError: it violates one.
    """
    try:
        run_sql(
            database, statement if _is_in_postgres(database) else f"pragma foreign_keys = on; {statement}"
        )
    except (apsw.ConstraintError, psycopg.IntegrityError) as error:
        raise ConstraintError from error


class ConstraintError(Exception):
    """A statement violates a constraint."""


def damage(database: Path) -> list[tuple[Any, ...]]:
    """List what is damaged; PostgreSQL checks foreign keys itself."""
    if _is_in_postgres(database):
        return []
    broken = [row for row in run_sql(database, "pragma integrity_check") if row != ("ok",)]
    return [*broken, *run_sql(database, "pragma foreign_key_check")]


def unindexed_memory(database: Path) -> int:
    """Count how many more artifacts can be found than the word index has."""
    visible, indexed = (
        ("is_shown", "memory_texts")
        if _is_in_postgres(database)
        else ("place <> ''", "memory_by_word_docsize")
    )
    count = f"select count(*) - (select count(*) from {indexed}) from memory_nodes where {visible}"  # noqa: S608
    return run_sql(database, count)[0][0]


def drop_word_index(database: Path) -> None:
    """Drop the word index of memory, which only the owner of a PostgreSQL database may."""
    if _is_in_postgres(database):
        run_sql(database, "reset role; drop table memory_terms")
    else:
        run_sql(database, "drop table memory_by_word")


def store_variables(database: Path) -> dict[str, str]:
    """Return the variables by which a process finds the store of this test."""
    if STANDING_IN or "REMIT_TEST_STORE" in os.environ:
        open_store.open_database(str(database)).close()  # the one that stands in
    return {"REMIT_STORE": STANDING_IN[str(database)]} if STANDING_IN else {}


def _is_in_postgres(database: Path) -> bool:
    return str(database) in STANDING_IN


def migrated_schema() -> str:
    """Write the statements that make a database as all migrations leave it."""
    scripts = [path.read_text(encoding="utf-8") for path in sorted(MIGRATIONS.glob("[0-9]*.sql"))]
    connection: Any = apsw.Connection(":memory:")
    for script in scripts:
        connection.execute(script)
    made = connection.execute("select name, sql from sqlite_schema where sql is not null").fetchall()
    statements = [
        f"pragma application_id = {storage.APPLICATION_ID:#x}",
        f"pragma user_version = {storage.SCHEMA_VERSION}",
        *(sql for name, sql in made if not name.startswith(_INTERNAL)),
        *(row for script in scripts for row in re.findall(r"^(insert into .+?);$", script, re.M | re.S)),
    ]
    return "\n".join([_HEAD, *(f"{statement};" for statement in statements), ""])


if __name__ == "__main__":
    SCHEMA.write_text(migrated_schema(), encoding="utf-8")
