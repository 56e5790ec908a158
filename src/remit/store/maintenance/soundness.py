"""Checks that hold for a store in any database: no orphans, a consistent memory, right digests."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from remit.decision.tools import Definition
from remit.store import row_values
from remit.store.definition_rows import PreparedDefinition
from remit.store.maintenance.table_access import TableAccess
from remit.store.maintenance.table_model import ForeignKey, Table, tables
from remit.store.row_values import DEFINITION_COLUMNS

_SHOWN = 5  # problems of one kind that are listed


class StoreCheck(NamedTuple):
    """One property of a store, and what contradicts it."""

    name: str
    result: str  # if there are no problems
    problems: Sequence[str] = ()


def check_rows(access: TableAccess, outliving: Collection[str] = ()) -> Iterator[StoreCheck]:
    """Check the rows of all tables; those of some may refer to a project that was forgotten."""
    keys = [(table, key) for table in tables() if table.name not in outliving for key in table.references]
    orphans = [problem for table, key in keys for problem in _orphans(access, table, key)]
    yield StoreCheck("references", f"no orphaned rows ({len(keys)} foreign keys)", orphans)
    yield StoreCheck("memory", "the graph of memory is consistent", [*_memory_problems(access)])
    yield _check_definitions(access)


def _orphans(access: TableAccess, table: Table, key: ForeignKey) -> Iterator[str]:
    is_set = " and ".join(f'a."{column}" is not null' for column in key.columns)
    is_same = " and ".join(
        f'b."{target}" = a."{column}"' for column, target in zip(key.columns, key.targets, strict=True)
    )
    query = (
        f"select count(*) from {table.name} a where {is_set} "  # noqa: S608 - from the schema
        f"and not exists (select 1 from {key.table} b where {is_same})"
    )
    if lost := next(access.select(query))[0]:
        yield f"`{table.name}`: {lost:,} rows whose {', '.join(key.columns)} is not in `{key.table}`"


# Each finds what must not be there. A name is shown, never what is remembered.
_MEMORY = {
    "select project, count(*) from memory_nodes where home is null group by project having count(*) > 1": (
        "project `{0}` has {1} roots"
    ),
    "select n.key, n.project from memory_nodes n join memory_nodes h on h.id = n.home "
    "where h.project <> n.project or h.kind <> n.home_kind": "`{0}` of project `{1}` has a home elsewhere",
    "select n.key, n.project from memory_nodes n where n.home is not null and not exists "
    "(select 1 from memory_nodes r where r.project = n.project and r.home is null)": (
        "`{0}` belongs to project `{1}`, which has no root"
    ),
    "select a.key, b.key from memory_edges e join memory_nodes a on a.id = e.source "
    "join memory_nodes b on b.id = e.target where a.project <> e.project or b.project <> e.project": (
        "an edge leads from `{0}` to `{1}` of another project"
    ),
    "select distinct n.key from memory_words w join memory_nodes n on n.id = w.node_id "
    "where w.home <> n.home": "a word of `{0}` is filed in another place",
}


def _memory_problems(access: TableAccess) -> Iterator[str]:
    for query, words in _MEMORY.items():
        found = [words.format(*row) for row in access.select(query)]
        yield from found[:_SHOWN]
        if len(found) > _SHOWN:
            yield f"and {len(found) - _SHOWN:,} more like this"


def _check_definitions(access: TableAccess) -> StoreCheck:
    """Compute each digest again from what is stored."""
    columns = ", ".join(DEFINITION_COLUMNS)
    checked, wrong = 0, list[str]()
    for digest, *values in access.select(f"select digest, {columns} from definitions"):  # noqa: S608 - constants
        checked += 1
        definition = row_values.definition(tuple(values))
        if _digest(definition) != digest:
            wrong.append(f"the definition of `{definition.name}` does not match its digest")
    return StoreCheck("definitions", f"{checked:,} definitions match their digests", wrong[:_SHOWN])


def _digest(definition: Definition) -> str:
    try:
        return PreparedDefinition(definition).digest
    except ValueError:  # its server's own text is not JSON any more
        return ""
