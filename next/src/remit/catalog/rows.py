"""The rows in scope, judged: what catalogs and hooks start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.decision import MEMORY_SERVER, REMIT, adopt, server_rows
from remit.trust import judged, trusted_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from remit.config import Configuration
    from remit.decision import Context, Tool
    from remit.store import CatalogRow, Store
    from remit.trust import Lock


def tools_named(
    store: Store, configuration: Configuration, names: Iterable[str], context: Context
) -> list[Tool]:
    """List the tools in scope with one of these canonical names, and the servers that may have them."""
    wanted = dict.fromkeys(form for name in names for form in (name, *server_rows(name)))
    return judged_tools(store.catalog.named(wanted, context), configuration)


def judged_tools(
    rows: Iterable[CatalogRow], configuration: Configuration, *, gateway: bool = False
) -> list[Tool]:
    """Return the tools of rows, with what holds each definition and the status of its server.

    Where memory is off, Remit's own server for it is not there.
    """
    lock = _lock(configuration)
    rows = [row for row in rows if configuration.memory or not _is_memorys(row.tool)]
    tools = [judged(row, lock, configuration.changes) for row in _with_sandboxes(rows, configuration)]
    return adopt(tools, gateway=gateway)


def _is_memorys(tool: Tool) -> bool:
    return tool.server == MEMORY_SERVER and tool.source == REMIT


def _with_sandboxes(rows: Iterable[CatalogRow], configuration: Configuration) -> Iterator[CatalogRow]:
    """Compare the trust in projects' servers with what it covers: their entry and their project's sandbox."""
    for row in rows:
        tool = row.tool
        if tool.is_trusted is None or not configuration.servers:
            yield row
            continue
        options = configuration.options(tool.server or "", tool.plugin, is_projects=True)
        is_trusted = row.trusted is not None and row.trusted == trusted_digest(row.entry, options)
        yield row._replace(tool=tool._replace(is_trusted=is_trusted))


def _lock(configuration: Configuration) -> Lock | None:
    if configuration.lock is None:
        return None
    from remit.trust import Lock  # few projects have one

    content, problem, root = configuration.lock
    return Lock.read(content, root, problem)
