"""Packages without a pinned version."""

from collections.abc import Iterator

from remit.decision.kinds import COULD_RUN
from remit.decision.problems import Severity
from remit.doctor.findings import ClientSetup, Finding, finding_about, fix_for_owner
from remit.text.secrets import shown
from remit.trust.package_commands import UnpinnedPackage, unpinned


def unpinned_packages(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose code may change without review."""
    for item in setup.servers:
        declaration, launch = item.declaration, item.declaration.launch
        runs = item.shadowed_by is None and item.config_status in COULD_RUN and not declaration.is_remit
        if not runs or launch is None:
            continue
        if (package := unpinned([launch.command, *launch.args])) is not None:
            yield finding_about(
                declaration,
                Severity.WARNING,
                "unpinned",
                reason=f"{_name(package)} has no fixed version: what runs tomorrow is not what was reviewed",
                fix=fix_for_owner(declaration, _fix(package)),
            )


def _name(package: UnpinnedPackage) -> str:
    return f"`{name}`" if (name := shown(package.name)) else "its package"


def _fix(package: UnpinnedPackage) -> str:
    name = shown(package.name) or "…"
    lookup = f"; `{package.lookup}` prints the newest" if package.lookup else ""
    return f"write `{package.pinned}`{lookup}".replace("{}", name)
