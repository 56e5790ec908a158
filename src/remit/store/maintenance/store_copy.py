"""Copies a store into an empty one, in batches, and verifies each table by count and digest.

The source is only read. A copy that was interrupted continues: tables are filled in a fixed order, so that
the rows that are already there are the first ones of the source.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from remit.errors import StoreCorruptError, StoreUnavailableError
from remit.store.maintenance.table_access import (
    CopyTarget,
    TableAccess,
    TableDigest,
    batches,
    count,
    digest,
    ordered_rows,
)
from remit.store.maintenance.table_model import NO_ROWS, Table, tables

Show = Callable[[str, int], object]  # a table, and how many of its rows are copied


class CopiedTable(NamedTuple):
    """A table that is the same in both stores."""

    name: str
    rows: int
    digest: str


class CopyResult(NamedTuple):
    """A finished copy."""

    source: str
    target: str
    tables: Sequence[CopiedTable]
    is_resumed: bool


def copy_store(source: TableAccess, target: CopyTarget, show: Show = lambda _name, _rows: None) -> CopyResult:
    """Copy all tables, then compare them.

    Raises:
        StoreError: the target is not empty, or differs from the source afterwards.
    """
    begun = target.copied_from()
    if begun is None:
        _require_empty(target)
        with target.transaction():
            for table in tables():
                if table.starting != NO_ROWS:
                    target.clear(table, table.starting)
            target.begin_copy(source.identity)
    elif begun != source.identity:
        raise StoreUnavailableError(
            f"`{target.place}` has an unfinished copy of `{begun}`",
            hint="continue that copy with the same --from, or copy into an empty store",
        )
    for table in tables():
        (_replace if table.is_replaced else _fill)(table, source, target, show)
    found = [CopiedTable(table.name, *_verified(table, source, target)) for table in tables()]
    target.end_copy()
    return CopyResult(source.place, target.place, found, is_resumed=begun is not None)


def _require_empty(target: CopyTarget) -> None:
    filled = [table.name for table in tables() if count(target, table, f"not ({table.starting})")]
    if filled:
        raise StoreUnavailableError(
            f"`{target.place}` is not empty: it has rows in `{'`, `'.join(filled)}`",
            hint="copy into an empty store",
        )


def _fill(table: Table, source: TableAccess, target: CopyTarget, show: Show) -> None:
    for wave in table.waves:
        done = count(target, table, wave)
        for batch in batches(ordered_rows(source, table, wave, after=done)):
            with target.transaction():
                target.insert(table, batch)
            done += len(batch)
            show(table.name, done)


def _replace(table: Table, source: TableAccess, target: CopyTarget, show: Show) -> None:
    with target.transaction():
        target.clear(table)
        for wave in table.waves:
            for batch in batches(ordered_rows(source, table, wave)):
                target.insert(table, batch)
    show(table.name, count(target, table))


def _verified(table: Table, source: TableAccess, target: CopyTarget) -> TableDigest:
    wanted, found = digest(source, table), digest(target, table)
    if wanted != found:
        raise StoreCorruptError(
            f"`{table.name}` differs after the copy ({wanted.rows:,} rows in `{source.place}`, "
            f"{found.rows:,} in `{target.place}`)",
            hint="stop what writes to the stores, empty the target, and copy again",
        )
    return found
