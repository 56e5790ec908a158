"""Resolve: which of the declarations a workspace can see are in force, and what stands in the others' way.

Shadowing is a property of the group, so it is worked out here, once, and the gate `precedence` only reads it.
The rules are those observed on the real Claude Code: what is pending or rejected never shadows; what is
disabled or denied still shadows by name; only what is enabled shadows a plugin's server by endpoint.
"""

from collections.abc import Iterable, Sequence, Set

from remit.core.declarations import ClientSettings, Declaration, Resolved
from remit.core.kinds import ConfigStatus, Kind
from remit.core.names import normalise
from remit.core.scopes import PRECEDENCE, Scope

_NEVER_SHADOWS = frozenset({ConfigStatus.PENDING, ConfigStatus.REJECTED})


def resolve(declarations: Iterable[Declaration], settings: ClientSettings) -> list[Resolved]:
    """Give each declaration its status and, where another one is in force instead, that one."""
    unique = {declaration.key: declaration for declaration in declarations}  # the last one written counts
    disabled, rejected = settings.names(ConfigStatus.DISABLED), settings.names(ConfigStatus.REJECTED)
    judged = [(item, _config_status(item, disabled, rejected)) for item in unique.values()]
    by_name = _winners_by_name(judged)
    by_endpoint = {
        declaration.endpoint: declaration
        for declaration, status in judged
        if status is ConfigStatus.ENABLED
        and declaration.endpoint is not None
        and declaration.scope is not Scope.PLUGIN
        and by_name[_identity(declaration)] is declaration
    }
    resolved: list[Resolved] = []
    for declaration, status in judged:
        winner = by_name.get(_identity(declaration), declaration)
        if declaration.scope is Scope.PLUGIN and declaration.endpoint is not None:
            winner = by_endpoint.get(declaration.endpoint, winner)
        shadowed_by = None if winner is declaration else winner
        resolved.append(Resolved(declaration=declaration, config_status=status, shadowed_by=shadowed_by))
    return resolved


def _config_status(declaration: Declaration, disabled: Set[str], rejected: Set[str]) -> ConfigStatus:
    """Tell what the client's own settings make of one declaration."""
    label = declaration.server or declaration.name
    if declaration.plugin is not None:
        label = f"plugin:{declaration.plugin}:{label}"
    if declaration.scope is Scope.PROJECT and normalise(label) in rejected:
        return ConfigStatus.REJECTED
    if label in disabled:
        return ConfigStatus.DISABLED
    return ConfigStatus.ITSELF if declaration.is_remit else ConfigStatus.ENABLED


def _winners_by_name(
    judged: Sequence[tuple[Declaration, ConfigStatus]],
) -> dict[tuple[Kind, str, str | None], Declaration]:
    winners: dict[tuple[Kind, str, str | None], Declaration] = {}
    for declaration, status in judged:
        if status in _NEVER_SHADOWS:
            continue
        holder = winners.setdefault(_identity(declaration), declaration)
        if _strength(declaration) < _strength(holder):
            winners[_identity(declaration)] = declaration
    return winners


def _identity(declaration: Declaration) -> tuple[Kind, str, str | None]:
    # A server's name as written: `a.b` and `a_b` are two servers, though their tools are named alike.
    return declaration.kind, declaration.server or declaration.name, declaration.plugin


def _strength(declaration: Declaration) -> tuple[int, int]:
    """Order declarations of one name, strongest first; of two directories the nearer one."""
    order = PRECEDENCE.get(declaration.kind, tuple(Scope))
    rank = order.index(declaration.scope) if declaration.scope in order else len(order)
    return rank, -len(declaration.dir or "")
