"""Servers that shadow or duplicate each other."""

from collections.abc import Iterator

from remit.decision.context import shorten
from remit.decision.declarations import Declaration, Resolved
from remit.decision.declared_launch import Launch
from remit.decision.kinds import COULD_RUN, ConfigStatus
from remit.decision.problems import Severity
from remit.doctor.findings import ClientSetup, Finding, finding_about


def conflicts(setup: ClientSetup) -> Iterator[Finding]:
    """Find declarations shadowed by one of the same name with another command or URL."""
    for item in setup.servers:
        loser, winner = item.declaration, item.shadowed_by
        if winner is None or item.config_status not in COULD_RUN or loser.is_remit:
            continue  # the check of the install reports a replaced gateway
        if _label(winner) == _label(loser) and winner.endpoint != loser.endpoint:
            yield finding_about(
                loser,
                Severity.WARNING,
                "conflict",
                reason=_conflict(item, winner, setup),
                fix="give one of the two another name, or remove one",
            )


def _conflict(item: Resolved, winner: Declaration, setup: ClientSetup) -> str:
    rival = f"the {winner.scope} declaration of this name in {shorten(winner.source, setup.context)}"
    if item.config_status is ConfigStatus.PENDING:
        return f"waits for approval; until then {rival} is used, which is another server"
    return f"not used: {rival} wins, which is another server"


def _label(declaration: Declaration) -> tuple[str | None, str | None]:
    return declaration.server, declaration.plugin


def duplicates(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers that are active under several names, so their tools are listed twice."""
    first: dict[object, Declaration] = {}
    for declaration, launch in setup.launches:
        original = first.setdefault(_identity(declaration, launch), declaration)
        if original is not declaration:
            place = shorten(original.source, setup.context)
            yield finding_about(
                declaration,
                Severity.WARNING,
                "duplicate",
                reason=f"the same server as `{original.server}` ({original.scope}, {place}): "
                "each of its tools is listed twice and costs its tokens twice",
                fix="remove one of the two",
            )


def _identity(declaration: Declaration, launch: Launch) -> object:
    """Return the identity of a server; other variables or headers may mean another account."""
    if declaration.is_remit:
        return "remit"
    details = (frozenset(launch.env.items()), frozenset(launch.headers.items()), launch.cwd)
    return launch.endpoint, *details
