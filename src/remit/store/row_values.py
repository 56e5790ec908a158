"""Converts database rows to values and back; only this module trusts the types of columns."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from remit.decision.agents import AgentProfile
from remit.decision.danger import Danger, Rating
from remit.decision.definitions.definition_changes import ChangeVerdict, DefinitionChange
from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.permissions.client_permissions import ClientPermissions, PermissionEffect, PermissionRule
from remit.decision.policy_rules import ConfigLocation
from remit.decision.scopes import Scope
from remit.decision.tools import Definition, Tool, Winner, is_demoted
from remit.trust.trust_rule import needs_trust

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit.decision.projects import Workspace
    from remit.store.database import Row

# Dictionary lookups: calling an enum takes as long as the rest of a row.
KINDS = {kind.value: kind for kind in Kind}
SCOPES = {scope.value: scope for scope in Scope}
_AUTHORITIES = {authority.value: authority for authority in Authority}
_DANGERS = tuple(Danger)
CONFIG_STATUSES = {status.value: status for status in ConfigStatus}
_VERDICTS = {verdict.value: verdict for verdict in ChangeVerdict}
_PERMISSION_EFFECTS = {effect.value: effect for effect in PermissionEffect}
# Not `asdict`, which makes deep copies: a first scan defines hundreds of commands and skills.
DEFINITION_COLUMNS = tuple(field.name for field in fields(Definition))
_NEVER_SENT = {Kind.MCP_SERVER.value, Kind.PLUGIN.value}  # the model gets their tools instead


def tool(row: Row, workspace: Workspace) -> Tool:
    """Read a row of the query `catalog`."""
    (name, kind, client, scope, project_hash, dir, server, plugin, agent, of_agent) = row[:10]
    (source, authority, config_status, winner_scope, winner_source, description) = row[10:16]
    (uses, last_used, discovered, updated, endpoint, tokens, outcomes) = row[16:23]
    (digest, is_unlisted, listed_at, is_outdated, trusted, failure, document, danger) = row[23:31]
    is_placed, is_read, winner = row[31:34]  # read: whether this client's files ever were, in this workspace
    described, accepted, verdict, why, detail, pin, entry = row[34:]
    is_judged = project_hash is not None and needs_trust(
        KINDS[kind], SCOPES[scope], project_hash, source, workspace
    )
    # Positional, because keywords take three times as long.
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
        ToolStatus.STALE
        if is_unlisted or (is_read and config_status is None and (authority == Authority.CONFIG or is_placed))
        else _status(kind, outcomes),
        CONFIG_STATUSES[config_status] if config_status else None,
        Winner(scope=SCOPES[winner_scope], source=winner_source, name=winner) if winner_scope else None,
        trusted is not None and trusted == entry if is_judged else None,
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
        False,
        is_placed == 1,
        None if described is None else _described(described),
        None if accepted is None else _DANGERS[accepted],
        None if verdict is None else DefinitionChange(_VERDICTS[verdict], why, detail),
        pin,
        entry,
        trusted if is_judged else None,
    )


def definition(row: Row) -> Definition:
    """Read the columns of a definition."""
    return Definition(**dict(zip(DEFINITION_COLUMNS, row, strict=True)))


@lru_cache(maxsize=1_024)
def _described(text: str) -> Rating:
    """Read a described danger; a catalog has few different ones."""
    return _rating(json.loads(text))


def _rating(stored: list[Any]) -> Rating:
    level, origin, is_vague, *floors = stored
    floor = next(iter(floors), None)
    return Rating(_DANGERS[level], origin, is_vague, None if floor is None else _rating(floor))


def _status(kind: str, outcomes: str) -> ToolStatus:
    # A failed command does not mean that the client's shell is failing.
    return ToolStatus.DEMOTED if is_demoted(outcomes) and kind != Kind.BUILTIN else ToolStatus.ACTIVE


def profile(text: str | None) -> AgentProfile | None:
    """Read an agent's profile from JSON."""
    if text is None:
        return None
    fields: dict[str, Any] = json.loads(text)
    return AgentProfile(**{name: _frozen(it) for name, it in fields.items()})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def write_permissions(rules: Iterable[PermissionRule]) -> str:
    """Serialize permission rules."""
    return json.dumps([[rule.effect, rule.text, *rule.origin] for rule in rules])


def permissions(text: str) -> ClientPermissions:
    """Read the permission rules of a view."""
    found: list[tuple[str, str, str, str, int]] = json.loads(text)
    return ClientPermissions(
        PermissionRule(_PERMISSION_EFFECTS[effect], written, ConfigLocation(path, key, line))
        for effect, written, path, key, line in found
    )
