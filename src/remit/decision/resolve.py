"""Resolves which declarations of a workspace are active, and which are shadowed.

Shadowing depends on the whole group, so it is computed once here; the `precedence` gate only reads it.
The rules were observed in Claude Code: pending and rejected declarations never shadow; disabled and denied
ones shadow by name; only enabled ones shadow a plugin's server by endpoint. Servers declared in an agent's
definition are active only if that definition is.
"""

from collections.abc import Iterable

from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import Declaration, Resolved
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.scopes import Scope, strength

Identity = tuple[str | None, ...]
_ENABLED = (ConfigStatus.ENABLED, ConfigStatus.NESTED)


def resolve(declarations: Iterable[Declaration], settings: ClientSettings) -> list[Resolved]:
    """Return each declaration with its status and the declaration that shadows it, if any."""
    unique = {declaration.key: declaration for declaration in declarations}  # the last one wins
    judged = [(declaration, settings.status(declaration)) for declaration in unique.values()]
    rivals = [item for item in unique.values() if settings.can_shadow(item)]
    agents = _winners_by_name(item for item in rivals if item.kind is Kind.SUBAGENT)
    by_name = _winners_by_name(item for item in rivals if _agent_instead(item, agents) is None)
    by_endpoint: dict[str, Declaration] = {}
    for declaration, status in sorted(judged, key=_is_a_plugins):
        is_winner = by_name.get(_identity(declaration)) is declaration
        is_everyones = is_winner and declaration.agent is None
        if is_everyones and status in _ENABLED and declaration.endpoint is not None:
            by_endpoint.setdefault(declaration.endpoint, declaration)
    resolved: list[Resolved] = []
    for declaration, status in judged:
        winner = by_name.get(_identity(declaration), declaration)
        if declaration.plugin is not None and declaration.endpoint is not None:
            winner = by_endpoint.get(declaration.endpoint, winner)
        winner = _agent_instead(declaration, agents) or winner
        shadowed_by = None if winner is declaration else winner
        resolved.append(Resolved(declaration=declaration, config_status=status, shadowed_by=shadowed_by))
    return resolved


def _is_a_plugins(judged: tuple[Declaration, ConfigStatus]) -> bool:
    return judged[0].scope is Scope.PLUGIN


def _winners_by_name(declarations: Iterable[Declaration]) -> dict[Identity, Declaration]:
    winners: dict[Identity, Declaration] = {}
    for declaration in declarations:
        holder = winners.setdefault(_identity(declaration), declaration)
        if _strength(declaration) < _strength(holder):
            winners[_identity(declaration)] = declaration
    return winners


def _agent_instead(declaration: Declaration, agents: dict[Identity, Declaration]) -> Declaration | None:
    """Find the agent that shadows the agent whose definition declares a server."""
    if declaration.agent is None:
        return None
    winner = agents.get((Kind.SUBAGENT, declaration.agent, None, None))
    return None if winner is None or winner.source == declaration.source else winner


def _identity(declaration: Declaration) -> Identity:
    if declaration.kind in (Kind.SKILL, Kind.SLASH_COMMAND):  # both are invoked as `/name`
        return Kind.SKILL, declaration.name.removeprefix("/"), declaration.plugin
    # The server's name as written: `a.b` and `a_b` are different servers, although their tools share names.
    label = declaration.name if declaration.server is None else declaration.server
    return declaration.kind, label, declaration.plugin, declaration.agent


def _strength(declaration: Declaration) -> tuple[bool, int, int]:
    """Sort key of declarations with the same name, strongest first: skill, scope, nearest directory.

    Inside a plugin, a command comes before a skill.
    """
    is_late = (declaration.kind is Kind.SLASH_COMMAND) == (declaration.plugin is None)
    return is_late, *strength(declaration.kind, declaration.scope, declaration.dir)
