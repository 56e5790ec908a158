"""Turns rows of the database into values; columns' types are taken on trust here, and nowhere past it."""

from remit.adapters.storage.database import Row
from remit.core.declarations import Declaration
from remit.core.kinds import Authority, ConfigStatus, Kind, Status
from remit.core.scopes import Scope
from remit.core.tools import Tool, Winner

# Looked up, not called: an enum's own call takes as long as all the rest of a row.
_KINDS = {kind.value: kind for kind in Kind}
_SCOPES = {scope.value: scope for scope in Scope}
_AUTHORITIES = {authority.value: authority for authority in Authority}
_STATUSES = {status.value: status for status in Status}
_CONFIG_STATUSES = {status.value: status for status in ConfigStatus}


def tool(row: Row) -> Tool:
    """Read a row of the query `catalog`."""
    (name, kind, client, scope, project_hash, dir, server, source, authority, status) = row[:10]
    (config_status, winner_scope, winner_source, description, uses, last_used, discovered, updated) = row[10:]
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
        status=_STATUSES[status],
        config_status=_CONFIG_STATUSES[config_status] if config_status else None,
        shadowed_by=Winner(scope=_SCOPES[winner_scope], source=winner_source) if winner_scope else None,
        description=description,
        usage_count=uses,
        last_used_at=last_used,
        discovered_at=discovered,
        updated_at=updated,
    )


def declaration(client: str, row: Row) -> Declaration:
    """Read a row of the query `declared` back into what was declared, as far as it is kept."""
    (_, name, kind, scope, source, project_hash, dir, server, digest) = row[:9]
    return Declaration(
        name=name,
        kind=Kind(kind),
        client=client,
        scope=Scope(scope),
        source=source,
        project_hash=project_hash,
        dir=dir,
        server=server,
        digest=digest,
        is_remit=row[10] == ConfigStatus.ITSELF,
    )
