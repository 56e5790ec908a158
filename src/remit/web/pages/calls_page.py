"""Calls: what agents called in this project, filtered, over time, and as files."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from remit.audit.audit_log import AuditOutcome, CallQuery, FoundCalls, Timeline
from remit.cli.calls import calls_command
from remit.cli.render import plural
from remit.configuration.config_model import Role
from remit.text.times import local_time
from remit.web.page_model import Download, PageAnswer, PageRequest, PageSources, Values, page_of

ROWS = 100  # calls on a page
SPANS = {"": "all", "1h": "last hour", "24h": "last day", "7d": "last week", "30d": "last month"}
_MILLISECONDS = {"1h": 3_600_000, "24h": 86_400_000, "7d": 7 * 86_400_000, "30d": 30 * 86_400_000}
_MAIN = "main"
_EXPORTED = 100_000  # most rows of a file
_CHART_WIDTH, _CHART_HEIGHT = 960, 96
_GAP = 2
_WIDEST_BAR = 48  # so that few calls do not look like many


def read(sources: PageSources, asked: PageRequest) -> PageAnswer:
    """List the calls as `remit calls` does; on a gateway, only an administrator sees those of others."""
    registry, context = sources.registry, asked.options.context(sources.registry)
    viewer = asked.viewer
    principal = None if viewer is None or viewer.role is Role.ADMIN else viewer.name
    query = _query(asked.params)._replace(principal=principal)
    number = asked.number("page")
    paged = query._replace(limit=ROWS, offset=(number - 1) * ROWS)

    def values() -> Values:
        found = registry.audit.find(paged, context)
        return {
            "page": page_of(found.entries, number, ROWS, found.total),
            "bars": _timeline_bars(registry.audit.timeline(query, context)),
            "agents": registry.audit.agents(context, principal),
            "outcomes": [each.value for each in AuditOutcome],
            "spans": SPANS,
            "note": calls_command.outcome_note,
            "outcome": calls_command.outcome_word,
        }

    def shape() -> dict[str, object]:
        return calls_command.calls_shape(registry.audit.find(paged, context), context)

    def every() -> FoundCalls:
        return registry.audit.find(query._replace(limit=_EXPORTED), context)

    def as_csv() -> Download:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(calls_command.csv_rows(every().entries))
        return Download("calls.csv", "text/csv", text.getvalue())

    def as_lines() -> Download:
        lines = (json.dumps(calls_command.call_shape(each)) for each in every().entries)
        return Download("calls.jsonl", "application/jsonl", "".join(f"{line}\n" for line in lines))

    return PageAnswer(
        "calls.html",
        shape,
        values,
        fragment="calls_listing.html",
        downloads={"csv": as_csv, "jsonl": as_lines},
    )


def _query(params: Mapping[str, str]) -> CallQuery:
    span = _MILLISECONDS.get(params.get("span", ""))
    agent = params.get("by") or None
    outcome = params.get("outcome", "")
    return CallQuery(
        text=params.get("q", "").strip(),
        agent="" if agent == _MAIN else agent,
        outcome=outcome if outcome in [each.value for each in AuditOutcome] else None,
        since=None if span is None else int(time.time() * 1000) - span,
    )


class ChartBar(NamedTuple):
    """The SVG bar of an interval: its calls, with the refused and failed ones at its foot."""

    x: float
    width: float
    y: float
    height: float
    bad_y: float
    bad_height: float
    title: str


def _timeline_bars(timeline: Timeline) -> Sequence[ChartBar]:
    """Place the bars; the largest one has the full height."""
    most = max((bar.calls for bar in timeline.bars), default=0)
    if not most:
        return ()
    step = min(_CHART_WIDTH / len(timeline.bars), _WIDEST_BAR)
    bars: list[ChartBar] = []
    for at, bar in enumerate(timeline.bars):
        height, bad = (_CHART_HEIGHT * count / most for count in (bar.calls, bar.failures + bar.refused))
        parts = [plural(bar.calls, "call")]
        parts += [f"{bar.failures:,} failed"] if bar.failures else []
        parts += [f"{bar.refused:,} refused"] if bar.refused else []
        bars.append(
            ChartBar(
                x=round(at * step, 1),
                width=round(step - _GAP, 1),
                y=round(_CHART_HEIGHT - height, 1),
                height=round(height, 1),
                bad_y=round(_CHART_HEIGHT - bad, 1),
                bad_height=round(bad, 1),
                title=f"{local_time(bar.start)}: {', '.join(parts)}",
            )
        )
    return bars
