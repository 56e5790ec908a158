"""Weighs the signals of neighboring sentences together."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from remit.inspection.inspection_findings import InspectionFinding, Suspicion, finding
from remit.inspection.scorer_weights import HIGH, MEDIUM, WEIGHTS
from remit.inspection.signal import Signal

COMBINED = "combined-signs"  # the rule
WINDOW = 2  # sentences that are weighed together
_SHOWN = 4


class Reading(NamedTuple):
    """A sentence and the signals in it."""

    text: str
    signals: tuple[Signal, ...]
    score: float = 0.0  # of the linear model
    certainty: float = -math.inf  # of both models together


def combined(readings: Sequence[Reading], plausible: float) -> InspectionFinding | None:
    """Report the most suspicious neighbors, if their signals are enough together and the model agrees."""
    if not any(reading.signals for reading in readings):
        return None  # as nearly always
    spans = [readings[at : at + WINDOW] for at in range(len(readings))]
    spans = [span for span in spans if max(each.score for each in span) >= plausible]
    span = max(spans, key=score, default=())
    if (total := score(span)) < MEDIUM:
        return None
    strongest = sorted(signals_of(span), key=weight, reverse=True)[:_SHOWN]
    reasons = ", ".join(signal.reason for signal in strongest if weight(signal) > 0)
    is_strong = any(signal.severity is not None for signal in signals_of(span))
    severity = Suspicion.HIGH if total >= HIGH and is_strong else Suspicion.MEDIUM
    return finding(
        COMBINED,
        severity,
        f"several signs together: {reasons}",
        " ".join(reading.text for reading in span),
    )


def score(span: Sequence[Reading]) -> float:
    """Return the weight of all signals in neighboring sentences."""
    return sum(map(weight, signals_of(span)))


def signals_of(span: Sequence[Reading]) -> list[Signal]:
    """Return the signals of neighboring sentences, each once."""
    return list({signal.name: signal for reading in span for signal in reading.signals}.values())


def weight(signal: Signal) -> float:
    """Return the weight of a signal."""
    return WEIGHTS.get(signal.name, 0.0)
