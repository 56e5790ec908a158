"""Finds what a definition tries to hide from people or to make a model do."""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from remit.decision import Definition
from remit.text import make_visible

HIGH = "high"
MEDIUM = "medium"


class Finding(NamedTuple):
    """Something suspicious in a definition."""

    severity: str  # `high` withholds the definition until a person accepts it, `medium` is only told
    says: str  # in our words
    quote: str = ""  # of the definition
    place: str = ""  # in the definition: `description`, `parameter path`


class OtherTools(NamedTuple):
    """What else is declared in a workspace, which a server may imitate."""

    servers: frozenset[str] = frozenset()  # labels
    tools: frozenset[str] = frozenset()  # canonical names


class Inspector(Protocol):
    """Inspects definitions; findings are kept by content and version."""

    version: str

    def inspect(self, tools: Sequence[Definition], others: OtherTools) -> list[Sequence[Finding]]:
        """Return the findings about each of these definitions, from any thread."""
        ...


def read_findings(text: str | None) -> list[Finding]:
    """Read stored findings."""
    return [Finding(*finding) for finding in json.loads(text)] if text else []


def has_high(findings: Iterable[Finding]) -> bool:
    """Return whether a finding withholds a definition."""
    return any(finding.severity == HIGH for finding in findings)


def told(findings: Iterable[Finding]) -> str:
    """Write findings for people, with quotes."""
    return "; ".join(
        finding.says
        + (f": “{make_visible(finding.quote)}”" if finding.quote else "")
        + (f" ({make_visible(finding.place)})" if finding.place else "")
        for finding in findings
    )
