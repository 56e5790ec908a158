"""Invalid files and entries, and mistakes in Remit's own configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from remit.decision.problems import Problem, Severity
from remit.doctor.findings import ClientSetup, Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit.configuration.configuration_service import ConfigurationFinding


_FIXES = (  # the first match of the reason wins
    (r"not valid JSON", "correct the text there; JSON has no comments and no trailing commas"),
    (r"not valid (TOML|YAML)", "correct the text there"),
    (r"not usable|; at most ", "make the file smaller and flatter"),
    (r"the file is empty", "write `{}` into it, or delete it"),
    (r"permission denied", "make it readable (`chmod u+r`)"),
    (r"regular file|symbolic links|cannot be read", "replace it with a plain file, or delete it"),
    (r"; (rename .+)$", r"\1"),
    (r"`(\w+)` is missing", r"add `\1`"),
    (r"; (add .+)$", r"\1"),
    (r"reserved", "give the server another name"),
    (r"not one of (.+)$", r"use one of \1"),
    (r"expected (.+), found", r"write \1 there"),
    (r"must not be empty", "fill it in"),
)
_OTHERWISE = "fix it, or remove it"
# The message, its hint, and what follows from the mistake.
_HINTED = re.compile(r"(.+) \(((?:[^()]++|\([^()]*+\))*+)\)(; [^()]+)?", re.DOTALL)


def broken_files(setup: ClientSetup) -> Iterator[Finding]:
    """Find unreadable files, and entries that the client skips."""
    for problem in setup.problems:
        fix = _fix_for(problem)  # a reason that ends with its fix does not repeat it
        yield _finding(problem, Severity.ERROR, "file", problem.reason.removesuffix(f"; {fix}"), fix)


def _fix_for(problem: Problem) -> str:
    """Derive the fix of a problem from its reason."""
    for pattern, fix in _FIXES:
        if match := re.search(pattern, problem.reason):
            return match.expand(fix)
    return _OTHERWISE


def configuration_mistakes(found: Iterable[ConfigurationFinding]) -> Iterator[Finding]:
    """Turn errors and warnings into findings; a note is often about a server that was not listed yet."""
    for severity, problem in found:
        if severity is not Severity.NOTE:
            yield _finding(problem, severity, "configuration", *_hinted(problem))


def _hinted(problem: Problem) -> tuple[str, str]:
    """Return the reason and the fix: the hint in parentheses, if the reason has one."""
    told = _HINTED.fullmatch(problem.reason)
    if told is None:
        return problem.reason, _fix_for(problem)
    return f"{told[1]}{told[3] or ''}", re.sub("^expected one of", "use one of", told[2])


def _finding(problem: Problem, severity: Severity, check: str, reason: str, fix: str) -> Finding:
    source, place, _ = problem
    return Finding(severity=severity, check=check, source=source, place=place, reason=reason, fix=fix)
