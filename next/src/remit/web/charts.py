"""Charts as SVG: bars with an axis of tokens, and columns over time with an axis of calls.

Positions are percentages, so a chart fills any width while its text keeps its size.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from remit.cli import printable


class Part(NamedTuple):
    """A part of a bar or column: how it is drawn, and how much it is."""

    style: str
    value: int


def axis(most: int, steps: int) -> list[int]:
    """Return the marks of an axis from 0 to a round number that is at least `most`."""
    sizes = (factor * 10**power for power in range(18) for factor in (1, 2, 5))
    step = next(size for size in sizes if size * steps >= most)
    return [step * mark for mark in range(max(-(-most // step), 1) + 1)]


def bars(parts: Sequence[Part], most: int, label: str) -> Markup:
    """Draw a horizontal bar of parts, on a grid that ends at the last mark of the axis."""
    marks = axis(most, 4)
    at, drawn = 0.0, [_grid_line(100 * mark / marks[-1]) for mark in marks[1:-1]]
    for style, value in parts:
        if value > 0:
            width = max(100 * value / marks[-1], 0.3)
            drawn.append(_rect(style, at, 0, width, 100))
            at += width
    return _image("bar", label, drawn)


def columns(stacks: Sequence[tuple[str, Sequence[Part]]], label: str) -> Markup:
    """Draw a column for each interval, with its title and its parts from below."""
    marks = axis(max((sum(part.value for part in parts) for _, parts in stacks), default=0), 4)
    wide = 100 / max(len(stacks), 1)
    drawn = [
        Markup('<line class="grid" x1="0" x2="100%" y1="{0:.2f}%" y2="{0:.2f}%"/>').format(
            100 - 100 * mark / marks[-1]
        )
        for mark in marks[1:]
    ]
    for position, (title, parts) in enumerate(stacks):
        top = 100.0
        rects = [_rect("hover", wide * position, 0, wide, 100)]
        for style, value in parts:
            if value:
                height = max(100 * value / marks[-1], 1.0)
                top -= height
                rects.append(_rect(style, wide * (position + 0.1), top, wide * 0.8, height))
        drawn.append(Markup("<g><title>{}</title>{}</g>").format(title, Markup("").join(rects)))
    return _image("plot", label, drawn)


def _image(style: str, label: str, drawn: Iterable[Markup]) -> Markup:
    return Markup('<svg class="{}" role="img" aria-label="{}">{}</svg>').format(
        style, printable(label), Markup("").join(drawn)
    )


def _rect(style: str, x: float, y: float, width: float, height: float) -> Markup:
    return Markup('<rect class="{}" x="{:.2f}%" y="{:.2f}%" width="{:.2f}%" height="{:.2f}%"/>').format(
        style, x, y, width, height
    )


def _grid_line(at: float) -> Markup:
    return Markup('<line class="grid" x1="{0:.2f}%" x2="{0:.2f}%" y1="0" y2="100%"/>').format(at)
