"""Finds or adds the row of a tool that was used, reported or listed.

Only a server's own list makes a row that can be called. A use belongs to the declaration that answered it:
the gateway names its key, a client's hook the file. Without either, a tool takes the place of its server if
the workspace was scanned and only one server can be meant. Otherwise it stays in its workspace: a name alone
never widens a scope. Among tools that no configuration declares, a report outranks a hook, whichever arrives
first.
"""

import json
from typing import NamedTuple

from remit.decision.client_reports import SOURCE_SCOPES, ReportedTool
from remit.decision.kinds import STARTERS, Authority, Kind
from remit.decision.projects import Workspace
from remit.decision.scopes import Scope
from remit.decision.tool_names import canonical, classify
from remit.store.database import Database, key_parameters, scope_parameters

# How widely a row is visible: in a directory, in a project, or in every project.
_WIDTH = {
    Scope.PROJECT: 1,
    Scope.LOCAL: 2,
    Scope.DYNAMIC: 2,
    Scope.PLUGIN: 2,
    Scope.TEAM: 2,
    Scope.GLOBAL: 3,
    Scope.MANAGED: 3,
}


class Placement(NamedTuple):
    """Where the row of a tool belongs."""

    kind: Kind
    scope: Scope
    project_hash: str | None
    dir: str | None
    server: str | None
    server_id: int | None
    source: str
    authority: Authority
    agent: str | None = None  # whose definition declares the server


def find_or_add_tool(database: Database, reported: ReportedTool) -> int | None:
    """Find or add the row of a tool inside a transaction, and merge undeclared rows into it.

    None if the declaration that answered is gone.
    """
    workspace = reported.workspace
    database.run("see_project", project=workspace.project.hash, path=workspace.project.path, at=reported.at)
    tool = (
        _answering_tool(database, reported) if reported.key is not None else _named_tool(database, reported)
    )
    if tool is not None:
        database.run("add_sighting", tool=tool, project=workspace.project.hash)
    return tool


def _named_tool(database: Database, reported: ReportedTool) -> int:
    """Find or add the row of a tool of which the reporter knows the name."""
    name, workspace, client = canonical(reported.name), reported.workspace, reported.client
    started = _started_tool(database, reported)
    if started is not None:
        return started
    placement = _declared_placement(database, name, reported) or _default_placement(name, reported)
    undeclared = _undeclared_of_name(database, client, workspace, name, placement.server)
    is_outranked = undeclared and undeclared[0].authority > placement.authority
    if placement.server_id is None and is_outranked:
        return undeclared[0].id
    return place_tool(database, name, client, placement, workspace, reported.at)


def _answering_tool(database: Database, reported: ReportedTool) -> int | None:
    """Find or add the row of the tool that answered; one that its server did not list stays reported."""
    assert reported.key is not None  # noqa: S101 - the caller checks it
    _, kind, scope, project_hash, dir, agent, server, name = reported.key
    query = {**key_parameters(reported.key), **scope_parameters(reported.workspace)}
    query["client"] = reported.client
    for (tool,) in database.rows("row_of_key", **query):
        return tool
    for server_id, source in database.rows("server_of_key", **query):
        place = (Kind(kind or ""), Scope(scope or ""), project_hash, dir, server, server_id, source)
        placement = Placement(*place, reported.authority, agent)
        return upsert_tool(database, name or "", reported.client, placement, reported.at)
    return None


def place_tool(
    database: Database, name: str, client: str, placement: Placement, workspace: Workspace, at: int
) -> int:
    """Find or add the row of a tool at its placement, and merge the workspace's undeclared rows into it."""
    tool = upsert_tool(database, name, client, placement, at)
    if placement.agent is not None:  # others may have used another server of this name
        return tool
    for row in _undeclared_of_name(database, client, workspace, name, placement.server):
        _merge(database, row, into=tool, scope=placement.scope)
    return tool


def assign_to_servers(database: Database, client: str, workspace: Workspace, at: int) -> None:
    """After a scan, move the undeclared tools of a workspace to the servers that are active there."""
    for row in _undeclared(database, client, workspace):
        placement = _placement_of(database, client, workspace, row)
        if placement is not None and _WIDTH[placement.scope] >= _WIDTH[row.scope]:
            tool = upsert_tool(database, row.name, client, placement, at)
            _merge(database, row, into=tool, scope=placement.scope)


class _UndeclaredTool(NamedTuple):
    """A row of a tool that no configuration declares."""

    id: int
    name: str
    server: str | None
    authority: int
    scope: Scope


def _undeclared(database: Database, client: str, workspace: Workspace) -> list[_UndeclaredTool]:
    found = database.rows("undeclared_tools", client=client, **scope_parameters(workspace))
    return [_UndeclaredTool(*row) for row in found]


