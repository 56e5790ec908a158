"""Code of a repository that the client itself runs: hooks, helper commands and variables."""

from collections.abc import Iterator

from remit.decision.problems import Severity
from remit.decision.settings_rules import ExecutedSetting
from remit.doctor.findings import ClientSetup, Finding

_SHOWN = 10  # per file


def project_code(setup: ClientSetup) -> Iterator[Finding]:
    """Find files of a repository that make the client run code, each once."""
    for source in dict.fromkeys(each.source for each in setup.executed):
        found = list(dict.fromkeys(each for each in setup.executed if each.source == source))
        named = [_named(each, setup) for each in found[:_SHOWN]]
        more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        yield Finding(
            severity=Severity.WARNING,
            check="code",
            source=source,
            reason=f"the client runs code that this file chooses: {', '.join([*named, *more])}; Remit cannot "
            "prevent that",
            fix="check what runs before you start the client here, and remove what you do not trust",
        )


def _named(each: ExecutedSetting, setup: ClientSetup) -> str:
    line = setup.line_of(each.source, *filter(None, (each.section, each.key)))
    where = f" (line {line})" if line else ""
    return f"`{each.key}`{where}{f' runs `{each.command}`' if each.command else ''}"
