"""What an inspection reports."""

from dataclasses import dataclass
from enum import StrEnum

from remit.text.untrusted_text import one_line

_EXCERPT = 160  # characters


class Suspicion(StrEnum):
    """How suspicious a finding is, worst first."""

    HIGH = "high"  # steers the model against its user; hold the tool
    MEDIUM = "medium"  # unusual in a description; look at it
    LOW = "low"  # good to know


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectionFinding:
    """One reason to look at a definition."""

    rule: str
    severity: Suspicion
    reason: str
    excerpt: str


def finding(rule: str, severity: Suspicion, reason: str, text: str) -> InspectionFinding:
    """Make a finding with a printable excerpt."""
    return InspectionFinding(rule=rule, severity=severity, reason=reason, excerpt=one_line(text, _EXCERPT))


def worst(findings: list[InspectionFinding]) -> Suspicion | None:
    """Return the severity of a definition: that of its worst finding."""
    found = {each.severity for each in findings}
    return next((severity for severity in Suspicion if severity in found), None)
