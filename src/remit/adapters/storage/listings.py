"""Keeps what servers say of their tools: definitions once by content, and which tools each server lists."""

import json
from dataclasses import fields
from hashlib import sha256

from remit.adapters.storage import usage
from remit.adapters.storage.database import Database, seen_from
from remit.core.danger import by_annotations
from remit.core.declarations import Declaration
from remit.core.kinds import Authority, Kind
from remit.core.names import storable
from remit.core.projects import Workspace
from remit.core.tokens import definition_tokens
from remit.core.tools import Definition
from remit.core.upstreams import Offer, Wares

# Not `asdict`, which copies deeply: a first scan defines hundreds of commands and skills.
_FIELDS = tuple(field.name for field in fields(Definition))


def define(database: Database, definition: Definition) -> int:
    """Find or make the row of a definition."""
    content = {name: getattr(definition, name) for name in _FIELDS}
    # Some servers write their keys in another order each time: what was kept first stays.
    told = {**content, "raw": None if definition.raw is None else json.loads(definition.raw)}
    digest = sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    danger = by_annotations(definition.annotations)
    tokens = definition_tokens(definition.name, definition.description, definition.input_schema)
    return database.rows("define", digest=digest, danger=danger, tokens=tokens, **content)[0][0]


def server_row(database: Database, declaration: Declaration, workspace: Workspace) -> int | None:
    """Find the row of a server that is declared in a workspace; None where it was forgotten meanwhile."""
    found = database.rows(
        "server_row",
        client=declaration.client,
        scope=declaration.scope,
        project_hash=declaration.project_hash,
        dir=declaration.dir,
        server=declaration.server,
        name=declaration.name,
        **seen_from(workspace),
    )
    return found[0][0] if found else None


def keep(database: Database, declaration: Declaration, offer: Offer, workspace: Workspace, at: int) -> None:
    """Keep what came of asking a server, inside a transaction; a tool that it no longer lists is stale."""
    server = server_row(database, declaration, workspace)
    if server is None:
        return
    if offer.failure is not None:  # what it listed before stays
        database.run("mark_failed", server_id=server, reason=offer.failure.reason, digest=declaration.digest)
        return
    placement = usage.Placement(
        kind=Kind.MCP_TOOL,
        scope=declaration.scope,
        project_hash=declaration.project_hash,
        dir=declaration.dir,
        server=declaration.server,
        server_id=server,
        source=declaration.source,
        authority=Authority.CONFIG,
    )
    listed: list[int] = []
    for definition in offer.tools:
        tool = usage.place(database, definition.name, declaration.client, placement, workspace, at)
        database.run("define_tool", tool=tool, definition=define(database, definition), at=at)
        database.run("relist", tool=tool)
        listed.append(tool)
    database.run("mark_unlisted", server_id=server, listed=json.dumps(listed), at=at)
    database.run(
        "mark_listed",
        server_id=server,
        digest=declaration.digest,
        protocol_version=offer.protocol_version,
        at=at,
    )
    if offer.wares is not None:
        _keep_wares(database, server, declaration, offer.wares, at)
    database.run("forget_unused_definitions")
    database.run("forget_unused_documents")


def _keep_wares(database: Database, server: int, declaration: Declaration, wares: Wares, at: int) -> None:
    database.run(
        "keep_wares",
        server_id=server,
        digest=declaration.digest,
        resources=json.dumps(wares.resources),
        templates=json.dumps(wares.templates),
        prompts=json.dumps(wares.prompts),
        capabilities=json.dumps(wares.capabilities),
        instructions=None if wares.instructions is None else storable(wares.instructions),
        at=at,
    )
