"""Tools in scope, and projects: what every list starts from."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from remit.decision import (
    AgentProfile,
    Authority,
    Context,
    Definition,
    Kind,
    Project,
    Scope,
    Status,
    Tool,
    Winner,
    Workspace,
    classify,
    needs_trust,
)
from remit.store.database import Database, Row, scope_parameters

# Dictionary lookups: calling an enum takes as long as the rest of a row.
KINDS = {kind.value: kind for kind in Kind}
SCOPES = {scope.value: scope for scope in Scope}
STATUSES = {status.value: status for status in Status}
_NEVER_SENT = (Kind.MCP_SERVER, Kind.PLUGIN)  # the model gets their tools instead


class CatalogRow(NamedTuple):
    """A tool in scope, and what decides whether its definition is held."""

    tool: Tool
    entry: str | None  # digest of its server's entry now


class CatalogStore:
    """Reads tools in scope."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rows(self, context: Context) -> list[CatalogRow]:
        """List the tools in scope of a context's workspace, and the names that were only seen there."""
        workspace = context.workspace
        parameters = {**scope_parameters(workspace), "workspace": workspace.dir, "flags": context.flags.key}
        rows = [_row(row, workspace) for row in self._database.rows("catalog", **parameters)]
        named = {(row.tool.client, row.tool.name) for row in rows}
        seen = self._database.rows("seen", project=workspace.project.hash)
        return [*rows, *(CatalogRow(_seen(row), None) for row in seen if (row[0], row[1]) not in named)]

    def definitions(self, digests: Iterable[str], workspace: Workspace) -> dict[str, Definition]:
        """Return definitions in scope by digest."""
        rows = self._database.rows(
            "definitions", digests=json.dumps(list(digests)), **scope_parameters(workspace)
        )
        return {row[0]: Definition(*row) for row in rows}

    def projects(self) -> list[Project]:
        """List every project that was seen."""
        return [Project(path, hash) for hash, path in self._database.rows("projects")]

    def revision(self) -> int:
        """Return a number that changes with the data of catalogs."""
        return self._database.revision("catalog")


def _row(row: Row, workspace: Workspace) -> CatalogRow:
    (client, kind, scope, project_hash, dir, agent, server, name, plugin, source, status) = row[:11]
    (winner_scope, winner_source, winner, trusted, entry, description, profile) = row[11:18]
    (danger, tokens, digest, listed_at, failure, uses, used_at, outcomes, is_read) = row[18:]
    is_judged = kind in _SERVED and needs_trust(SCOPES[scope], project_hash, source, workspace)
    # Positional, because keywords take three times as long.
    tool = Tool(
        client,
        KINDS[kind],
        SCOPES[scope],
        project_hash,
        dir,
        agent,
        server,
        name,
        plugin,
        source,
        Authority.CONFIG,
        STATUSES[status] if status and is_read else Status.STALE,
        Winner(SCOPES[winner_scope], winner_source, winner) if winner_scope else None,
        (trusted is not None and trusted == entry) if is_judged else None,
        None,
        description,
        read_profile(profile),
        danger,
        None if KINDS[kind] in _NEVER_SENT else tokens,
        digest,
        listed_at,
        failure,
        kind == "mcp_tool",
        uses or 0,
        used_at,
        outcomes or "",
    )
    return CatalogRow(tool, entry)


_SERVED = ("mcp_server", "mcp_tool")


def _seen(row: Row) -> Tool:
    client, name, authority, description, digest, tokens, uses, used_at, outcomes = row
    kind, scope, server = classify(name)
    return Tool(
        client, kind, scope, None, None, None, server, name,
        authority=Authority(authority), status=Status.SEEN, description=description, tokens=tokens,
        definition=digest, uses=uses or 0, last_used_at=used_at, outcomes=outcomes or "",
    )  # fmt: skip


def read_profile(text: str | None) -> AgentProfile | None:
    """Read an agent's profile from JSON."""
    if text is None:
        return None
    fields: Mapping[str, Any] = json.loads(text)
    return AgentProfile(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    )
