"""Opens the store at a place: the path of an SQLite file, or the address of a PostgreSQL database.

Hook processes import this module, so it loads only the driver that a place needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.store.database import Database
    from remit.store.sql_store import SqlStore

PATIENCE = 30.0  # seconds that a query waits for other writers
_SCHEMES = ("postgresql://", "postgres://")


def is_address(place: str) -> bool:
    """Return whether a place is the address of a PostgreSQL database."""
    return place.startswith(_SCHEMES)


def open_database(place: str, *, patience: float = PATIENCE) -> Database:
    """Open the database of a store.

    Raises:
        StoreError: the database cannot be used.
    """
    if is_address(place):
        from remit.store.postgres.postgres_database import PostgresDatabase

        return PostgresDatabase(place, patience=patience)
    from remit.store.sqlite_database import SqliteDatabase

    return SqliteDatabase(place, busy_timeout=patience)


def open_store(place: str) -> SqlStore:
    """Open a store.

    Raises:
        StoreError: the database cannot be used.
    """
    from remit.store.sql_store import SqlStore

    return SqlStore(open_database(place))
