"""The revisions in PostgreSQL: a row for each part and connection, until the connection ends."""

import psycopg

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
