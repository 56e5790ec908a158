"""What people see: tables on a terminal, plain aligned lines elsewhere, never a control character."""

import json
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager

from remit.core.decide import Context, shorten
from remit.core.declarations import Declaration, Problem
from remit.core.kinds import Kind
from remit.core.scopes import Scope, is_at_or_below
from remit.errors import RemitError
from remit.ports import Changes
from remit.registry import ALL_CLIENTS, Explanation, Listed, Scan

_SCOPES = {
    Scope.MANAGED: "managed: for everyone on this machine",
    Scope.DYNAMIC: "dynamic: given to the client when it is started",
    Scope.LOCAL: "local: yours, in this project",
    Scope.PROJECT: "project: shared in the repository",
    Scope.GLOBAL: "global: yours, in all projects",
    Scope.PLUGIN: "plugin: brought by plugins",
}
_KINDS = {kind: rank for rank, kind in enumerate(Kind)}
_WIDEST = 60  # columns; a longer cell pushes only its own line
_NOTHING = """\
No tools are in force here.
hint: declare a server in `.mcp.json`, or with `claude mcp add`; `remit tools --all` shows what is hidden"""


def out(text: str = "") -> None:
    """Write a line of data."""
    sys.stdout.write(f"{text}\n")


def text(content: str) -> None:
    """Write a text as it is; only a person gets a line break after it, which no budget has counted."""
    sys.stdout.write(f"{content}\n" if content and sys.stdout.isatty() else content)


def data(shape: dict[str, object]) -> None:
    """Write an answer as JSON."""
    out(json.dumps(shape, indent=2))


def problems(found: Iterable[Problem], context: Context) -> None:
    """Warn of what is wrong in configuration files."""
    for problem in found:
        parts = (shorten(problem.source, context), problem.place, problem.reason)
        sys.stderr.write(f"warning: {printable(': '.join(part for part in parts if part))}\n")


def error(failure: RemitError) -> None:
    """Say what went wrong and what to do."""
    sys.stderr.write(f"error: {printable(str(failure))}\n")
    if failure.hint:
        sys.stderr.write(f"hint: {printable(failure.hint)}\n")


def listing(listed: Sequence[Listed], context: Context) -> None:
    """Show tools by scope."""
    out(_heading(context))
    if not listed:
        out(_NOTHING)
    reasons = not all(item.decision.visible for item in listed)
    for scope, title in _SCOPES.items():
        group = sorted((item for item in listed if item.tool.scope is scope), key=_order)
        if group:
            out()
            table(
                title, _columns(reasons=reasons), [_cells(item, context, reasons=reasons) for item in group]
            )


def explanation(explained: Explanation, context: Context) -> None:
    """Show a decision, every gate, and the other declarations of the name."""
    decision = explained.decision
    out(f"{printable(explained.name)}: {decision.verdict}, {printable(decision.reason)}")
    if decision.unlock:
        out(f"to change it: {printable(decision.unlock)}")
    out()
    gates = [
        (gate, "passed" if ruling.passed else "hidden", ruling.reason) for gate, ruling in explained.gates
    ]
    table("", ("gate", "answer", "reason"), gates)
    if explained.shadowed:
        out()
        others = [(tool.scope, shorten(tool.source, context), why.reason) for tool, why in explained.shadowed]
        table("others of this name", ("scope", "source", "reason"), others)


def scan(found: Scan, context: Context) -> None:
    """Show what a scan found different, and what is in force now."""
    out(_heading(context))
    out(_changes(found.changes, context))
    counts = [
        f"{count} {scope}"
        for scope in _SCOPES
        if (count := sum(tool.scope is scope and decision.visible for tool, decision in found.tools))
    ]
    hidden = sum(not decision.visible for _, decision in found.tools)
    out(f"in force: {', '.join(counts) or 'nothing'}; hidden: {hidden}")


def printable(text: str) -> str:
    """Write control characters as escapes: a name from a file must not steer the terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _heading(context: Context) -> str:
    path, home = context.workspace.dir, context.home.rstrip("/")
    short = f"~{path.removeprefix(home)}" if home and is_at_or_below(path, home) else path
    return f"{printable(short)} ({context.client or ALL_CLIENTS})"


def _changes(changes: Changes, context: Context) -> str:
    signs = (("+", changes.added), ("-", changes.removed), ("~", changes.changed))
    lines = [f"{sign} {_declared(item, context)}" for sign, items in signs for item in items]
    totals = f"{len(changes.added)} added, {len(changes.removed)} removed, {len(changes.changed)} changed"
    return "\n".join([*lines, totals])


def _declared(item: Declaration, context: Context) -> str:
    return printable(f"{item.name} ({item.scope}, {shorten(item.source, context)})")


def _order(item: Listed) -> tuple[int, str, str]:
    return _KINDS[item.tool.kind], item.tool.name, item.tool.dir or ""


def _columns(*, reasons: bool) -> tuple[str, ...]:
    return ("tool", "kind", "uses", "source", *(("decision", "reason") if reasons else ()))


def _cells(item: Listed, context: Context, *, reasons: bool) -> tuple[str, ...]:
    tool, decision = item
    why = (
        decision.verdict if decision.gate is None else f"{decision.verdict}: {decision.gate}",
        decision.reason,
    )
    cells = (tool.name, tool.kind, str(tool.usage_count), shorten(tool.source, context))
    return (*cells, *(why if reasons else ()))


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Show rows under their columns."""
    cells = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _draw(title, columns, cells)
        return
    if title:
        out(title)
    widths = [min(_WIDEST, max(len(row[at]) for row in (columns, *cells))) for at in range(len(columns))]
    for row in (columns, *cells):
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        out(f"  {'  '.join(padded).rstrip()}")


def _draw(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=SIMPLE_HEAD, title_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")  # a name that is cut cannot be asked about
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


@contextmanager
def bar(title: str) -> Generator[Callable[[int, int, str], None]]:
    """Draw a bar on stderr; it is moved with what is done, of how much, and the last that was."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task(title, total=None, last="")
        yield lambda done, total, last: drawn.update(task, completed=done, total=total, last=last)
