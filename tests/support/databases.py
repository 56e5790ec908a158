"""Databases behind the store: direct SQL, databases of older versions, and the schema that migrations make.

Run as a program, this module writes `migrations/schema.sql`, which a new database starts from.
"""

import re
from pathlib import Path
from typing import Any, cast

import apsw

from remit.store import sqlite_database as storage
from remit.store.open_store import open_database
from remit.store.sql_store import SqlStore
from support.postgres import STANDING_IN

MIGRATIONS = Path(storage.__file__).parent / "sql" / "migrations"
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
    opened = open_database(address)
    try:
        return _run(cast("Any", opened)._connection, statement)
    finally:
        opened.close()


def _run(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    if isinstance(connection, apsw.Connection):
        return cast("Any", connection).execute(statement).fetchall()
    with connection.transaction():
        connection.execute("set local remit.everything = 'on'")
        answer = connection.execute(statement)
        return answer.fetchall() if answer.description else []


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
