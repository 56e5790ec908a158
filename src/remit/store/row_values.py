"""Turns rows of the database into values; columns' types are taken on trust here, and nowhere past it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from remit.decision.agents import AgentProfile
from remit.decision.danger import Danger
from remit.decision.demotion import is_demoted
from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.scopes import Scope
from remit.decision.tools import Definition, Tool, Winner
from remit.trust.trust_rule import needs_trust

if TYPE_CHECKING:
    from remit.decision.projects import Workspace
    from remit.store.database import Row

# Looked up, not called: an enum's own call takes as long as all the rest of a row.
KINDS = {kind.value: kind for kind in Kind}
SCOPES = {scope.value: scope for scope in Scope}
_AUTHORITIES = {authority.value: authority for authority in Authority}
_DANGERS = tuple(Danger)
CONFIG_STATUSES = {status.value: status for status in ConfigStatus}
_NEVER_SENT = {Kind.MCP_SERVER.value, Kind.PLUGIN.value}  # a model is told of their tools, not of them


def tool(row: Row, workspace: Workspace) -> Tool:
    """Read a row of the query `catalog`."""
    (name, kind, client, scope, project_hash, dir, server, plugin, agent, of_agent) = row[:10]
    (source, authority, config_status, winner_scope, winner_source, description) = row[10:16]
    (uses, last_used, discovered, updated, endpoint, tokens, outcomes) = row[16:23]
    (digest, is_unlisted, listed_at, is_outdated, is_trusted, failure, document, danger) = row[23:]
    is_judged = project_hash is not None and needs_trust(
        KINDS[kind], SCOPES[scope], project_hash, source, workspace
    )
    # By position, in the order of the fields: by keyword it takes three times as long.
    return Tool(
        name,
        KINDS[kind],
        client,
        SCOPES[scope],
        source,
        _AUTHORITIES[authority],
        project_hash,
        dir,
        server,
        plugin,
        agent,
        ToolStatus.STALE if is_unlisted else _status(kind, authority, config_status, outcomes),
        CONFIG_STATUSES[config_status] if config_status else None,
        Winner(scope=SCOPES[winner_scope], source=winner_source) if winner_scope else None,
        is_trusted == 1 if is_judged else None,
        is_unlisted == 1,
        is_outdated == 1,
        listed_at,
        failure,
        digest,
        description,
        profile(of_agent),
        uses,
        last_used,
        discovered,
        updated,
        endpoint,
        None if kind in _NEVER_SENT else tokens,
        outcomes,
        document,
        None if danger is None else _DANGERS[danger],
    )


def definition(row: Row) -> Definition:
    """Read the columns of a definition."""
    name, server, tool, title, description, input_schema, output_schema, annotations, raw = row
    return Definition(
        name=name,
        server=server,
        tool=tool,
        title=title,
        description=description,
        input_schema=input_schema,
        output_schema=output_schema,
        annotations=annotations,
        raw=raw,
    )


def _status(kind: str, authority: int, config_status: str | None, outcomes: str) -> ToolStatus:
    if authority == Authority.CONFIG and config_status is None:
        return ToolStatus.STALE
    # That a command failed in the client's shell says nothing of the shell.
    return ToolStatus.DEMOTED if is_demoted(outcomes) and kind != Kind.BUILTIN else ToolStatus.ACTIVE


def profile(text: str | None) -> AgentProfile | None:
    """Read an agent's profile, as it is written by `written`."""
    if text is None:
        return None
    fields: dict[str, Any] = json.loads(text)
    return AgentProfile(**{name: _frozen(it) for name, it in fields.items()})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
