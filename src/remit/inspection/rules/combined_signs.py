"""Weighs the rules that match neighboring sentences together."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from remit.inspection.inspection_findings import InspectionFinding, Suspicion, finding
from remit.inspection.rules.sign_weights import HIGH, MEDIUM, WEIGHTS
from remit.inspection.rules.text_rule import TextRule

COMBINED = "combined-signs"  # the rule
WINDOW = 2  # sentences that are weighed together
_SHOWN = 4


class Reading(NamedTuple):
    """A sentence and the rules that match it."""

    text: str
    rules: tuple[TextRule, ...]
    score: float = 0.0  # of the linear model
    certainty: float = -math.inf  # of both models together


def combined(readings: Sequence[Reading], plausible: float) -> InspectionFinding | None:
    """Report the most suspicious neighbors, if their rules weigh enough together and the model agrees."""
    if not any(reading.rules for reading in readings):
        return None  # as nearly always
    spans = [readings[at : at + WINDOW] for at in range(len(readings))]
    spans = [span for span in spans if max(each.score for each in span) >= plausible]
    span = max(spans, key=score, default=())
    if (total := score(span)) < MEDIUM:
        return None
    strongest = sorted(rules_of(span), key=weight, reverse=True)[:_SHOWN]
    reasons = ", ".join(rule.reason for rule in strongest if weight(rule) > 0)
    is_strong = any(rule.severity is not None for rule in rules_of(span))
    severity = Suspicion.HIGH if total >= HIGH and is_strong else Suspicion.MEDIUM
    return finding(
        COMBINED,
        severity,
        f"several signs together: {reasons}",
        " ".join(reading.text for reading in span),
    )


def score(span: Sequence[Reading]) -> float:
    """Return the weight of all rules that match neighboring sentences."""
    return sum(map(weight, rules_of(span)))


def rules_of(span: Sequence[Reading]) -> list[TextRule]:
    """Return the rules that match neighboring sentences, each once."""
    return list({rule.name: rule for reading in span for rule in reading.rules}.values())


def weight(rule: TextRule) -> float:
    """Return the weight of a rule."""
    return WEIGHTS.get(rule.name, 0.0)
