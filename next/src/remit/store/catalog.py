"""Tools in scope, and projects: what every list starts from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from remit.decision import (
    AgentProfile,
    Authority,
    Definition,
    Kind,
    Project,
    Scope,
    Status,
    Tool,
    Winner,
    classify,
    needs_trust,
)
from remit.store.database import Database, Row, place_parameters, scope_parameters

if TYPE_CHECKING:  # what a context refers to takes longer to load than a hook's whole work
    from remit.decision import Context, Workspace

# Dictionary lookups: calling an enum takes as long as the rest of a row.
KINDS = {kind.value: kind for kind in Kind}
SCOPES = {scope.value: scope for scope in Scope}
STATUSES = {status.value: status for status in Status}
_NEVER_SENT = (Kind.MCP_SERVER, Kind.PLUGIN)  # the model gets their tools instead
_SERVED = (Kind.MCP_SERVER, Kind.MCP_TOOL)


class Accepted(NamedTuple):
    """The accepted definition of a tool, or the accepted instructions of a server."""

    pin: str
    digest: str
    entry: str | None  # digest of the server's entry that listed it
    by: str
    at: int
    danger: int | None = None  # that the definition states


class CatalogRow(NamedTuple):
    """A tool in scope, and what decides whether its definition is held."""

    tool: Tool
    entry: str | None = None  # digest of its server's entry now
    trusted: str | None = None  # digest of the entry that the user trusts
    listed_entry: str | None = None  # digest of the entry that its server was last listed with; None: never
    definition: str | None = None  # digest of the current definition; of a server, of its instructions
    pin: str | None = None  # of the same
    findings: str | None = None  # of the inspection of the same, as JSON
    accepted: Accepted | None = None


class _Uses(NamedTuple):
    """The uses of a name in a project."""

    uses: int
    last_used_at: int
    outcomes: str


class CatalogStore:
    """Reads tools in scope."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rows(self, context: Context) -> list[CatalogRow]:
        """List the tools in scope of a context's workspace, and the names that were only seen there."""
        workspace = context.workspace
        used = self._uses(workspace)
        stored = self._database.rows("catalog", **_parameters(context))
        rows = [_row(row, workspace, used) for row in stored]
        if used:
            _add_up(rows, stored)
        named = {(row.tool.client, row.tool.name) for row in rows}
        seen = self._database.rows("seen", project=workspace.project.hash)
        return [*rows, *(CatalogRow(_seen(row, used)) for row in seen if (row[0], row[1]) not in named)]

    def named(self, names: Iterable[str], context: Context) -> list[CatalogRow]:
        """List the tools in scope with one of these names, without their uses."""
        parameters = _parameters(context)
        rows = self._database.rows("catalog_named", names=json.dumps(list(names)), **parameters)
        return [_row(row, context.workspace, {}) for row in rows]

    def definitions(self, digests: Iterable[str], workspace: Workspace) -> dict[str, Definition]:
        """Return definitions in scope by digest: current, accepted and reported ones."""
        listed = json.dumps(list(digests))
        rows = self._database.rows("definitions", digests=listed, **scope_parameters(workspace))
        return {row[0]: Definition(*row) for row in rows}

    def projects(self) -> list[Project]:
        """List every project that was seen."""
        return [Project(*row) for row in self._database.rows("projects")]

    def elsewhere(self, name: str, workspace: Workspace) -> list[Project]:
        """List the other projects in which a name is declared; for people only."""
        rows = self._database.rows("declared_elsewhere", name=name, project=workspace.project.hash)
        return [Project(*row) for row in rows]

    def forget(self, project: Project) -> None:
        """Erase everything that is stored about a project, its memory too."""
        with self._database.transaction(changes="catalog"):
            self._database.rows("forget_project", project=project.hash)
            self._database.rows("forget_unused_definitions")
        self._database.erase()

    def revision(self) -> int:
        """Return a number that changes with the data of catalogs."""
        return self._database.revision("catalog")

    def _uses(self, workspace: Workspace) -> dict[tuple[str, str], _Uses]:
        rows = self._database.rows("uses_of_names", project=workspace.project.hash)
        return {(client, name): _Uses(*uses) for client, name, *uses in rows}


def _parameters(context: Context) -> dict[str, str]:
    workspace = context.workspace
    return {**scope_parameters(workspace), **place_parameters(workspace), "flags": context.flags.key}


def _row(row: Row, workspace: Workspace, used: Mapping[tuple[str, str], _Uses]) -> CatalogRow:
    (_, server_id, client, kind, scope, project_hash, dir, agent, server, name, plugin, source, status) = row[
        :13
    ]
    (winner_scope, winner_source, winner, trusted, entry, listed_entry, description, profile) = row[13:21]
    (danger, tokens, digest, listed_at, failure, is_read, pin, findings, accepted_pin) = row[21:30]
    kind, scope = KINDS[kind], SCOPES[scope]
    uses = used.get((client, name))
    is_judged = kind in _SERVED and needs_trust(scope, project_hash, source, workspace)
    is_sent = kind not in _NEVER_SENT  # what a server's row says are its instructions
    # Positional, because keywords take three times as long.
    tool = Tool(
        client,
        kind,
        scope,
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
        None if profile is None else read_profile(profile),
        danger if is_sent else None,
        tokens if is_sent else None,
        digest if is_sent else None,
        listed_at,
        failure,
        server_id is not None,
        0 if uses is None else uses[0],
        None if uses is None else uses[1],
        "" if uses is None else uses[2],
    )
    accepted = None if accepted_pin is None else Accepted(*row[29:])
    return CatalogRow(tool, entry, trusted, listed_entry, digest, pin, findings, accepted)


def _add_up(rows: list[CatalogRow], stored: list[Row]) -> None:
    """Count the uses of a server's tools as its own."""
    places = {row[0]: at for at, row in enumerate(stored)}
    for (_, server_id, *_), (tool, *_) in zip(stored, list(rows), strict=True):
        if server_id is None or not tool.uses:
            continue
        at = places[server_id]
        server = rows[at].tool
        last = max(server.last_used_at or 0, tool.last_used_at or 0)
        rows[at] = rows[at]._replace(tool=server._replace(uses=server.uses + tool.uses, last_used_at=last))


def _seen(row: Row, used: Mapping[tuple[str, str], _Uses]) -> Tool:
    client, name, authority, description, digest, tokens = row
    kind, scope, server = classify(name)
    uses = used.get((client, name), _Uses(0, 0, ""))
    return Tool(
        client, kind, scope, None, None, None, server, name,
        authority=Authority(authority), status=Status.SEEN, description=description, tokens=tokens,
        definition=digest, uses=uses.uses, last_used_at=uses.last_used_at or None, outcomes=uses.outcomes,
    )  # fmt: skip


def read_profile(text: str) -> AgentProfile:
    """Read an agent's profile from JSON."""
    fields: list[object] = json.loads(text)
    return AgentProfile._make(
        tuple(cast("list[str]", field)) if isinstance(field, list) else field for field in fields
    )
