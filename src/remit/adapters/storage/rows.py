"""Turns rows of the database into values; columns' types are taken on trust here, and nowhere past it."""

from typing import NamedTuple

from remit.adapters.storage.database import Row
from remit.core.client_settings import Effect, Level, Rule
from remit.core.declarations import Declaration
from remit.core.kinds import Authority, ConfigStatus, Kind, Status
from remit.core.scopes import Scope
from remit.core.tools import Tool, Winner
from remit.core.trust import needs_trust

# Looked up, not called: an enum's own call takes as long as all the rest of a row.
_KINDS = {kind.value: kind for kind in Kind}
_SCOPES = {scope.value: scope for scope in Scope}
_AUTHORITIES = {authority.value: authority for authority in Authority}
_CONFIG_STATUSES = {status.value: status for status in ConfigStatus}


class View(NamedTuple):
    """How a declaration stood in a view."""

    declaration: Declaration
    tool: int
    config_status: str
    shadowed_by: int | None


def tool(row: Row) -> Tool:
    """Read a row of the query `catalog`."""
    (name, kind, client, scope, project_hash, dir, server, source, authority, config_status) = row[:10]
    (winner_scope, winner_source, description, uses, last_used, discovered, updated) = row[10:17]
    (digest, is_unlisted, listed_at, is_outdated, is_trusted) = row[17:]
    is_stale = is_unlisted or (config_status is None and authority == Authority.CONFIG)
    is_judged = project_hash is not None and needs_trust(_KINDS[kind], _SCOPES[scope], project_hash)
    return Tool(
        name=name,
        kind=_KINDS[kind],
        client=client,
        scope=_SCOPES[scope],
        project_hash=project_hash,
        dir=dir,
        server=server,
        source=source,
        authority=_AUTHORITIES[authority],
        status=Status.STALE if is_stale else Status.ACTIVE,
        config_status=_CONFIG_STATUSES[config_status] if config_status else None,
        shadowed_by=Winner(scope=_SCOPES[winner_scope], source=winner_source) if winner_scope else None,
        is_trusted=is_trusted == 1 if is_judged else None,
        is_unlisted=is_unlisted == 1,
        is_outdated=is_outdated == 1,
        listed_at=listed_at,
        digest=digest,
        description=description,
        usage_count=uses,
        last_used_at=last_used,
        discovered_at=discovered,
        updated_at=updated,
    )


def declaration(row: Row) -> Declaration:
    """Read a row of the query `last_known`."""
    (name, kind, client, scope, source, project_hash, dir, server, plugin, endpoint, digest) = row[:11]
    return Declaration(
        name=name,
        kind=_KINDS[kind],
        client=client,
        scope=_SCOPES[scope],
        source=source,
        project_hash=project_hash,
        dir=dir,
        server=server,
        plugin=plugin,
        endpoint=endpoint,
        digest=digest,
        is_remit=bool(row[11]),
        is_off=bool(row[12]),
        description=row[13],
    )


def view(row: Row) -> View:
    """Read a row of the query `resolved`."""
    return View(declaration(row[:14]), *row[14:])


def rule(row: Row) -> Rule:
    """Read a row of the query `last_rules`."""
    source, level, effect, subject = row
    return Rule(source=source, level=Level(level), effect=Effect(effect), subject=subject)
