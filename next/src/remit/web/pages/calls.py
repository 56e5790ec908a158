"""Calls: what agents called in this project, filtered, and over time."""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from remit.cli import answers, outcome_text
from remit.store import CallBar, CallQuery, Outcome
from remit.text import local_time
from remit.web.charts import Part
from remit.web.listing import Source
from remit.web.page import Answer, Paged, Request, Values

HOUR = 3_600_000  # milliseconds
ROWS = 100  # calls on a page
SPANS = {"": "all", "24h": "last day", "7d": "last week", "30d": "last month"}
_STEPS = {"24h": (HOUR, 24), "7d": (6 * HOUR, 28), "30d": (24 * HOUR, 30)}  # width and number of columns
_WIDTHS = (HOUR, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR, 30 * 24 * HOUR, 365 * 24 * HOUR)
_COLUMNS = 30
_LABELS = 4
_MAIN = "main"


class Timeline(NamedTuple):
    """Calls by interval, for a chart."""

    stacks: Sequence[tuple[str, Sequence[Part]]]
    labels: Sequence[str]  # the start of each quarter
    totals: Mapping[str, int]
    most: int
    unit: str  # what a column is


def read(source: Source, request: Request) -> Answer:
    """List the calls as `remit calls` does."""
    context, store = request.here.context(source.registry), source.registry.store.calls
    query, number = _query(request.params), max(request.number("page"), 1)
    page = query._replace(limit=ROWS, offset=(number - 1) * ROWS)

    def values() -> Values:
        span = store.span(query, context.workspace)
        step, count = _STEPS.get(request.params.get("span", ""), (0, 0))
        if not step:
            length = span.last_at - span.first_at
            step = next((width for width in _WIDTHS if length < width * (_COLUMNS - 1)), _WIDTHS[-1])
            count = max(24, length // step + 2) if step == HOUR else _COLUMNS
        first = start_of(step, count, None if "span" in request.params else span.last_at)
        found = store.find(page, context.workspace)
        return {
            "page": Paged(found, number, max(1, -(-span.calls // ROWS)), span.calls, (number - 1) * ROWS + 1),
            "timeline_": timeline(store.bars(query, context.workspace, step), first, step, count),
            "agents": store.agents(context.workspace),
            "outcomes": [outcome.value for outcome in Outcome],
            "spans": SPANS,
            "outcome_text": outcome_text,
            "is_filtered": any(request.params.get(name) for name in ("q", "span", "by", "outcome")),
        }

    def shape() -> answers.Shape:
        found = store.find(page, context.workspace)
        return answers.calls(found, store.span(query, context.workspace).calls, context)

    return Answer("calls.html", shape, values, part="part")


def _query(params: Mapping[str, str]) -> CallQuery:
    step, count = _STEPS.get(params.get("span", ""), (0, 0))
    agent = params.get("by") or None
    outcome = params.get("outcome", "")
    return CallQuery(
        text=params.get("q", "").strip(),
        agent="" if agent == _MAIN else agent,
        outcome=outcome if outcome in [known.value for known in Outcome] else None,
        since=start_of(step, count) if step else None,
    )


def start_of(step: int, count: int, last: int | None = None) -> int:
    """Return the start of the first of some intervals, of which the last one has a time; by default now."""
    at = last or int(time.time() * 1000)
    return at - at % step - (count - 1) * step


def timeline(bars: Sequence[CallBar], first: int, step: int, count: int) -> Timeline:
    """Arrange the calls of intervals that have any; the others are empty columns."""
    by_start = {bar.start: bar for bar in bars}
    shape = "%H:%M" if step == HOUR else "%a %H:%M" if step < 24 * HOUR else "%b %d"
    stacks: list[tuple[str, Sequence[Part]]] = []
    totals = {"done": 0, "refused": 0, "failed": 0}
    for start in range(first, first + count * step, step):
        bar = by_start.get(start, CallBar(start, 0, 0, 0))
        counts = {
            "done": bar.calls - bar.failures - bar.refused,
            "refused": bar.refused,
            "failed": bar.failures,
        }
        words = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)
        times = f"{local_time(start, shape)} to {local_time(start + step, shape)}"
        stacks.append(
            (f"{times}: {words or 'no calls'}", [Part(name, number) for name, number in counts.items()])
        )
        totals = {name: totals[name] + number for name, number in counts.items()}
    quarters = [first + step * (count * quarter // _LABELS) for quarter in range(_LABELS)]
    unit = (
        "hour"
        if step == HOUR
        else "6 hours"
        if step < 24 * HOUR
        else "day"
        if step == 24 * HOUR
        else "interval"
    )
    most = max((sum(part.value for part in parts) for _, parts in stacks), default=0)
    return Timeline(stacks, [local_time(start, shape) for start in quarters], totals, most, unit)
