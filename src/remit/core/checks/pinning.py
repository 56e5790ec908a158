"""Packages that are fetched without a version."""

from collections.abc import Iterator

from remit.core.findings import Finding, Patient, Severity, about, to_its_owner
from remit.core.kinds import ConfigStatus
from remit.core.packages import Unpinned, unpinned
from remit.core.secrets import shown

_MAY_RUN = (ConfigStatus.ENABLED, ConfigStatus.PENDING)


def unpinned_packages(patient: Patient) -> Iterator[Finding]:
    """Find servers whose code may be another one tomorrow than the one that was reviewed."""
    for item in patient.servers:
        launch = item.declaration.launch
        if launch is None or item.shadowed_by is not None or item.config_status not in _MAY_RUN:
            continue
        if (package := unpinned([launch.command, *launch.args])) is not None:
            yield about(
                item.declaration,
                Severity.WARNING,
                "unpinned",
                reason=f"{_name(package)} has no fixed version: what runs tomorrow is not what was reviewed",
                fix=to_its_owner(item.declaration, _fix(package)),
            )


def _name(package: Unpinned) -> str:
    return f"`{name}`" if (name := shown(package.name)) else "its package"


def _fix(package: Unpinned) -> str:
    name = shown(package.name) or "…"
    lookup = f"; `{package.lookup}` prints the newest" if package.lookup else ""
    return f"write `{package.pinned}`{lookup}".replace("{}", name)
