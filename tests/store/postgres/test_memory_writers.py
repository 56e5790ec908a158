"""Writers of one memory in PostgreSQL wait for each other, as they do in SQLite."""

from collections.abc import Generator
from contextlib import closing, suppress

import pytest

from remit.errors import StoreUnavailableError
from remit.store.memory_store import SqlMemory
from support.postgres import Databases, needs_postgres, postgres_databases

pytestmark = needs_postgres


@pytest.fixture
def writers(databases: Databases) -> Generator[tuple[SqlMemory, SqlMemory]]:
    """Open one store twice; the second writer does not wait long."""
    from remit.store.postgres.postgres_database import PostgresDatabase  # not installed everywhere

    address = databases.create()
    with (
        closing(PostgresDatabase(address, patience=5)) as first,
        closing(PostgresDatabase(address, patience=0.01)) as second,
    ):
        yield SqlMemory(first), SqlMemory(second)


def test_a_project_is_created_once_and_others_need_not_wait(writers: tuple[SqlMemory, SqlMemory]) -> None:
    one, other = writers
    with one.transaction():
        assert one.homes("shop") == []
        one.global_home()
        with pytest.raises(StoreUnavailableError, match="locked"), other.transaction():
            other.homes("shop")
        with other.transaction():
            other.create_project("blog", 1)
            other.global_home()
        one.create_project("shop", 1)
    with other.transaction():
        assert [home.kind for home in other.homes("shop")] == ["project"]


def test_a_savepoint_that_fails_gives_its_locks_back(writers: tuple[SqlMemory, SqlMemory]) -> None:
    one, other = writers
    with one.transaction():
        with suppress(KeyError), one.transaction():
            one.homes("shop")
            raise KeyError
        one.homes("shop")
        with pytest.raises(StoreUnavailableError, match="locked"), other.transaction():
            other.homes("shop")


def test_a_database_that_crashes_after_its_first_memories_gives_no_id_twice() -> None:
    """With `wal_level = minimal`, a sequence used by the transaction that made it falls back in a crash."""
    from remit.store.postgres.postgres_database import PostgresDatabase  # not installed everywhere

    with postgres_databases() as databases:
        address = databases.create_empty()
        for project in ("before", "after"):
            with closing(PostgresDatabase(address, patience=5)) as database:
                home = SqlMemory(database).create_project(project, 1)
            databases.server.kill()
            databases.server.start()
        assert home.id > 2
