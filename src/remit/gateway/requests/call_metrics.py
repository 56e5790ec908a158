"""Counts the calls of a gateway process, for Prometheus."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds


class Sample(NamedTuple):
    """One value of a metric."""

    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""  # of the metric's name


class Metric(NamedTuple):
    """A metric with its values."""

    name: str
    kind: str  # `counter`, `gauge` or `histogram`
    help: str
    samples: Sequence[Sample]


class CallMetrics:
    """The calls of a process by outcome and gate, and how long they took."""

    def __init__(self) -> None:
        self._outcomes: Counter[tuple[str, str]] = Counter()
        self._slots = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0

    def count(self, outcome: str, gate: str | None, seconds: float) -> None:
        """Count one call."""
        self._outcomes[outcome, gate or ""] += 1
        self._slots[bisect_left(BUCKETS, seconds)] += 1
        self._seconds += seconds

    def metrics(self) -> list[Metric]:
        """Return the counts as metrics."""
        calls = [
            Sample(count, {"outcome": outcome, "gate": gate})
            for (outcome, gate), count in sorted(self._outcomes.items())
        ]
        return [
            Metric("remit_calls_total", "counter", "Calls of tools by outcome and refusing gate.", calls),
            Metric("remit_call_seconds", "histogram", "How long calls took.", [*self._histogram()]),
        ]

    def _histogram(self) -> Iterator[Sample]:
        below = 0
        for limit, count in zip((*BUCKETS, float("inf")), self._slots, strict=True):
            below += count
            edge = "+Inf" if limit == float("inf") else f"{limit:g}"
            yield Sample(below, {"le": edge}, "_bucket")
        yield Sample(self._seconds, suffix="_sum")
        yield Sample(below, suffix="_count")


def prometheus_text(metrics: Iterable[Metric]) -> str:
    """Write metrics in the text format of Prometheus."""
    lines: list[str] = []
    for metric in metrics:
        lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
        lines += [f"{metric.name}{each.suffix}{_labels(each)} {each.value:.10g}" for each in metric.samples]
    return "\n".join([*lines, ""])


def _labels(sample: Sample) -> str:
    said = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
    return f"{{{said}}}" if said else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
