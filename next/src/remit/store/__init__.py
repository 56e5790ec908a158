"""Keeps everything in a database: one class for a few tables, queries by name, the scope in each of them."""

from functools import cached_property

# pyright: reportUnusedImport=false
TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.store.catalog import CatalogRow, CatalogStore
    from remit.store.database import Database, Row, Value, key_parameters, scope_parameters
    from remit.store.listings import ListingStore
    from remit.store.scans import Changes, Problem, Reading, ScanStore
    from remit.store.sqlite import SqliteDatabase

_HOMES = {
    "CatalogRow": "catalog",
    "CatalogStore": "catalog",
    "Changes": "scans",
    "Database": "database",
    "ListingStore": "listings",
    "Problem": "scans",
    "Reading": "scans",
    "Row": "database",
    "ScanStore": "scans",
    "SqliteDatabase": "sqlite",
    "Value": "database",
    "key_parameters": "database",
    "scope_parameters": "database",
}


class Store:
    """The groups of a database, each loaded on first use; it belongs to the thread that opened it."""

    def __init__(self, database: "Database") -> None:
        self.database = database

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    @cached_property
    def catalog(self) -> "CatalogStore":
        """Tools in scope, and projects."""
        from remit.store.catalog import CatalogStore

        return CatalogStore(self.database)

    @cached_property
    def scans(self) -> "ScanStore":
        """What the files of clients say."""
        from remit.store.scans import ScanStore

        return ScanStore(self.database)

    @cached_property
    def listings(self) -> "ListingStore":
        """The lists of servers."""
        from remit.store.listings import ListingStore

        return ListingStore(self.database)


def open_store(path: str, *, patience: float = 30.0, durable: bool = False) -> Store:
    """Open a store in an SQLite file.

    Raises:
        StoreError: the database cannot be used.
    """
    from remit.store.sqlite import SqliteDatabase

    return Store(SqliteDatabase(path, patience=patience, durable=durable))


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(f"remit.store.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.store` has no attribute `{name}`")
