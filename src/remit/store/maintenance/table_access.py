"""The interface by which a copy and a check read and write the tables of a store."""

import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple, Protocol

from remit.store.maintenance.table_model import Table

BATCH = 1_000  # rows of a transaction
_SIZE = 2**256

Row = tuple[Any, ...]


class TableAccess(Protocol):
    """A store, opened to be copied or checked: all rows of all projects."""

    @property
    def place(self) -> str: ...  # without user and password

    @property
    def identity(self) -> str: ...  # the same for the same store

    def close(self) -> None: ...

    def select(self, query: str) -> Iterator[Row]: ...  # in SQL that both databases understand

    def insert(self, table: Table, rows: Sequence[Row]) -> None: ...

    def transaction(self) -> AbstractContextManager[object]: ...


class CopyTarget(TableAccess, Protocol):
    """A store that another one is copied into."""

    def copied_from(self) -> str | None: ...  # the identity of a source; None: no copy was begun

    def begin_copy(self, source: str) -> None: ...

    def end_copy(self) -> None: ...  # numbers of new rows continue behind the copied ones

    def clear(self, table: Table, condition: str = "1 = 1") -> None: ...


class TableDigest(NamedTuple):
    """The number of rows, and a digest that does not depend on their order."""

    rows: int
    digest: str


def columns_of(table: Table) -> str:
    """Write the columns of a table in SQL."""
    return ", ".join(f'"{name}"' for name in table.columns)


def count(access: TableAccess, table: Table, condition: str = "1 = 1") -> int:
    """Count rows."""
    return next(access.select(f"select count(*) from {table.name} where {condition}"))[0]  # noqa: S608 - from the schema


def ordered_rows(access: TableAccess, table: Table, wave: str, *, after: int = 0) -> Iterator[Row]:
    """Read the rows of a wave in the order of their key, without the first ones."""
    key = ", ".join(f'"{name}"' for name in table.key)
    return access.select(
        f"select {columns_of(table)} from {table.name} where {wave} "  # noqa: S608 - from the schema
        f"order by {key} limit {2**62} offset {after}"
    )


def digest(access: TableAccess, table: Table) -> TableDigest:
    """Count and digest all rows of a table that a copy has."""
    rows, total = 0, 0
    kept = " or ".join(f"({wave})" for wave in table.waves)
    for row in access.select(f"select {columns_of(table)} from {table.name} where {kept}"):  # noqa: S608 - from the schema
        rows += 1
        text = json.dumps([storable(value) for value in row])
        total = (total + int.from_bytes(sha256(text.encode()).digest())) % _SIZE
    return TableDigest(rows, f"{total:064x}")


def storable(value: object) -> object:
    """Replace the character NUL, which PostgreSQL cannot store."""
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


def batches(rows: Iterable[Row]) -> Generator[list[Row]]:
    """Split rows into batches."""
    left = iter(rows)
    while batch := list(islice(left, BATCH)):
        yield batch
