"""Proves that a store is sound: its schema, what protects its rows, and the rows themselves."""

from collections.abc import Iterator
from typing import Any

import apsw

from remit.configuration.store_place import is_address
from remit.errors import StoreCorruptError
from remit.store.maintenance.soundness import StoreCheck, check_rows
from remit.store.open_store import require_driver
from remit.store.sqlite.sqlite_access import SqliteAccess, read_sqlite

_FIRST = 10  # lines of SQLite's own check


def check_store(place: str) -> list[StoreCheck]:
    """Check a store without changing it.

    Raises:
        StoreError: it cannot be read at all.
    """
    if is_address(place):
        require_driver()
        from remit.store.postgres.postgres_check import check_postgres

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
    except apsw.Error as error:
        raise StoreCorruptError(f"`{access.place}` is damaged: {error}") from error
    yield StoreCheck("integrity", "pages and indexes agree", [] if found == ["ok"] else found[:_FIRST])
    broken = sum(1 for _ in access.select("select * from pragma_foreign_key_check"))
    yield StoreCheck("foreign keys", "all hold", [f"{broken:,} rows break a foreign key"] if broken else [])
    yield StoreCheck("word indexes", "agree with their texts", [*_word_index_problems(access.place)])


def _word_index_problems(path: str) -> Iterator[str]:
    """Compare the word indexes with their texts; the statement writes nothing, but needs a writer's lock."""
    connection: Any = apsw.Connection(path)
    connection.set_busy_timeout(30_000)
    try:
        for name in ("documents_by_word", "memory_by_word"):
            connection.execute("begin immediate")
            try:
                connection.execute(f"insert into {name} ({name}, rank) values ('integrity-check', 1)")  # noqa: S608 - constants
            except apsw.CorruptError:
                yield f"`{name}` differs from its texts"
            finally:
                connection.execute("rollback")
    finally:
        connection.close()
