"""Stores the listings of servers, and which servers the user trusts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from remit.decision.declarations import Declaration, Key
from remit.decision.kinds import Authority, Kind
from remit.decision.projects import Workspace
from remit.store import row_values
from remit.store.database import Database, Row, Value, key_parameters, scope_parameters
from remit.store.definition_rows import (
    PreparedDefinition,
    StoredDefinition,
    find_definitions,
    store_definitions,
)
from remit.store.pin_store import SqlPins, definitions_of, pin_listing, read_pins
from remit.store.prepared_server_list import PreparedServerList
from remit.store.tool_rows import Placement, place_tool, undeclared_names
from remit.trust.held_definitions import separated
from remit.trust.server_list_comparison import ListedDefinition, ServerPins
from remit.upstream.upstream_model import Offer, ServerExtras

if TYPE_CHECKING:
    from remit.decision.tools import Definition

_NAMED = (("resource", "uri"), ("resource template", "uriTemplate"), ("prompt", "name"))
_MANY = 500  # tools


class SqlServers:
    """Stores servers' listings and trust."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, declaration: Declaration, offer: Offer, workspace: Workspace, at: int) -> None:
        """Store a server's listing; tools missing from a complete one become stale."""
        listing = PreparedServerList(declaration, offer)
        self.compare(listing, workspace)
        listing.judge()
        self.keep_judged(listing, workspace, at)

    def compare(self, listing: PreparedServerList, workspace: Workspace) -> None:
        """Tell a listing what is stored, so that it can be judged without the store."""
        database, declaration = self._database, listing.declaration
        stored = find_definitions(database, listing.definitions)
        server = _row_of(database, declaration, workspace)
        pins = ServerPins() if server is None else read_pins(database, server, declaration, workspace)
        if waiting := listing.learn(stored, pins):
            ids = {pins.by_name[name].accepted_id for name in waiting if name in pins.by_name}
            found = {id: each for id, each in definitions_of(database, workspace, ids).items() if id}
            listing.learn_more(found, definitions_beside(database, declaration, workspace))

    def keep_judged(self, listing: PreparedServerList, workspace: Workspace, at: int) -> None:
        """Store a listing that was compared and judged."""
        with self._database.transaction():
            _keep(self._database, listing, workspace, at)
        if len(listing.tools) >= _MANY:
            self._database.rows("refresh_statistics")

    def extras(self, workspace: Workspace) -> dict[Key, ServerExtras]:
        """Return what servers offer besides tools, by key, except servers whose entry has changed."""
        found = self._database.rows("server_extras", **scope_parameters(workspace))
        return {tuple(row[:8]): _extras(row[8:]) for row in found}

    @property
    def pins(self) -> SqlPins:
        """The accepted definitions of their tools."""
        return SqlPins(self._database)

    def trusts(self, workspace: Workspace) -> dict[Key, str]:
        """Return the trusted digests of the servers in scope, by declaration key."""
        return {
            tuple(row[:-1]): row[-1] for row in self._database.rows("trusts", **scope_parameters(workspace))
        }

    def trusted_entries(self, workspace: Workspace) -> dict[Key, str]:
        """Return the entries that the user trusted, as far as they are known, by declaration key."""
        rows = self._database.rows("trusted_entries", **scope_parameters(workspace))
        return {tuple(row[:-1]): row[-1] for row in rows}

    def trust(
        self,
        declaration: Declaration,
        workspace: Workspace,
        at: int,
        *,
        sandbox: str | None,
        entry: str | None = None,
    ) -> None:
        """Store that the user trusts a server in its current form and, if its project says so, sandbox.

        `entry` is what people read of it, without secrets.
        """
        with self._database.administrator() as database, database.transaction():
            tool = _row_of(database, declaration, workspace)
            if tool is not None:
                digest = declaration.digest
                database.run("trust", tool=tool, digest=digest, sandbox=sandbox, entry=entry, at=at)

    def revoke(self, declaration: Declaration, workspace: Workspace) -> None:
        """Revoke the trust in a server."""
        with self._database.administrator() as database, database.transaction():
            database.run("revoke", tool=_row_of(database, declaration, workspace))


