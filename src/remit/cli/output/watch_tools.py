"""`remit tools --watch`: the list and its changes, until interrupted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from shutil import get_terminal_size
from typing import TYPE_CHECKING, NamedTuple

import click

from remit.bootstrap import open_notifier, open_registry
from remit.catalog.list_changes import ListDifference, changed_states, difference
from remit.catalog.summary import Summary, summarize
from remit.cli import render
from remit.cli.output import json_output
from remit.decision.context import Context, shorten
from remit.decision.decide import ToolDecision
from remit.decision.state_snapshot import Snapshot
from remit.errors import RemitError, StoreError

if TYPE_CHECKING:
    from remit.cli.options import WorkspaceOptions
    from remit.cli.output.selection import Selection
    from remit.decision.problems import Problem
    from remit.registry import Registry

_MOST_LINES = 10  # of recent changes, below the list on a terminal
_END = "Watching for changes. Press Ctrl-C to stop."
_ENTER, _LEAVE = "\x1b[?1049h", "\x1b[?1049l"
_HOME, _NEXT, _REST = "\x1b[H", "\x1b[K\n", "\x1b[K\x1b[J"


class _Seen(NamedTuple):
    """The list at one moment."""

    context: Context
    known: Sequence[ToolDecision]
    shown: Sequence[ToolDecision]
    problems: Sequence[Problem]
    selection: Selection
    registry: Registry

    @property
    def lines(self) -> list[str]:
        return self.selection.lines(self.known, self.context, self.registry)

    @property
    def summary(self) -> Summary:
        return summarize(self.known, self.context)

    def since(self, before: _Seen | None) -> ListDifference:
        """Return the difference to an earlier list, or to none."""
        old = () if before is None else before.shown
        states = {} if before is None else changed_states(_snapshot(before.context), _snapshot(self.context))
        return difference(old, self.shown, self.known)._replace(states=states)


def watch(options: WorkspaceOptions, selection: Selection, *, as_json: bool) -> None:
    """Show the list, again after each change, until interrupted."""
    try:
        with open_registry() as registry, ExitStack() as stack:
            on_screen = sys.stdout.isatty() and not as_json
            show = stack.enter_context(_screen()) if on_screen else _lines if as_json else _log
            for seen, before in _followed(registry, options, selection):
                show(seen, before)
                sys.stdout.flush()
    except KeyboardInterrupt:  # how the user ends it
        pass


def _followed(
    registry: Registry, options: WorkspaceOptions, selection: Selection
) -> Iterator[tuple[_Seen, _Seen | None]]:
    """Yield the list whenever it changes, with the previous one."""
    context = options.context(registry)
    before: _Seen | None = None
    failure = ""
    for _ in registry.follow(context, open_notifier()):
        try:
            seen = _look(registry, registry.states.with_snapshot(options.context(registry)), selection)
        except StoreError:
            raise
        except RemitError as error:  # an agent's file may be being saved
            if str(error) != failure:
                render.warning(error)
            failure = str(error)
            continue
        failure = ""
        if before is None or seen.problems != before.problems or not seen.since(before).is_empty:
            yield seen, before
            before = seen


def _look(registry: Registry, context: Context, selection: Selection) -> _Seen:
    known = registry.tools(context)
    shown, problems = selection.items(known), registry.problems(context)
    return _Seen(context, known, shown, problems, selection, registry)


def _lines(seen: _Seen, before: _Seen | None) -> None:
    """Write one JSON object per line."""
    _warn(seen, before)
    now = datetime.now(UTC)
    render.line(json_output.change(seen.since(before), seen.problems, seen.summary, seen.context, now))


def _log(seen: _Seen, before: _Seen | None) -> None:
    """Write the list, then a line per change."""
    _warn(seen, before)
    if before is None:
        render.page(seen.lines)
    else:
        render.print_lines(_told(seen, before))


@contextmanager
def _screen() -> Generator[Callable[[_Seen, _Seen | None], None]]:
    """Draw on the terminal's second screen, so what was there before comes back at the end."""
    sys.stdout.write(_ENTER)
    try:
        yield _Screen()
    finally:
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()


class _Screen:
    """The current list, with recent changes below it, redrawn in place."""

    def __init__(self) -> None:
        self._told: list[str] = []

    def __call__(self, seen: _Seen, before: _Seen | None) -> None:
        if before is not None:
            self._told = [*self._told, *_told(seen, before)][-_MOST_LINES:]
        warned = [f"warning: {line}" for line in render.problem_lines(seen.problems, seen.context)]
        below = ["", *self._told, *([""] if self._told else []), _END]
        size = get_terminal_size()
        room = max(size.lines - len(below) - len(warned), 3)
        lines = seen.lines
        if len(lines) > room:
            lines = [*lines[: room - 1], f"  and {len(lines) - room + 1} more lines"]
        drawn = [_fitted(line, size.columns) for line in (*warned, *lines, *below)]
        sys.stdout.write(f"{_HOME}{_NEXT.join(drawn)}{_REST}")


def _fitted(line: str, width: int) -> str:
    """Cut a line at the edge: one that wraps would shift all below it."""
    return line if len(click.unstyle(line)) <= width else click.unstyle(line)[:width]


def _warn(seen: _Seen, before: _Seen | None) -> None:
    old = () if before is None else before.problems
    render.problems([each for each in seen.problems if each not in old], seen.context)


def _told(seen: _Seen, before: _Seen) -> Iterator[str]:
    at = datetime.now(UTC).astimezone().strftime("%H:%M:%S")
    changes = seen.since(before)
    broken = {each.source for each in seen.problems}
    for source in dict.fromkeys(each.source for each in before.problems if each.source not in broken):
        yield render.printable(f"{at}  {shorten(source, seen.context)} is valid again")
    for name, value in changes.states.items():
        yield render.printable(f"{at}  state {name} is {value.in_words}")
    for sign, items in (("+", changes.appeared), ("-", changes.disappeared), ("~", changes.changed)):
        for tool, decision in items:
            said = f"{tool.name} ({tool.scope}): {decision.verdict}, {decision.full_reason}"
            yield render.printable(f"{at}  {sign} {said}")


def _snapshot(context: Context) -> Snapshot:
    return context.snapshot or Snapshot()
