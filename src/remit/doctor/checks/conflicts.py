"""Servers that stand in each other's way, or for each other."""

from collections.abc import Iterator

from remit.decision.context import shorten
from remit.decision.declarations import Declaration, Resolved
from remit.decision.kinds import COULD_RUN, ConfigStatus
from remit.decision.launch import Launch
from remit.decision.problems import Severity
from remit.doctor.findings import Finding, Patient, about


def conflicts(patient: Patient) -> Iterator[Finding]:
    """Find declarations that lose to another of the same name which starts or reaches something else."""
    for item in patient.servers:
        loser, winner = item.declaration, item.shadowed_by
        if winner is None or item.config_status not in COULD_RUN:
            continue
        if _label(winner) == _label(loser) and winner.endpoint != loser.endpoint:
            yield about(
                loser,
                Severity.WARNING,
                "conflict",
                reason=_conflict(item, winner, patient),
                fix="give one of the two another name, or remove one",
            )


def _conflict(item: Resolved, winner: Declaration, patient: Patient) -> str:
    rival = f"the {winner.scope} declaration of this name in {shorten(winner.source, patient.context)}"
    if item.config_status is ConfigStatus.PENDING:
        return f"waits for approval; until then {rival} is in force, which is another server"
    return f"not in force: {rival} wins, which is another server"


def _label(declaration: Declaration) -> tuple[str | None, str | None]:
    return declaration.server, declaration.plugin


def duplicates(patient: Patient) -> Iterator[Finding]:
    """Find servers that are in force under several names, so that their tools are listed again and again."""
    first: dict[object, Declaration] = {}
    for declaration, launch in patient.launches:
        original = first.setdefault(_identity(declaration, launch), declaration)
        if original is not declaration:
            place = shorten(original.source, patient.context)
            yield about(
                declaration,
                Severity.WARNING,
                "duplicate",
                reason=f"the same server as `{original.server}` ({original.scope}, {place}): "
                "each of its tools is there twice, and costs its tokens twice",
                fix="remove one of the two",
            )


def _identity(declaration: Declaration, launch: Launch) -> object:
    """What makes two servers the same; with other variables or headers it may be another account."""
    if declaration.is_remit:
        return "remit"
    details = (frozenset(launch.env.items()), frozenset(launch.headers.items()), launch.cwd)
    return launch.endpoint, *details
