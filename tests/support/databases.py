"""Databases behind the store: direct SQL, and databases of older versions."""

from pathlib import Path
from typing import Any

import apsw

from remit.store import database as storage
from remit.store.sqlite_store import SqliteStore


def older_database(path: Path, version: int) -> None:
    """Make a database with the schema of an older version."""
    scripts = sorted((Path(storage.__file__).parent / "sql" / "migrations").glob("*.sql"))
    for script in scripts[:version]:
        run_sql(path, script.read_text(encoding="utf-8"))
    run_sql(path, f"pragma user_version = {version}")


def run_sql(database: Path | SqliteStore, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement on the database itself, without the store."""
    if isinstance(database, Path):
        connection: Any = apsw.Connection(str(database))
    else:
        connection = database.database._connection  # pyright: ignore[reportPrivateUsage]
    return connection.execute(statement).fetchall()