def _keep(database: Database, listing: PreparedServerList, workspace: Workspace, at: int) -> None:
    declaration, offer = listing.declaration, listing.offer
    server = _row_of(database, declaration, workspace)
    if server is None:
        return
    if offer.failure is not None:  # keep the tools listed before
        database.run("mark_failed", server_id=server, reason=offer.failure.reason, digest=declaration.digest)
        return
    placement = Placement(
        kind=Kind.MCP_TOOL,
        scope=declaration.scope,
        project_hash=declaration.project_hash,
        dir=declaration.dir,
        server=declaration.server,
        server_id=server,
        source=declaration.source,
        authority=Authority.CONFIG,
        agent=declaration.agent,
    )
    stored = store_definitions(database, listing.definitions)
    rows = _keep_tools(database, listing, placement, stored, workspace, at)
    if not offer.is_partial:
        database.run("mark_unlisted", server_id=server, listed=json.dumps(list(rows)), at=at)
    if listing.instructions is not None:
        rows[server] = listing.instructions
    listed = {row: ListedDefinition(each.definition, *stored[each.digest]) for row, each in rows.items()}
    if listing.is_pinned:
        pin_listing(database, server, declaration, listed, listing.judgement, workspace, at)
    digest = declaration.digest
    version = offer.protocol_version
    database.run("mark_listed", server_id=server, digest=digest, protocol_version=version, at=at)
    if listing.extras is not None:
        database.run("keep_server_extras", server_id=server, digest=digest, at=at, **listing.extras)
    database.run("forget_unused_definitions")
    database.run("forget_unused_documents")


def _keep_tools(
    database: Database,
    listing: PreparedServerList,
    placement: Placement,
    stored: Mapping[str, StoredDefinition],
    workspace: Workspace,
    at: int,
) -> dict[int, PreparedDefinition]:
    """Write the tools that changed, and return all by their rows.

    A list may have thousands of tools, and each new session lists them again.
    """
    client = listing.declaration.client
    tools = {each.definition.name: each for each in listing.tools}
    place = {**placement._asdict(), "client": client}
    known = _tools_of_server(database, place, workspace)
    new = [name for name in tools if name not in known]
    if new:
        database.run_each("add_tools", [{**place, "name": name, "at": at} for name in new])
        known = _tools_of_server(database, place, workspace)
    for name in tools.keys() & undeclared_names(database, client, workspace):
        place_tool(database, name, client, placement, workspace, at)
    rows = {name: (row, stored[tools[name].digest].id) for name, (row, _) in known.items() if name in tools}
    changed = [found for name, found in rows.items() if found != known[name]]
    if changed:
        written = json.dumps([{"tool": row, "definition": id} for row, id in changed])
        database.run("list_tools", listed=written, at=at)
    return {rows[name][0]: each for name, each in tools.items()}


def _tools_of_server(
    database: Database, place: Mapping[str, Value], workspace: Workspace
) -> dict[str, tuple[int, int | None]]:
    """Read the rows of a server's tools, and which definitions are listed for them, by name."""
    found = database.rows("tools_of_server", **place, **scope_parameters(workspace))
    return {name: (row, definition) for name, row, definition in found}


def definitions_beside(
    database: Database, declaration: Declaration, workspace: Workspace
) -> list[Definition]:
    """Read the definitions of the tools of all other servers."""
    found = database.rows(
        "definitions_beside",
        client=declaration.client,
        server=declaration.server,
        **scope_parameters(workspace),
    )
    return [row_values.definition(row) for row in found]


def _row_of(database: Database, declaration: Declaration, workspace: Workspace) -> int | None:
    """Find the row of a declared server; None if it was deleted in the meantime."""
    key = key_parameters(declaration.key)
    found = database.rows("row_of_key", **key, **scope_parameters(workspace))
    return found[0][0] if found else None


def _extras(row: Row) -> ServerExtras:
    """Read the columns of `server_extras`."""
    *lists, capabilities, instructions = row
    read = [separated(json.loads(items), *named) for items, named in zip(lists, _NAMED, strict=True)]
    (resources, _), (templates, _), (prompts, _) = read
    return ServerExtras(
        resources=resources,
        templates=templates,
        prompts=prompts,
        capabilities=json.loads(capabilities),
        instructions=instructions,
        withheld=tuple(item for _, withheld in read for item in withheld),
    )
