"""Records that a tool was used or reported, and finds the row that this belongs to.

A tool's scope is that of its server, where the workspace it was seen in was scanned and has such a server in
force. Otherwise the tool stays in that workspace: nothing is drawn into a wider scope by its name alone. Of
what no configuration declares, a report outranks a hook, in whatever order they arrive.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.client_reports import CallOutcome, ReportedTool
from remit.decision.kinds import STARTERS, Authority, Kind
from remit.decision.projects import Workspace
from remit.decision.scopes import Scope
from remit.decision.tool_names import canonical, classify
from remit.store.database import Database, Value, seen_from
from remit.store.workflow_transitions import advance

if TYPE_CHECKING:
    from remit.memory.traces import Trace

# Of the rows a workspace sees, who else sees them: its subdirectories, its project, everybody.
_WIDTH = {
    Scope.PROJECT: 1,
    Scope.LOCAL: 2,
    Scope.DYNAMIC: 2,
    Scope.PLUGIN: 2,
    Scope.GLOBAL: 3,
    Scope.MANAGED: 3,
}


class Placement(NamedTuple):
    """Where a tool's row belongs."""

    kind: Kind
    scope: Scope
    project_hash: str | None
    dir: str | None
    server: str | None
    server_id: int | None
    source: str
    authority: Authority


class _Counted(NamedTuple):
    """What was known of a call before it was counted."""

    is_new: bool
    is_told: bool  # a hook told of it, and not only the gateway, which knows no sessions


def record(
    database: Database, reported: ReportedTool, use: CallOutcome, trace: "Trace | None" = None
) -> bool:
    """Count one use of a tool, and keep what it left; False when the call was reported before and only its
    gaps were filled.
    """
    with database.transaction():
        counted = _count(database, reported, use, lambda: record_tool(database, reported))
        if trace is not None and not counted.is_told:
            from remit.store.trace_store import leave

            leave(database, trace, reported.workspace, use.session_id, reported.at)
        return counted.is_new


def report(database: Database, workspace: Workspace, client: str, use: CallOutcome, at: int) -> None:
    """Keep in which session a call was whose outcome only the gateway knows, and whether there was one."""
    call = {"client": client, "project": workspace.project.hash, "call_id": use.call_id}
    with database.transaction():
        database.run("see_project", hash=workspace.project.hash, path=workspace.project.path, at=at)
        earlier = database.rows("earlier_report", **call, session_id=use.session_id)
        for event, *_ in earlier:
            values = {"session_id": use.session_id, "succeeded": None, "duration_ms": None}
            database.run("complete_event", event=event, **values)
        if not earlier:
            database.run("report_call", **call, session_id=use.session_id, at=at)


def record_all(database: Database, used: Iterable[tuple[ReportedTool, CallOutcome]]) -> None:
    """Count many uses at once; each tool's row is looked for once."""
    found: dict[tuple[str, str, str | None], int] = {}

    def row(reported: ReportedTool) -> int:
        key = (reported.name, reported.client, reported.server)
        if key not in found:
            found[key] = record_tool(database, reported)
        return found[key]

    with database.transaction():
        for reported, use in used:
            _count(database, reported, use, partial(row, reported))


def _count(database: Database, reported: ReportedTool, use: CallOutcome, row: Callable[[], int]) -> _Counted:
    """Count a use, inside a transaction."""
    call: dict[str, Value] = {
        "client": reported.client,
        "project": reported.workspace.project.hash,
        "call_id": use.call_id,
        "session_id": use.session_id,
    }
    outcome = {
        "succeeded": None if use.succeeded is None else int(use.succeeded),
        "duration_ms": use.duration_ms,
    }
    earlier = database.rows("earlier_report", **call) if use.call_id is not None else []
    for event, *_ in earlier:
        database.run("complete_event", event=event, session_id=use.session_id, **outcome)
    if not earlier:
        if use.call_id is not None and use.session_id is None:
            call["session_id"] = _reported_session(database, call)
        database.run("add_event", tool=row(), at=reported.at, **call, **outcome)
    if use.succeeded and all(outcome is None for _, outcome, _ in earlier):  # once for each call
        for name in filter(None, (reported.name, reported.subject)):
            advance(database, canonical(name), reported.workspace, reported.at)
    return _Counted(not earlier, any(session is not None for *_, session in earlier))


def _reported_session(database: Database, call: Mapping[str, Value]) -> str | None:
    named = {name: call[name] for name in ("client", "project", "call_id")}
    reported = database.rows("take_report", **named)
    return reported[0][0] if reported else None


