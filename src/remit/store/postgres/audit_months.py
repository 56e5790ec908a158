"""Drops old months of the audit log in PostgreSQL, as its owner; the rest of each chain stays verifiable."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from remit.errors import StoreUnavailableError
from remit.store.postgres import postgres_schema
from remit.store.postgres.postgres_access import connect, require_current
from remit.store.postgres.postgres_address import shown

_PREFIX = "audit_"
# A database whose clock was set back may have recorded an entry in a month before that of an earlier one.
_MOVE_LATE = """
update audit set recorded_at = %(end)s
where recorded_at < %(end)s and id > (
    select min(a.id) from audit a where a.project_hash = audit.project_hash and a.recorded_at >= %(end)s
)"""
_ANCHOR = """
insert into audit_anchors (project_hash, chain, entries, until)
select distinct on (project_hash)
    project_hash, chain, count(*) over (partition by project_hash), called_at
from audit where recorded_at < %(end)s
order by project_hash, id desc
on conflict (project_hash) do update set
    chain = excluded.chain, entries = audit_anchors.entries + excluded.entries, until = excluded.until"""


class AuditMonth(NamedTuple):
    """A partition whose month is over."""

    table: str
    label: str  # such as 2026-11
    end: int  # Unix milliseconds
    rows: int


def old_months(address: str, before: int) -> list[AuditMonth]:
    """List the months that ended before a time.

    Raises:
        StoreError: the store cannot be used, or this is not its owner.
    """
    with _owning(address) as connection:
        return _months(connection, before)


def drop_months(address: str, before: int) -> None:
    """Drop the months that ended before a time, and keep the digests that the next entries follow.

    Raises:
        StoreError: the store cannot be used, or this is not its owner.
    """
    with _owning(address) as connection, connection.transaction():
        connection.execute("set local lock_timeout = '10s'")
        for month in _months(connection, before):
            connection.execute(_MOVE_LATE, {"end": month.end})
            connection.execute(_ANCHOR, {"end": month.end})
            connection.execute(sql.SQL("drop table {}").format(sql.Identifier(month.table)))


def _months(connection: "psycopg.Connection[Any]", before: int) -> list[AuditMonth]:
    connection.execute("select prepare_audit()")  # files what waits for its month
    found: list[AuditMonth] = []
    for table in postgres_schema.partitions(connection):
        year, _, number = table.removeprefix(_PREFIX).partition("_")
        if not (year.isdigit() and number.isdigit()):
            continue  # what has no month
        end = _start(int(year) + int(number) // 12, int(number) % 12 + 1)
        if end <= before:
            count = sql.SQL("select count(*) from {}").format(sql.Identifier(table))
            found.append(
                AuditMonth(table, f"{year}-{number}", end, connection.execute(count).fetchall()[0][0])
            )
    return found


def _start(year: int, month: int) -> int:
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp()) * 1000


@contextmanager
def _owning(address: str) -> "Generator[psycopg.Connection[Any]]":
    """Connect as the owner of the audit log, with the entries of all projects visible."""
    connection = connect(address)
    try:
        require_current(connection, shown(address))
        owned = (
            "select pg_has_role(current_user, relowner, 'usage') from pg_class where oid = 'audit'::regclass"
        )
        if connection.execute(owned).fetchall() != [(True,)]:
            raise StoreUnavailableError(
                f"the user of `{shown(address)}` may not delete audit entries",
                hint="run this with the address of the owner of the store",
            )
        connection.execute("select set_config('remit.everything', 'on', false)")
        yield connection
    finally:
        connection.close()
