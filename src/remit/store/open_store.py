"""Opens the store at a place: the path of an SQLite file, or the address of a PostgreSQL database.

Hook processes import this module, so it loads only the driver that a place needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.configuration.store_place import is_address
from remit.errors import StoreUnavailableError

if TYPE_CHECKING:
    from remit.store.database import Database
    from remit.store.sql_store import SqlStore

_DRIVER = "psycopg[binary]"
PATIENCE = 30.0  # seconds that a query waits for other writers


def require_driver() -> None:
    """Check that PostgreSQL's driver is installed.

    Raises:
        StoreUnavailableError: it is not.
    """
    from importlib import import_module  # only a shared store needs it

    try:
        import_module("psycopg")
    except ImportError as error:
        from remit.files.own_environment import own_environment

        raise StoreUnavailableError(
            "the store is a PostgreSQL database, and psycopg is not installed",
            hint=f"run `{own_environment().add_command(_DRIVER)}`",
        ) from error


def open_database(place: str, *, patience: float = PATIENCE, admin: str | None = None) -> Database:
    """Open the database of a store, and know the address of its administrators.

    Raises:
        StoreError: the database cannot be used.
    """
    if is_address(place):
        require_driver()
        from remit.store.postgres.postgres_database import PostgresDatabase

        return PostgresDatabase(place, patience=patience, admin=admin)
    from remit.store.sqlite.sqlite_database import SqliteDatabase

    return SqliteDatabase(place, busy_timeout=patience)


def open_store(place: str, *, admin: str | None = None) -> SqlStore:
    """Open a store.

    Raises:
        StoreError: the database cannot be used.
    """
    from remit.store.sql_store import SqlStore

    return SqlStore(open_database(place, admin=admin))
