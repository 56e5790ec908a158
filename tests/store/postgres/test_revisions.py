"""The revisions in PostgreSQL: a row for each part and connection, until the connection ends."""

import time
from collections.abc import Callable
from contextlib import closing

import psycopg

from remit.store.open_store import PATIENCE
from support.postgres import Databases, needs_postgres

pytestmark = needs_postgres
ENDED, OTHER = 2_000_000_001, 2_000_000_002  # no process has such ids


def test_rows_of_ended_connections_are_merged_and_their_sums_stay(databases: Databases) -> None:
    from remit.store.postgres.postgres_database import (
        merge_revisions,  # its driver is not installed everywhere
    )

    with psycopg.connect(databases.create(), autocommit=True) as connection:
        connection.execute("set search_path to remit, public")
        own = connection.info.backend_pid

        def rows(*found: tuple[str, int, int]) -> list[tuple[str, int, int]]:
            connection.cursor().executemany("insert into revisions values (%s, %s, %s)", found)
            merge_revisions(connection)
            return connection.execute("select * from revisions order by part, writer").fetchall()

        connection.execute("delete from revisions")
        assert rows(
            ("catalog", own, 1), ("catalog", ENDED, 2), ("catalog", OTHER, 3), ("states", OTHER, 4)
        ) == [
            ("catalog", 0, 5),
            ("catalog", own, 1),
            ("states", 0, 4),
        ]
        assert rows(("states", ENDED, 1)) == [("catalog", 0, 5), ("catalog", own, 1), ("states", 0, 5)]


def test_a_transaction_raises_a_revision_once_and_again_after_a_savepoint_was_rolled_back(
    databases: Databases,
) -> None:
    with psycopg.connect(databases.create(), autocommit=True) as connection:
        connection.execute("set search_path to remit, public")
        set_state = (
            "insert into workflow_states (project_hash, name, set_at, set_by) "
            "select 'p', 'state ' || g, 1, '' from generate_series(%s::int, %s::int) g"
        )

        def number() -> int:
            found = connection.execute("select sum(number) from revisions where part = 'states'").fetchone()
            assert found is not None
            return int(found[0] or 0)

        connection.execute("insert into projects values ('p', '/p', 1)")
        before = number()
        with connection.transaction():
            with connection.transaction(force_rollback=True):
                connection.execute(set_state, [1, 100])
            assert number() == before
            connection.execute(set_state, [1, 100])
            connection.execute(set_state, [101, 200])
        assert number() == before + 1
        connection.execute(set_state, [201, 201])
        assert number() == before + 2


def test_who_listens_knows_what_others_write_without_asking_and_ignores_its_own(databases: Databases) -> None:
    from remit.store.postgres.postgres_database import (
        PostgresDatabase,  # its driver is not installed everywhere
    )

    address = databases.create()

    def opened() -> PostgresDatabase:
        return PostgresDatabase(address, patience=PATIENCE)

    def last_asked() -> object:
        with psycopg.connect(address) as asking:
            found = "select query_start from pg_stat_activity where pid = %s"
            return asking.execute(found, [pid]).fetchall()

    def write(database: PostgresDatabase, state: str) -> None:
        database.run("see_project", project="p", path="/p", at=1)
        database.run("set_state", project="p", name=state, at=1, by="")

    with closing(opened()) as one, closing(opened()) as two:
        pid = one._connection.info.backend_pid  # pyright: ignore[reportPrivateUsage]
        before = one.revision()
        assert one.listen()
        write(one, "own")
        while one.known_revision_of("states") is None:  # until its listener has read them
            assert one.revision() == before
        asked = last_asked()
        write(two, "other")
        until(lambda: one.revision() != before)
        assert last_asked() == asked
        write(one, "own once more")
        changed = one.revision()
        one.follow(lambda: None)
        write(two, "another")
        until(lambda: one.revision() != changed)


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 1
    while not is_so():
        assert time.monotonic() < end
