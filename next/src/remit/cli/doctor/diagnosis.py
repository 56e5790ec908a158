"""The table of checks; each looks at the whole setup of a client and yields findings."""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING

from remit.cli.doctor import entries, installation, servers, trust
from remit.cli.doctor.findings import ClientSetup, Finding, Severity

if TYPE_CHECKING:
    from remit.config import Finding as RuleFinding
    from remit.store import Problem

CHECKS: tuple[Callable[[ClientSetup], Iterable[Finding]], ...] = (
    entries.broken_files,
    entries.ignored_servers,
    entries.missing_servers,
    installation.weakened_protection,
    installation.lost_programs,
    installation.allowed_shell,
    trust.pending_definitions,
    trust.differing_from_lock,
    trust.changed_entries,
    trust.untrusted_servers,
    entries.project_code,
    entries.exposed_secrets,
    servers.missing_programs,
    servers.failed_servers,
    servers.unset_variables,
    entries.colliding_names,
    entries.long_names,
    entries.conflicts,
    entries.duplicates,
    entries.unpinned_packages,
    servers.waiting_servers,
)
_ORDER = {severity: rank for rank, severity in enumerate(Severity)}


def diagnose(
    setups: Iterable[ClientSetup],
    problems: "Iterable[Problem]" = (),
    idle: "Iterable[RuleFinding]" = (),
) -> list[Finding]:
    """Return each problem once, by file and severity; clients that share a file share its problems.

    `problems` are in Remit's own files, and `idle` are rules there that match nothing.
    """
    found = (finding for setup in setups for check in CHECKS for finding in check(setup))
    unique = dict.fromkeys(chain(entries.configuration_mistakes(problems, idle), found))
    return sorted(unique, key=lambda finding: (finding.source, _ORDER[finding.severity]))
