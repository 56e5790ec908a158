"""Records that a tool was used or reported, and finds the row that this belongs to.

A tool's scope is that of its server where a configuration declares one; a name alone says less than a report,
and a report less than a configuration, in whatever order they arrive.
"""

import json
from typing import NamedTuple

from remit.adapters.storage.database import Database
from remit.core.kinds import Authority, Kind
from remit.core.names import classify
from remit.core.scopes import Scope, ancestors
from remit.core.sightings import Sighting


class Home(NamedTuple):
    """Where a tool's row belongs."""

    kind: Kind
    scope: Scope
    project_hash: str | None
    dir: str | None
    server: str | None
    server_id: int | None
    source: str
    authority: Authority


def record(
    database: Database,
    sighting: Sighting,
    *,
    session_id: str | None = None,
    call_id: str | None = None,
    succeeded: bool | None = None,
    duration_ms: int | None = None,
) -> bool:
    """Count one use of a tool; False when the call was reported before and only its gaps were filled."""
    project = sighting.workspace.project
    details = {
        "session_id": session_id,
        "succeeded": None if succeeded is None else int(succeeded),
        "duration_ms": duration_ms,
    }
    with database.transaction():
        if call_id is not None:
            client = sighting.client
            for (event,) in database.rows(
                "earlier_report", call_id=call_id, client=client, project=project.hash, session_id=session_id
            ):
                database.run("complete_event", event=event, **details)
                return False
        tool = sight(database, sighting)
        database.run(
            "add_event",
            tool=tool,
            client=sighting.client,
            project=project.hash,
            call_id=call_id,
            at=sighting.at,
            **details,
        )
    return True


def sight(database: Database, sighting: Sighting) -> int:
    """Find or make the row of a tool, inside a transaction, and gather what is known of it there."""
    project = sighting.workspace.project
    database.run("see_project", hash=project.hash, path=project.path, at=sighting.at)
    seen_from = _seen_from(project.hash, sighting.workspace.dir)
    kind = classify(sighting.name).kind
    found = _home_under_a_server(database, sighting.name, sighting.client, sighting.server, seen_from)
    if found is not None and found.server_id is not None and kind is Kind.MCP_SERVER:
        return found.server_id
    home = found or _assumed_home(sighting)
    loose = database.rows("loose", client=sighting.client, kind=home.kind, name=sighting.name, **seen_from)
    if loose and loose[0][1] > home.authority:
        return loose[0][0]
    tool = _settle(database, sighting.name, sighting.client, home, sighting.at)
    for other, _, owner in loose:
        if (
            owner is not None or home.project_hash is None
        ):  # what others use too is not drawn into one project
            _merge(database, other, into=tool)
    return tool


def rehome(database: Database, client: str, at: int) -> None:
    """Bring rows that were only seen or reported under the servers that are now declared."""
    for tool, kind, name, server, project_hash, dir in database.rows("all_loose", client=client):
        # A label that differs from the name's own came from the client itself.
        label = None if server == classify(name).server else server
        found = _home_under_a_server(database, name, client, label, _seen_from(project_hash or "", dir or ""))
        if found is not None:
            into = found.server_id if kind == Kind.MCP_SERVER else None
            _merge(database, tool, into=into or _settle(database, name, client, found, at))


def _home_under_a_server(
    database: Database, name: str, client: str, server: str | None, seen_from: dict[str, str]
) -> Home | None:
    """Place a tool with the declared server that its name falls under, the one in force before the others."""
    if classify(name).server is None:
        return None
    found = database.rows("server_for", name=name, client=client, server=server, **seen_from)
    for server_id, scope, project_hash, dir, label, source in found:
        return Home(
            Kind.MCP_TOOL, Scope(scope), project_hash, dir, label, server_id, source, Authority.CONFIG
        )
    return None


def _assumed_home(sighting: Sighting) -> Home:
    """Place a tool by what its sender or its name says; no wider than the checkout it was seen in."""
    named = classify(sighting.name)
    scope, workspace = sighting.scope or named.scope, sighting.workspace
    return Home(
        kind=named.kind,
        scope=scope,
        project_hash=None if scope in (Scope.GLOBAL, Scope.MANAGED) else workspace.project.hash,
        dir=workspace.checkout if scope is Scope.PROJECT else None,
        server=sighting.server or named.server,
        server_id=None,
        source=sighting.authority.name.lower(),
        authority=sighting.authority,
    )


def _settle(database: Database, name: str, client: str, home: Home, at: int) -> int:
    return database.rows("sight", name=name, client=client, at=at, **home._asdict())[0][0]


def _merge(database: Database, tool: int, *, into: int) -> None:
    if tool != into:
        for step in ("move_events", "move_totals", "move_history"):
            database.run(step, tool=tool, into=into)
        database.run("drop_tool", tool=tool)


def _seen_from(project_hash: str, dir: str) -> dict[str, str]:
    return {"project": project_hash, "workspace": dir, "reach": json.dumps(ancestors(dir) if dir else [])}
