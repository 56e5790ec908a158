"""A store in memory, and short ways to scan files, to list tools and to look inside."""

from typing import Any

from remit.decision import Declaration, Definition, Offer, Resolved, Tool, View, Workspace
from remit.store import PreparedDefinition, Reading, Store, make_definition, open_store
from support.builders import CLIENT, SHOP, context


def memory_store() -> Store:
    return open_store(":memory:")


def sql(store: Store, statement: str, **values: Any) -> list[tuple[Any, ...]]:
    """Run a statement past the store's queries."""
    return store.database._connection.execute(statement, values).fetchall()  # type: ignore[attr-defined]


def scan(store: Store, *declarations: Declaration, workspace: Workspace = SHOP, **fields: Any) -> None:
    """Store that a workspace's files declare these and nothing else."""
    resolved = [Resolved(declaration, None) for declaration in declarations]
    store.scans.save(Reading(resolved, {"/files": "1"}, **fields), View(CLIENT, workspace), at=1)


def definition(name: str, server: str = "git", **raw: Any) -> Definition:
    tool = name.rpartition("__")[2]
    return make_definition(name, server, tool, raw.get("description"), {"name": tool, **raw})


def prepared(item: Definition, *, by: str | None = "sight", **fields: Any) -> PreparedDefinition:
    return PreparedDefinition(item, f"pin of {item.raw}", accepted_by=by, **fields)


def keep_list(
    store: Store,
    declaration: Declaration,
    *items: PreparedDefinition,
    workspace: Workspace = SHOP,
    at: int = 2,
) -> None:
    """Store that a server lists these tools and nothing else."""
    offer = Offer([item.definition for item in items if item.is_listed])
    store.listings.keep(declaration, offer, items, workspace, at)


def names(store: Store, workspace: Workspace = SHOP) -> list[str]:
    return [tool.name for tool in tools(store, workspace)]


def tools(store: Store, workspace: Workspace = SHOP) -> list[Tool]:
    return [row.tool for row in store.catalog.rows(context(workspace))]