def record_tool(database: Database, reported: ReportedTool) -> int:
    """Find or make the row of a tool, inside a transaction; what this workspace knew of it goes there too."""
    name, workspace, client = canonical(reported.name), reported.workspace, reported.client
    database.run("see_project", hash=workspace.project.hash, path=workspace.project.path, at=reported.at)
    started = _started(database, reported)
    if started is not None:
        database.run("add_sighting", tool=started, project=workspace.project.hash)
        return started
    placement = (
        _under_a_server(database, name, client, reported.server, workspace) if reported.is_scanned else None
    )
    placement = placement or _assumed(name, reported)
    loose = _loose_of_name(database, client, workspace, name, placement.server)
    if loose and loose[0].authority > placement.authority:
        tool = loose[0].id
    else:
        tool = place(database, name, client, placement, workspace, reported.at)
    database.run("add_sighting", tool=tool, project=workspace.project.hash)
    database.run("relist", tool=tool)  # what is in use is there, whatever its server listed
    return tool


def place(
    database: Database, name: str, client: str, placement: Placement, workspace: Workspace, at: int
) -> int:
    """Find or make the row of a tool in its place; what the workspace knew of it loosely goes there too."""
    tool = _settle(database, name, client, placement, at)
    for row in _loose_of_name(database, client, workspace, name, placement.server):
        _merge(database, row, into=tool, scope=placement.scope)
    return tool


def rehome(database: Database, client: str, workspace: Workspace, at: int) -> None:
    """After a scan, bring what was only seen or reported in a workspace under the servers in force there."""
    for row in _loose(database, client, workspace):
        placement = _home(database, client, workspace, row)
        if placement is not None and _WIDTH[placement.scope] >= _WIDTH[row.scope]:
            tool = _settle(database, row.name, client, placement, at)
            _merge(database, row, into=tool, scope=placement.scope)


class _Loose(NamedTuple):
    """A row that no configuration stands behind."""

    id: int
    name: str
    server: str | None
    authority: int
    scope: Scope


def _loose(database: Database, client: str, workspace: Workspace) -> list[_Loose]:
    """List the loose rows of a workspace."""
    return [_Loose(*row) for row in database.rows("loose", client=client, **seen_from(workspace))]


def _loose_of_name(
    database: Database, client: str, workspace: Workspace, name: str, server: str | None
) -> list[_Loose]:
    """List the loose rows of one name in a workspace that are not another server's."""
    # A query of its own: asked for each tool of a listing, it has to go by the index of names.
    found = database.rows("loose_of_name", client=client, name=name, **seen_from(workspace))
    parsed = classify(name).server
    return [
        row
        for row in map(_Loose._make, found)
        if row.server in (None, server)
        or (row.server == parsed and not _is_declared(database, client, workspace, parsed))
    ]


def _home(database: Database, client: str, workspace: Workspace, row: _Loose) -> Placement | None:
    """Find the server that a loose row belongs to, and none where the client may have meant another."""
    parsed = classify(row.name).server
    label = None if row.server == parsed else row.server  # any other label came from the client itself
    placement = _under_a_server(database, row.name, client, label, workspace)
    is_exact = placement is not None and placement.server == row.server
    return placement if is_exact or not _is_declared(database, client, workspace, parsed) else None


def _is_declared(database: Database, client: str, workspace: Workspace, label: str | None) -> bool:
    """Tell whether any server that a workspace ever saw declared bears a label, whatever became of it."""
    query = {"client": client, "server": label, **seen_from(workspace)}
    return bool(database.rows("declared_label", **query))


def _under_a_server(
    database: Database, name: str, client: str, server: str | None, workspace: Workspace
) -> Placement | None:
    """Place a tool with the server in force in its workspace that its name falls under."""
    named = classify(name)
    if named.server is None:
        return None
    query = {"name": name, "client": client, "server": server, "parsed": named.server}
    for scope, project_hash, dir, label, server_id, source in database.rows(
        "server_in_force", **query, **seen_from(workspace)
    ):
        return Placement(
            named.kind, Scope(scope), project_hash, dir, label, server_id, source, Authority.CONFIG
        )
    return None


def _started(database: Database, reported: ReportedTool) -> int | None:
    """Find the row of the skill, command or agent that a tool started, where a file here declares it."""
    kinds = STARTERS.get(reported.name, ())
    if reported.subject is None or not kinds:
        return None
    found = database.rows(
        "invoked_in_force",
        client=reported.client,
        names=json.dumps([reported.subject, f"/{reported.subject}"]),
        kinds=json.dumps(kinds),
        **seen_from(reported.workspace),
    )
    return found[0][0] if found else None


def _assumed(name: str, reported: ReportedTool) -> Placement:
    """Place a tool by what its sender claims, else no wider than the workspace it was seen in."""
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


def _settle(database: Database, name: str, client: str, placement: Placement, at: int) -> int:
    if placement.kind is Kind.MCP_SERVER and placement.server_id is not None:
        return placement.server_id
    return database.rows("sight", name=name, client=client, at=at, **placement._asdict())[0][0]


def _merge(database: Database, row: _Loose, *, into: int, scope: Scope) -> None:
    """Let a loose row go up in another, unless somebody who sees it would not see the other."""
    if row.id != into and _WIDTH[scope] >= _WIDTH[row.scope]:
        for step in ("move_events", "move_totals", "move_sightings", "move_history"):
            database.run(step, tool=row.id, into=into)
        database.run("drop_tool", tool=row.id)
