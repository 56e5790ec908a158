"""The tables of a store in PostgreSQL, with all projects visible: read as a gateway, written as the owner."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import count as numbers
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from remit.errors import StoreRefusedError, StoreRightsError, StoreTooNewError, StoreUnavailableError
from remit.store.maintenance.table_access import BATCH, Row, columns_of, storable
from remit.store.maintenance.table_model import Table, tables
from remit.store.postgres import postgres_schema, table_rights
from remit.store.postgres.answering_connection import AnsweringConnection
from remit.store.postgres.postgres_address import connection_parameters, shown

OWNER = "use the address of the owner of the database"
_COPYING = 0x636F7079  # an advisory lock of whoever copies into the store
_OPEN_ALL = "select set_config('remit.everything', 'on', false)"


class PostgresAccess:
    """A connection to the tables of a PostgreSQL database."""

    def __init__(self, address: str, connection: "psycopg.Connection[Any]") -> None:
        self.place = shown(address)
        parameters = connection.info
        self.identity = f"postgresql://{parameters.host}:{parameters.port}/{parameters.dbname}"
        self.connection = connection
        self._cursors = numbers(1)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def select(self, query: str) -> Iterator[Row]:
        """Run a query, and read its rows in parts."""
        with self.connection.transaction():
            cursor: Any = self.connection.cursor(f"rows_{next(self._cursors)}")
            cursor.itersize = BATCH
            with cursor:
                cursor.execute(query)
                yield from cursor

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows with the numbers that they have."""
        marks = ", ".join(["%s"] * len(table.columns))
        overriding = "overriding system value " if table.is_numbered else ""
        statement = f"insert into {table.name} ({columns_of(table)}) {overriding}values ({marks})"
        with self.connection.cursor() as cursor:
            cursor.executemany(statement.encode(), [[storable(value) for value in row] for row in rows])

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Run several statements atomically."""
        with self.connection.transaction():
            yield

    def copied_from(self) -> str | None:
        """Return the source of an unfinished copy."""
        found = self.connection.execute("select source from copies").fetchall()
        return found[0][0] if found else None

    def begin_copy(self, source: str) -> None:
        """Mark the store as an unfinished copy."""
        self.connection.execute("insert into copies (source) values (%s)", [source])

    def end_copy(self) -> None:
        """Continue the numbers of new rows behind the copied ones, and remove the mark."""
        with self.connection.transaction():
            for table in tables():
                if table.is_numbered:
                    number = sql.SQL(
                        "select setval(pg_get_serial_sequence({}, 'id'), coalesce(max(id), 1), "
                        "max(id) is not null) from {}"
                    )
                    self.connection.execute(number.format(table.name, sql.Identifier(table.name)))
            self.connection.execute("delete from copies")

    def clear(self, table: Table, condition: str = "1 = 1") -> None:
        """Delete rows."""
        self.connection.execute(f"delete from {table.name} where {condition}".encode())  # noqa: S608 - from the schema


def connect(address: str) -> AnsweringConnection:
    """Connect as the user of an address, without taking a role.

    Raises:
        StoreUnavailableError: that is not possible.
    """
    try:
        found = AnsweringConnection.connect(
            make_conninfo("", **connection_parameters(address)), autocommit=True
        )
        found.execute(sql.SQL("set search_path to {}, public").format(sql.Identifier(table_rights.SCHEMA)))
    except psycopg.OperationalError as error:
        raise StoreUnavailableError(
            f"`{shown(address)}` cannot be used: {(str(error).splitlines() or [''])[0]}",
            hint="check that the database runs, and its address, user and password",
        ) from error
    return found


def read_postgres(address: str) -> PostgresAccess:
    """Open a store to read it: one snapshot of all tables.

    Raises:
        StoreError: it cannot be used, or has the schema of another version.
    """
    connection = connect(address)
    try:
        require_current(connection, shown(address))
        connection.execute(sql.SQL("set role {}").format(sql.Identifier(table_rights.RUNTIME)))
        connection.execute(_OPEN_ALL)
        connection.execute("begin isolation level repeatable read, read only")
    except BaseException:
        connection.close()
        raise
    return PostgresAccess(address, connection)


def read_whole_postgres(address: str) -> PostgresAccess:
    """Open a store to copy it.

    Raises:
        StoreError: it cannot be used, has the schema of another version, or has teams, which are not copied.
    """
    opened = read_postgres(address)
    if opened.connection.execute("select exists (select 1 from teams)").fetchall() == [(True,)]:
        opened.close()
        raise StoreRefusedError(
            f"`{opened.place}` has teams, which a copy would leave out",
            hint="move it with `pg_dump` and `pg_restore`",
        )
    return opened


def write_postgres(address: str) -> PostgresAccess:
    """Open a store to copy another one into it, as its owner; create its schema where necessary.

    Raises:
        StoreError: it cannot be used, its user is not the owner, or another copy is running.
    """
    connection = connect(address)
    try:
        postgres_schema.prepare(connection, shown(address))
        require_current(connection, shown(address))
        connection.execute("reset role")
        require_owner(connection, shown(address))
        connection.execute(_OPEN_ALL)
        if connection.execute("select pg_try_advisory_lock(%s)", [_COPYING]).fetchall() != [(True,)]:
            raise StoreUnavailableError(
                f"another copy into `{shown(address)}` is running", hint="wait until it ends"
            )
    except BaseException:
        connection.close()
        raise
    return PostgresAccess(address, connection)


def require_owner(connection: "psycopg.Connection[Any]", place: str) -> None:
    """Check that the user of a connection owns the store.

    Raises:
        StoreRightsError: it does not.
    """
    owned = "select pg_has_role(current_user, nspowner, 'usage') from pg_namespace where nspname = %s"
    if connection.execute(owned, [table_rights.SCHEMA]).fetchall() != [(True,)]:
        raise StoreRightsError(f"the user of `{place}` does not own its store", hint=OWNER)


def require_current(connection: "psycopg.Connection[Any]", place: str) -> int:
    """Return the version of the schema.

    Raises:
        StoreError: it is not the one that this Remit knows.
    """
    found, known = postgres_schema.version(connection), postgres_schema.newest()
    if found > known:
        raise StoreTooNewError(
            f"`{place}` was created by a newer Remit (schema {found}, this knows {known})",
            hint="upgrade Remit",
        )
    if found == 0:
        raise StoreUnavailableError(
            f"`{place}` has no store", hint="run `remit store init` with the address of its owner"
        )
    if found < known:
        raise StoreUnavailableError(
            f"`{place}` has the schema of an older Remit",
            hint="run `remit store migrate` with the same address",
        )
    return found
