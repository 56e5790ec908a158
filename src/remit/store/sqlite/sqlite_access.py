"""The tables of a store in SQLite: read without changing anything, or written as a new file.

A copy grows in a file of its own next to the target, and takes its name only when it is complete.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import apsw

from remit.errors import StoreCorruptError, StoreTooNewError, StoreUnavailableError
from remit.store.database import SQL, read_sql
from remit.store.maintenance.table_access import Row, columns_of
from remit.store.maintenance.table_model import Table
from remit.store.sqlite.sqlite_database import APPLICATION_ID, SCHEMA_VERSION

UNFINISHED = ".copying"
_MARK = "unfinished_copy"


class SqliteAccess:
    """A connection to the tables of an SQLite file."""

    def __init__(self, path: str, connection: Any) -> None:
        self.place = path
        self.identity = f"sqlite:{os.path.realpath(path)}"
        self.connection = connection

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def select(self, query: str) -> Iterator[Row]:
        """Run a query."""
        return iter(self.connection.execute(query))

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows."""
        marks = ", ".join("?" * len(table.columns))
        self.connection.executemany(
            f"insert into {table.name} ({columns_of(table)}) values ({marks})",  # noqa: S608 - from the schema
            rows,
        )

    def transaction(self) -> AbstractContextManager[object]:
        """Run several statements atomically."""
        return self.connection


class NewSqliteFile(SqliteAccess):
    """A new file that a copy fills."""

    def __init__(self, path: str) -> None:
        self._unfinished = path + UNFINISHED
        if os.path.exists(path) and _has_rows(path):
            raise StoreUnavailableError(
                f"`{path}` is not empty",
                hint="copy into a new file, or delete this one if you do not need it",
            )
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        os.close(os.open(self._unfinished, os.O_RDONLY | os.O_CREAT, mode=0o600))
        connection: Any = apsw.Connection(self._unfinished)
        try:
            # Nobody else reads the file; a second copy into it fails at once.
            connection.execute(
                "pragma temp_store = memory; pragma locking_mode = exclusive; pragma foreign_keys = on"
            ).fetchall()
            with connection:
                if not connection.execute("select 1 from sqlite_schema").fetchall():
                    connection.execute(read_sql(os.path.join(SQL, "sqlite", "migrations", "schema.sql")))
        except apsw.BusyError as error:
            connection.close()
            raise StoreUnavailableError(
                f"another copy into `{path}` is running", hint="wait until it ends"
            ) from error
        super().__init__(path, connection)

    def copied_from(self) -> str | None:
        """Return the source of an unfinished copy."""
        named = f"select 1 from sqlite_schema where name = '{_MARK}'"  # noqa: S608 - a constant
        if not self.connection.execute(named).fetchall():
            return None
        return self.connection.execute(f"select source from {_MARK}").fetchall()[0][0]  # noqa: S608 - a constant

    def begin_copy(self, source: str) -> None:
        """Mark the file as an unfinished copy."""
        self.connection.execute(f"create table {_MARK} (source text not null) strict")
        self.connection.execute(f"insert into {_MARK} values (?)", (source,))  # noqa: S608 - a constant

    def end_copy(self) -> None:
        """Give the complete file its name."""
        self.connection.execute(f"drop table {_MARK}")
        self.connection.execute("pragma journal_mode = wal").fetchall()
        self.connection.close()
        for suffix in ("-wal", "-shm"):  # of an empty file that it replaces
            if os.path.exists(self.place + suffix):
                os.remove(self.place + suffix)
        os.replace(self._unfinished, self.place)

    def clear(self, table: Table, condition: str = "1 = 1") -> None:
        """Delete rows."""
        self.connection.execute(f"delete from {table.name} where {condition}")  # noqa: S608 - from the schema


def read_sqlite(path: str) -> SqliteAccess:
    """Open a file to read it.

    Raises:
        StoreError: it does not exist, is not a store, or has the schema of another version.
    """
    if not os.path.isfile(path):
        raise StoreUnavailableError(f"`{path}` does not exist", hint="name the file as `sqlite:PATH`")
    connection: Any = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(30_000)
        connection.execute("begin").fetchall()  # one snapshot for all tables
        _require_current(path, connection)
    except apsw.NotADBError as error:
        connection.close()
        raise StoreCorruptError(f"`{path}` is damaged or not a database") from error
    except BaseException:
        connection.close()
        raise
    return SqliteAccess(path, connection)


def _require_current(path: str, connection: Any) -> None:
    version = connection.pragma("user_version")
    if connection.pragma("application_id") != APPLICATION_ID:
        raise StoreCorruptError(f"`{path}` is not a store of Remit", hint="name another file")
    if version > SCHEMA_VERSION:
        raise StoreTooNewError(
            f"`{path}` was created by a newer Remit (schema {version}, this knows {SCHEMA_VERSION})",
            hint="upgrade Remit",
        )
    if version < SCHEMA_VERSION:
        raise StoreUnavailableError(
            f"`{path}` has the schema of an older Remit", hint=f"run `remit store migrate sqlite:{path}`"
        )


def _has_rows(path: str) -> bool:
    from remit.store.maintenance.table_access import count
    from remit.store.maintenance.table_model import tables

    if os.path.getsize(path) == 0:
        return False
    access = read_sqlite(path)
    try:
        return any(count(access, table, f"not ({table.starting})") for table in tables())
    finally:
        access.close()
