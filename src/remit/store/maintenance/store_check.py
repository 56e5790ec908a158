"""Proves that a store is sound: its schema, what protects its rows, and the rows themselves."""

from collections.abc import Iterator

from remit.errors import StoreCorruptError
from remit.settings import is_address
from remit.store.maintenance.soundness import StoreCheck, check_rows
from remit.store.maintenance.sqlite_access import SqliteAccess, read_sqlite
from remit.store.open_store import require_driver

_FIRST = 10  # lines of SQLite's own check


def check_store(place: str) -> list[StoreCheck]:
    """Check a store without changing it.

    Raises:
        StoreError: it cannot be read at all.
    """
    if is_address(place):
        require_driver()
        from remit.store.maintenance.postgres_check import check_postgres

        return check_postgres(place)
    access = read_sqlite(place)
    try:
        return [*_check_file(access), *check_rows(access)]
    finally:
        access.close()


def _check_file(access: SqliteAccess) -> Iterator[StoreCheck]:
    version = access.connection.pragma("user_version")
    yield StoreCheck("schema", f"version {version}")
    try:
        found = [str(line) for (line,) in access.select("select * from pragma_integrity_check")]
    except Exception as error:  # each kind of damage has an error of its own
        raise StoreCorruptError(f"`{access.place}` is damaged: {error}") from error
    problems = [] if found == ["ok"] else found[:_FIRST]
    yield StoreCheck("integrity", "pages, indexes and word indexes agree", problems)
    broken = sum(1 for _ in access.select("select * from pragma_foreign_key_check"))
    yield StoreCheck("foreign keys", "all hold", [f"{broken:,} rows break a foreign key"] if broken else [])
