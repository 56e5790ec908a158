"""Packages that are fetched without a version."""

from collections.abc import Iterator

from remit.decision.kinds import COULD_RUN
from remit.decision.problems import Severity
from remit.doctor.findings import Finding, Patient, about, to_its_owner
from remit.doctor.package_commands import Unpinned, unpinned
from remit.text.secrets import shown


def unpinned_packages(patient: Patient) -> Iterator[Finding]:
    """Find servers whose code may be another one tomorrow than the one that was reviewed."""
    for item in patient.servers:
        declaration, launch = item.declaration, item.declaration.launch
        runs = item.shadowed_by is None and item.config_status in COULD_RUN and not declaration.is_remit
        if not runs or launch is None:
            continue
        if (package := unpinned([launch.command, *launch.args])) is not None:
            yield about(
                declaration,
                Severity.WARNING,
                "unpinned",
                reason=f"{_name(package)} has no fixed version: what runs tomorrow is not what was reviewed",
                fix=to_its_owner(declaration, _fix(package)),
            )


def _name(package: Unpinned) -> str:
    return f"`{name}`" if (name := shown(package.name)) else "its package"


def _fix(package: Unpinned) -> str:
    name = shown(package.name) or "…"
    lookup = f"; `{package.lookup}` prints the newest" if package.lookup else ""
    return f"write `{package.pinned}`{lookup}".replace("{}", name)
