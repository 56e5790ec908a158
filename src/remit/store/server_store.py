"""Stores the listings of servers, and which servers the user trusts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from remit.decision.declarations import Declaration, Key
from remit.decision.kinds import Authority, Kind
from remit.decision.projects import Workspace
from remit.decision.tool_names import REMIT, storable
from remit.store.database import Database, Row, scope_parameters
from remit.store.definition_rows import PreparedDefinition, find_definition, prepare, store_definition
from remit.store.pin_store import (
    ListedDefinition,
    SqlitePins,
    inspections_beside,
    list_instructions,
    pin_listing,
)
from remit.store.tool_rows import Placement, place_tool
from remit.upstream.upstream_model import Offer, ServerExtras

if TYPE_CHECKING:
    from remit.trust.change_judgement import Inspections


class SqliteServers:
    """Stores servers' listings and trust."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, declaration: Declaration, offer: Offer, workspace: Workspace, at: int) -> None:
        """Store a server's listing; tools missing from it become stale."""
        tools = [prepare(definition) for definition in offer.tools]

        @cache
        def inspections() -> Inspections:
            return inspections_beside(self._database, declaration, offer.tools, workspace)

        # Outside the transaction: inspection takes a millisecond for each new tool, and others want to write.
        for each in tools:
            if declaration.source != REMIT and find_definition(self._database, each) is None:
                inspections().of(each.definition)
        with self._database.transaction():
            _keep(self._database, declaration, offer, tools, inspections, workspace, at)

    def extras(self, workspace: Workspace) -> dict[Key, ServerExtras]:
        """Return what servers offer besides tools, by key, except servers whose entry has changed."""
        found = self._database.rows("server_extras", **scope_parameters(workspace))
        return {tuple(row[:8]): _extras(row[8:]) for row in found}

    @property
    def pins(self) -> SqlitePins:
        """The accepted definitions of their tools."""
        return SqlitePins(self._database)

    def trusts(self, workspace: Workspace) -> dict[Key, str]:
        """Return the trusted digests of the servers in scope, by declaration key."""
        return {
            tuple(row[:-1]): row[-1] for row in self._database.rows("trusts", **scope_parameters(workspace))
        }

    def trust(self, declaration: Declaration, workspace: Workspace, at: int) -> None:
        """Store that the user trusts a server in its current form."""
        with self._database.transaction():
            tool = _row_of(self._database, declaration, workspace)
            if tool is not None:
                self._database.run("trust", tool=tool, digest=declaration.digest, at=at)

    def revoke(self, declaration: Declaration, workspace: Workspace) -> None:
        """Revoke the trust in a server."""
        with self._database.transaction():
            self._database.run("revoke", tool=_row_of(self._database, declaration, workspace))


def _keep(
    database: Database,
    declaration: Declaration,
    offer: Offer,
    tools: Sequence[PreparedDefinition],
    inspections: Callable[[], Inspections],
    workspace: Workspace,
    at: int,
) -> None:
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
    listed: list[ListedDefinition] = []
    for each in tools:
        tool = place_tool(database, each.definition.name, declaration.client, placement, workspace, at)
        stored = store_definition(database, each)
        database.run("define_tool", tool=tool, definition=stored.id, at=at)
        database.run("mark_tool_listed", tool=tool)
        listed.append(ListedDefinition(tool, each.definition, *stored))
    database.run("mark_unlisted", server_id=server, listed=json.dumps([each.tool for each in listed]), at=at)
    if offer.extras is not None:
        text = storable(offer.extras.instructions or "")
        listed.append(list_instructions(database, server, declaration, text))
    if declaration.source != REMIT:  # Remit's own tools change with Remit
        pin_listing(database, server, declaration, listed, inspections, workspace, at)
    database.run(
        "mark_listed",
        server_id=server,
        digest=declaration.digest,
        protocol_version=offer.protocol_version,
        at=at,
    )
    if offer.extras is not None:
        _keep_extras(database, server, declaration, offer.extras, at)
    database.run("forget_unused_definitions")
    database.run("forget_unused_documents")


def _keep_extras(
    database: Database, server: int, declaration: Declaration, extras: ServerExtras, at: int
) -> None:
    database.run(
        "keep_server_extras",
        server_id=server,
        digest=declaration.digest,
        resources=json.dumps(extras.resources),
        templates=json.dumps(extras.templates),
        prompts=json.dumps(extras.prompts),
        capabilities=json.dumps(extras.capabilities),
        instructions=None if extras.instructions is None else storable(extras.instructions),
        at=at,
    )


def _row_of(database: Database, declaration: Declaration, workspace: Workspace) -> int | None:
    """Find the row of a declared server; None if it was deleted in the meantime."""
    found = database.rows(
        "server_row",
        client=declaration.client,
        scope=declaration.scope,
        project_hash=declaration.project_hash,
        dir=declaration.dir,
        agent=declaration.agent,
        server=declaration.server,
        name=declaration.name,
        **scope_parameters(workspace),
    )
    return found[0][0] if found else None


def _extras(row: Row) -> ServerExtras:
    """Read the columns of `server_extras`."""
    resources, templates, prompts, capabilities, instructions = row
    return ServerExtras(
        resources=json.loads(resources),
        templates=json.loads(templates),
        prompts=json.loads(prompts),
        capabilities=json.loads(capabilities),
        instructions=instructions,
    )
