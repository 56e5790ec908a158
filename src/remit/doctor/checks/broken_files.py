"""Invalid files and entries."""

import re
from collections.abc import Iterator

from remit.decision.problems import Problem, Severity
from remit.doctor.findings import ClientSetup, Finding

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


def broken_files(setup: ClientSetup) -> Iterator[Finding]:
    """Find unreadable files, and entries that the client skips."""
    for problem in setup.problems:
        reason, fix = _told(problem)
        yield Finding(
            severity=Severity.ERROR,
            check="file",
            source=problem.source,
            place=problem.place,
            reason=reason,
            fix=fix,
        )


def _told(problem: Problem) -> tuple[str, str]:
    """Return the reason and the fix; a reason that ends with its fix does not repeat it."""
    fix = fix_for(problem)
    return problem.reason.removesuffix(f"; {fix}"), fix


def fix_for(problem: Problem) -> str:
    """Derive the fix of a problem from its reason."""
    for pattern, fix in _FIXES:
        if match := re.search(pattern, problem.reason):
            return match.expand(fix)
    return _OTHERWISE
