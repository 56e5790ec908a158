"""Diagnoses a client's configuration in a workspace: each problem and its fix.

Each check in an ordered table looks at the whole setup and yields findings.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from remit.decision.problems import Severity
from remit.doctor.checks.broken_files import broken_files, configuration_mistakes
from remit.doctor.checks.cannot_start import (
    missing_programs,
    relative_commands,
    unavailable_sandboxes,
    unset_variables,
)
from remit.doctor.checks.changed_definitions import (
    changed_definitions,
    differing_from_lock,
    replaced_packages,
    withheld_items,
)
from remit.doctor.checks.exposed_secrets import exposed_secrets
from remit.doctor.checks.ignored_servers import ignored_servers
from remit.doctor.checks.install_health import (
    loaded_twice,
    lost_installs,
    missing_protection,
    unavailable_servers,
    unloaded_servers,
)
from remit.doctor.checks.name_collisions import colliding_names, conflicts, duplicates, long_names
from remit.doctor.checks.unreviewed_code import (
    changed_entries,
    project_code,
    unpinned_packages,
)
from remit.doctor.checks.upkeep import failed_servers, unused_servers, waiting_servers
from remit.doctor.findings import ClientSetup, Finding

if TYPE_CHECKING:
    from remit.configuration.configuration_service import ConfigurationFinding

Check = Callable[[ClientSetup], Iterable[Finding]]

CHECKS: tuple[Check, ...] = (
    broken_files,
    ignored_servers,
    missing_protection,
    lost_installs,
    unloaded_servers,
    loaded_twice,
    unavailable_servers,
    changed_definitions,
    withheld_items,
    differing_from_lock,
    replaced_packages,
    changed_entries,
    project_code,
    exposed_secrets,
    missing_programs,
    unavailable_sandboxes,
    failed_servers,
    unset_variables,
    relative_commands,
    colliding_names,
    long_names,
    conflicts,
    duplicates,
    unpinned_packages,
    waiting_servers,
    unused_servers,
)

_SEVERITIES = {severity: rank for rank, severity in enumerate(Severity)}


def diagnose(setups: Iterable[ClientSetup], mistakes: "Iterable[ConfigurationFinding]" = ()) -> list[Finding]:
    """Return each problem once, by file and severity; clients that share a file share its problems.

    `mistakes` are those in Remit's own configuration.
    """
    found = dict.fromkeys(chain(configuration_mistakes(mistakes), _findings(setups)))
    return sorted(found, key=lambda finding: (finding.source, _SEVERITIES[finding.severity]))


def _findings(setups: Iterable[ClientSetup]) -> Iterator[Finding]:
    return (finding for setup in setups for check in CHECKS for finding in check(setup))
