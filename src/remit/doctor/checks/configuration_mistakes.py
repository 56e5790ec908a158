"""Mistakes in Remit's own configuration, as `remit policy check` finds them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from remit.decision.problems import Severity
from remit.doctor.checks.broken_files import fix_for
from remit.doctor.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from remit.configuration.configuration_service import ConfigurationFinding
    from remit.decision.problems import Problem

# The message, its hint, and what follows from the mistake.
_HINTED = re.compile(r"(.+) \(((?:[^()]++|\([^()]*+\))*+)\)(; [^()]+)?", re.DOTALL)


def configuration_mistakes(found: Iterable[ConfigurationFinding]) -> Iterator[Finding]:
    """Turn errors and warnings into findings; a note is often about a server that was not listed yet."""
    for severity, problem in found:
        if severity is not Severity.NOTE:
            reason, fix = _told(problem)
            yield Finding(
                severity=severity,
                check="configuration",
                source=problem.source,
                place=problem.place,
                reason=reason,
                fix=fix,
            )


def _told(problem: Problem) -> tuple[str, str]:
    """Return the reason and the fix: the hint in parentheses, if the reason has one."""
    told = _HINTED.fullmatch(problem.reason)
    if told is None:
        return problem.reason, fix_for(problem)
    return f"{told[1]}{told[3] or ''}", re.sub("^expected one of", "use one of", told[2])