def undeclared_names(database: Database, client: str, workspace: Workspace) -> frozenset[str]:
    """Return the names of the tools in a workspace that no configuration declares."""
    return frozenset(row.name for row in _undeclared(database, client, workspace))


def _undeclared_of_name(
    database: Database, client: str, workspace: Workspace, name: str, server: str | None
) -> list[_UndeclaredTool]:
    """List a workspace's undeclared rows of one name that do not belong to another server."""
    # A separate query, because it needs the index on names.
    found = database.rows("undeclared_tools_of_name", client=client, name=name, **scope_parameters(workspace))
    parsed = classify(name).server
    return [
        row
        for row in map(_UndeclaredTool._make, found)
        if row.server in (None, server)
        or (row.server == parsed and not _is_declared_server(database, client, workspace, parsed))
    ]


def _placement_of(
    database: Database, client: str, workspace: Workspace, row: _UndeclaredTool
) -> Placement | None:
    """Find an undeclared row's placement under a server; None if the client may have meant another server."""
    parsed = classify(row.name).server
    label = None if row.server == parsed else row.server  # any other label came from the client
    authority = Authority(row.authority)
    placement = _server_placement(database, row.name, client, label, workspace, authority=authority)
    is_exact = placement is not None and placement.server == row.server
    return placement if is_exact or not _is_declared_server(database, client, workspace, parsed) else None


def _is_declared_server(database: Database, client: str, workspace: Workspace, label: str | None) -> bool:
    """Return whether a server with this label was ever declared in the workspace's scope."""
    query = {"client": client, "server": label, **scope_parameters(workspace)}
    return bool(database.rows("declared_server", **query))


def _declared_placement(database: Database, name: str, reported: ReportedTool) -> Placement | None:
    """Place a tool under the declaration that the client names, else under the only possible one."""
    scope = SOURCE_SCOPES.get(reported.source or "")
    if not reported.is_scanned or (reported.source is not None and scope is None):
        return None
    return _server_placement(
        database,
        name,
        reported.client,
        reported.server,
        reported.workspace,
        scope=scope,
        authority=reported.authority,
    )


def _server_placement(
    database: Database,
    name: str,
    client: str,
    server: str | None,
    workspace: Workspace,
    *,
    authority: Authority,
    scope: Scope | None = None,
) -> Placement | None:
    """Place a tool under the workspace's active server that its name belongs to."""
    named = classify(name)
    if named.server is None:
        return None
    query = {"name": name, "client": client, "server": server, "parsed": named.server, "scope": scope}
    for found, project_hash, dir, label, server_id, source in database.rows(
        "active_server", **query, **scope_parameters(workspace)
    ):
        return Placement(named.kind, Scope(found), project_hash, dir, label, server_id, source, authority)
    return None


def _started_tool(database: Database, reported: ReportedTool) -> int | None:
    """Find the row of the skill, command or agent that a tool started, if a file declares it here."""
    kinds = STARTERS.get(reported.name, ())
    if reported.subject is None or not kinds:
        return None
    found = database.rows(
        "started_tool",
        client=reported.client,
        names=json.dumps([reported.subject, f"/{reported.subject}"]),
        kinds=json.dumps(kinds),
        **scope_parameters(reported.workspace),
    )
    return found[0][0] if found else None


def _default_placement(name: str, reported: ReportedTool) -> Placement:
    """Place a tool in the scope that its reporter claims, otherwise in the workspace where it was seen."""
    named = classify(name)
    scope, workspace = reported.scope or named.scope, reported.workspace
    return Placement(
        kind=named.kind,
        scope=scope,
        project_hash=None if scope in (Scope.GLOBAL, Scope.MANAGED) else workspace.project.hash,
        dir=workspace.dir if scope is Scope.PROJECT else None,
        server=reported.server or named.server,
        server_id=None,
        source=reported.authority.name.lower(),
        authority=reported.authority,
    )


def upsert_tool(database: Database, name: str, client: str, placement: Placement, at: int) -> int:
    """Find or add the row of a tool at its placement."""
    if placement.kind is Kind.MCP_SERVER and placement.server_id is not None:
        return placement.server_id
    return database.rows("add_tool", name=name, client=client, at=at, **placement._asdict())[0][0]


def _merge(database: Database, row: _UndeclaredTool, *, into: int, scope: Scope) -> None:
    """Merge an undeclared row into another, unless the other is visible in fewer places."""
    if row.id != into and _WIDTH[scope] >= _WIDTH[row.scope]:
        for step in ("move_events", "move_totals", "move_sightings", "move_history"):
            database.run(step, tool=row.id, into=into)
        database.run("drop_tool", tool=row.id)
