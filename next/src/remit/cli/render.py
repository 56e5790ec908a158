"""The one way to the terminal: escapes what strangers wrote, then wraps, styles, pages and writes it.

stdout has data, stderr has talk. A pipe gets each line whole, so its text is the same at every width.
"""

import json
import os
import sys
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from remit.errors import RemitError

if TYPE_CHECKING:
    from remit.store import Problem

Span = tuple[str, str]  # a text and its style, one of those below or empty
Line = str | tuple[Span, ...]  # a line of spans continues below the start of its last one
Shape = Mapping[str, object]  # an object of JSON

_STYLES: Mapping[str, Mapping[str, Any]] = {
    "": {},
    "title": {"bold": True},
    "dim": {"dim": True},
    "warn": {"fg": "yellow"},
    "bad": {"fg": "red"},
}
_NARROWEST = 40  # columns that a terminal is taken to have at least
_LEAST_ROOM = 24  # columns below a last span; with less, its line continues further left


def out(lines: Iterable[Line] | str = "") -> None:
    """Write lines of data."""
    _write(lines, sys.stdout)


def note(lines: Iterable[Line] | str) -> None:
    """Write lines for a person to stderr."""
    _write(lines, sys.stderr)


def data(shape: Shape) -> None:
    """Write JSON."""
    sys.stdout.write(f"{json.dumps(shape, indent=2)}\n")


def text(content: str) -> None:
    """Write a text as it is, and a line break."""
    sys.stdout.write(f"{content}\n" if content else "")


def paged(lines: Iterable[Line]) -> None:
    """Write lines of data, through a pager if a terminal is too small for them."""
    shown = [*_shown(lines, sys.stdout)]
    if sys.stdout.isatty() and sys.stdin.isatty():
        from shutil import get_terminal_size

        import click

        if len(shown) >= get_terminal_size().lines:
            click.echo_via_pager(f"{line}\n" for line in shown)
            return
    sys.stdout.writelines(f"{line}\n" for line in shown)


def error(failure: RemitError) -> None:
    """Write an error and its hint."""
    _failure("error", failure)


def warning(failure: RemitError) -> None:
    """Write an error as a warning, with its hint."""
    _failure("warning", failure)


def problems(found: "Iterable[Problem]", shorten: Callable[[str], str]) -> None:
    """Write problems in configuration files as warnings."""
    for problem in found:
        parts = (shorten(problem.source), problem.place, problem.reason)
        note(f"warning: {': '.join(part for part in parts if part)}")


def _failure(severity: str, failure: RemitError) -> None:
    note(f"{severity}: {failure}")
    if failure.hint:
        note(f"hint: {failure.hint}")


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str | Span]],
    *,
    numbers: Collection[str] = (),
    indent: int = 2,
) -> Iterator[Line]:
    """Lay out rows below their titles, aligned; a name is never cut, and an empty column is left out."""
    cells = [[cell if isinstance(cell, tuple) else (cell, "") for cell in row] for row in rows]
    # What is escaped later would be wider than its column.
    cells = [[(printable(text), style) for text, style in row] for row in cells]
    used = [at for at in range(len(columns)) if any(row[at][0] for row in cells)]
    widths = {at: max(len(columns[at]), *(len(row[at][0]) for row in cells)) for at in used}
    titles: list[list[Span]] = [[(title, "dim") for title in columns]]
    for row in [*titles, *cells] if cells else []:
        spans: list[Span] = [(" " * indent, "")] if indent else []
        for at in used:
            text, style = row[at]
            width = widths[at] if at != used[-1] or columns[at] in numbers else 0
            spans.append((text.rjust(width) if columns[at] in numbers else text.ljust(width), style))
            spans.append(("  ", ""))
        yield tuple(spans[:-1])


def printable(text: str) -> str:
    """Escape characters that control a terminal or cannot be seen: a name may come from any file."""
    if text.isascii() and text.isprintable():
        return text
    from remit.text import is_invisible

    return "".join(
        char if char.isprintable() and not is_invisible(char) else char.encode("unicode_escape").decode()
        for char in text
    )


@contextmanager
def bar(title: str, length: int) -> Generator[Callable[[str], None]]:
    """Draw a progress bar on a terminal; each call of what it gives is one step done, and says which."""
    if not sys.stderr.isatty():
        yield lambda _step: None
        return
    import click

    def show(step: str | None) -> str:
        return step or ""

    with click.progressbar(length=length, label=title, file=sys.stderr, item_show_func=show) as drawn:
        yield lambda step: drawn.update(1, printable(step))


def _write(lines: Iterable[Line] | str, stream: IO[str]) -> None:
    shown = _shown([lines] if isinstance(lines, str) else lines, stream)
    stream.writelines(f"{line}\n" for line in shown)


def _shown(lines: Iterable[Line], stream: IO[str]) -> Iterator[str]:
    width = _width(stream)
    has_styles = width is not None and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    for line in lines:
        spans = [(line, "")] if isinstance(line, str) else line
        spans = [(printable(text), style) for text, style in spans]
        whole = "".join(text for text, _ in spans).rstrip()
        if width is not None and len(whole) > width:
            hang = len(whole) - len(whole.lstrip()) + 2
            below = len(whole) - len(spans[-1][0].rstrip()) if len(spans) > 1 else hang
            yield from _wrapped(whole, width, below if width - below >= _LEAST_ROOM else hang)
        elif has_styles:
            yield _styled(spans)
        else:
            yield whole


def _wrapped(line: str, width: int, hang: int) -> Iterator[str]:
    from textwrap import wrap

    start = line[: len(line) - len(line.lstrip())]
    # The spaces between columns stay: what comes before `hang` is one word to the wrapper.
    head, rest = line[:hang], line[hang:]
    if not head.strip() or len(head) >= width or rest[:1] == " " or not head.endswith(" "):
        head, rest = start, line[len(start) :]
    yield from wrap(
        rest,
        width,
        initial_indent=head,
        subsequent_indent=" " * hang,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _styled(spans: Sequence[Span]) -> str:
    import click

    return "".join(
        click.style(text, **_STYLES[style]) if style and text.strip() else text for text, style in spans
    ).rstrip()


def _width(stream: IO[str]) -> int | None:
    """Return the width of a terminal; None if it is none."""
    if not stream.isatty():
        return None
    from shutil import get_terminal_size

    return max(get_terminal_size().columns, _NARROWEST)
