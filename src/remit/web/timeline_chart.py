"""The bars of a timeline, as coordinates of an SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from remit.audit.audit_log import Timeline
from remit.cli.render import plural
from remit.text.times import local_time

WIDTH, HEIGHT = 960, 96
_GAP = 2
_WIDEST = 48  # of a bar, so that few calls do not look like many


class ChartBar(NamedTuple):
    """A bar: the calls of an interval, with the refused and failed ones at its foot."""

    x: float
    width: float
    y: float
    height: float
    bad_y: float
    bad_height: float
    title: str


def timeline_bars(timeline: Timeline) -> Sequence[ChartBar]:
    """Place the bars; the largest one has the full height."""
    most = max((bar.calls for bar in timeline.bars), default=0)
    if not most:
        return ()
    step = min(WIDTH / len(timeline.bars), _WIDEST)
    bars: list[ChartBar] = []
    for at, bar in enumerate(timeline.bars):
        height, bad = (HEIGHT * count / most for count in (bar.calls, bar.failures + bar.refused))
        parts = [plural(bar.calls, "call")]
        parts += [f"{bar.failures:,} failed"] if bar.failures else []
        parts += [f"{bar.refused:,} refused"] if bar.refused else []
        bars.append(
            ChartBar(
                x=round(at * step, 1),
                width=round(step - _GAP, 1),
                y=round(HEIGHT - height, 1),
                height=round(height, 1),
                bad_y=round(HEIGHT - bad, 1),
                bad_height=round(bad, 1),
                title=f"{local_time(bar.start)}: {', '.join(parts)}",
            )
        )
    return bars
