"""Output for people: tables on a terminal, aligned lines elsewhere, never control characters."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING

from remit.catalog.contexts import ALL_CLIENTS
from remit.catalog.costs import SentDefinitions
from remit.decision.context import Context, shorten
from remit.decision.kinds import Kind
from remit.decision.problems import Severity
from remit.decision.scopes import is_at_or_below
from remit.text.untrusted_text import is_invisible

if TYPE_CHECKING:
    from remit.catalog.summary import Summary
    from remit.cli.output.unenforced import Unenforced
    from remit.decision.problems import Problem
    from remit.decision.tools import Tool
    from remit.doctor.findings import Finding
    from remit.errors import RemitError
    from remit.scanning.scanner import ClientPresence
    from remit.sessions.install_notices import InstallNotice
    from remit.store.store_facts import StoreFacts

WORDS = {
    Kind.MCP_SERVER: "server",
    Kind.SLASH_COMMAND: "command",
    Kind.SKILL: "skill",
    Kind.PLUGIN: "plugin",
    Kind.SUBAGENT: "subagent",
    Kind.MCP_TOOL: "tool",
    Kind.BUILTIN: "built-in",
}
_PARTS = {
    SentDefinitions.SOME: "(Remit sends some of them; the agent finds the others)",
    SentDefinitions.NAMES: "(the client sends names only; the agent searches the definitions)",
}
_WIDTH = 80  # columns where there is no terminal, so the text is the same everywhere
LONG = 160  # characters: a reason that is wrapped, although a search for it in the output may fail then
_WIDEST = 60  # columns; a longer cell shifts only its own line
MOST_NAMED = 3  # servers in a line


def out(text: str = "") -> None:
    """Write a line of data."""
    sys.stdout.write(f"{text}\n")


def text(content: str) -> None:
    """Write a text and a line break, which does not count toward a budget."""
    sys.stdout.write(f"{content}\n" if content else "")


def data(shape: dict[str, object]) -> None:
    """Write JSON."""
    out(json.dumps(shape, indent=2))


def line(shape: dict[str, object]) -> None:
    """Write one line of JSON."""
    out(json.dumps(shape))


def notices(found: Sequence[InstallNotice]) -> None:
    """Print what keeps Remit from protecting a workspace, with the fix, to stderr."""
    for notice in found:
        sys.stderr.write(f"warning: {printable(notice.full_reason)}\nhint: {printable(notice.fix)}\n")


def problems(found: Iterable[Problem], context: Context) -> None:
    """Print problems in configuration files as warnings."""
    for line in problem_lines(found, context):
        sys.stderr.write(f"warning: {line}\n")


def problem_lines(found: Iterable[Problem], context: Context) -> Iterator[str]:
    """Format problems in configuration files."""
    for problem in found:
        parts = (shorten(problem.source, context), problem.place, problem.reason)
        yield printable(": ".join(part for part in parts if part))


def print_lines(lines: Iterable[str]) -> None:
    """Write lines of data."""
    for line in lines:
        out(printable(line))


def wrapped(text: str, indent: str = "", more: str | None = None) -> list[str]:
    """Wrap a text at the width to fit; `more` is the indent of its other lines."""
    return wrap(
        text,
        max(columns(), 20),
        initial_indent=indent,
        subsequent_indent=indent if more is None else more,
        break_long_words=False,
        break_on_hyphens=False,
    )


def columns() -> int:
    """Return the width to fit: that of the terminal, or what `COLUMNS` says."""
    if sys.stdout.isatty():
        from shutil import get_terminal_size

        return get_terminal_size((_WIDTH, 0)).columns
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() and int(given) else _WIDTH


def paged(lines: Sequence[str], *, to_stderr: bool = False) -> None:
    """Write lines whole; on a terminal that they do not fit, through a pager."""
    page([printable(line) for line in lines], to_stderr=to_stderr)


def page(shown: Sequence[str], *, to_stderr: bool = False) -> None:
    """Write lines that are clean already, and may be styled, as `paged` does."""
    stream = sys.stderr if to_stderr else sys.stdout
    if stream.isatty() and sys.stdin.isatty():
        from shutil import get_terminal_size

        import click

        size = get_terminal_size()
        if sum(1 + len(click.unstyle(line)) // size.columns for line in shown) >= size.lines:
            click.echo_via_pager(f"{line}\n" for line in shown)
            return
    stream.writelines(f"{line}\n" for line in shown)


def note(text: str) -> None:
    """Write a note to stderr."""
    sys.stderr.write(f"{printable(text)}\n")


def program_note(text: str) -> None:
    """Write a note to stderr at once, with the name of the program, as a server does."""
    note(f"remit: {text}")
    sys.stderr.flush()


def warning(failure: RemitError) -> None:
    """Print an error as a warning, with its hint."""
    _failure("warning", failure)


def error(failure: RemitError) -> None:
    """Print an error with its hint."""
    _failure("error", failure)


def _failure(severity: str, failure: RemitError) -> None:
    note(f"{severity}: {failure}")
    if failure.hint:
        note(f"hint: {from_home(failure.hint)}")


def nothing_available(invalid: Sequence[str], context: Context) -> list[str]:
    """Say that no tool is available, and what to do about it."""
    if invalid:
        hint = repair_hint(invalid, context)
    else:
        hint = "add a server to one of the client's files; `remit tools --all` shows what is hidden"
    return ["No tools are available here.", f"hint: {hint}"]


def repair_hint(invalid: Sequence[str], context: Context) -> str:
    """Name invalid files of Remit, and the command that shows their mistakes."""
    files = " and ".join(printable(shorten(path, context)) for path in invalid)
    return f"fix {files}; `remit doctor` shows how"


def total(summary: Summary, *, sent: SentDefinitions, offered: Sequence[Unenforced] = ()) -> str:
    """Describe how many tools an agent gets and their cost; `offered` is hidden in Remit only."""
    costs, unknown = summary.costs, summary.uncounted
    head = f"{counted(summary.visible)} visible"
    if has_cost := bool(costs.all and not costs.is_misleading):
        head += (
            f": about {rounded(costs.visible)} tokens{' per request' if sent is SentDefinitions.ALL else ''}"
        )
    lines = [head, *_unknown_costs(unknown)]
    if sent is SentDefinitions.SOME or (has_cost and sent in _PARTS):
        lines.append(_PARTS[sent])
    if summary.hidden_count:
        unsent = costs.all - costs.visible - sum(each.tokens for each in offered)
        said = f": about {rounded(unsent)} tokens not sent" if unsent > 0 else ""
        still = (each.of(summary.hidden_count) for each in offered)
        lines.append("; ".join((f"{summary.hidden_count:,} hidden{said}", *still)))
    return "\n".join(lines)


def cost_words(tokens: int, sent: SentDefinitions) -> str:
    """Word the cost of definitions: only what is sent costs its tokens in each request."""
    return f"{rounded(tokens)} tokens {_PARTS.get(sent, 'per request')}"


def _unknown_costs(servers: Sequence[Tool]) -> Iterator[str]:
    """Say of which servers the cost is unknown, and what to do about it."""
    untrusted = [tool.server or tool.name for tool in servers if tool.is_trusted is False]
    failed = [tool.server or tool.name for tool in servers if tool.failure and tool.is_trusted is not False]
    if untried := len(servers) - len(failed) - len(untrusted):
        yield f"cost unknown for {plural(untried, 'server')}: run `remit scan --connect`"
    if untrusted:
        one = f" {shlex.quote(untrusted[0])}" if len(untrusted) == 1 else ""
        yield f"cost unknown for {quoted(untrusted)} (not trusted): run `remit trust{printable(one)}`"
    if failed:
        yield f"cost unknown for {quoted(failed)} (not working): run `remit doctor`"


def quoted(servers: Sequence[str]) -> str:
    """Name servers in a line: the first few, and the number of the others."""
    names = [f"`{printable(name)}`" for name in servers[:MOST_NAMED]]
    names += [f"{len(servers) - MOST_NAMED:,} more"] if len(servers) > MOST_NAMED else []
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def counted(counts: Mapping[Kind, int]) -> str:
    """Format counts by kind."""
    words = [plural(count, WORDS[kind]) for kind, count in counts.items()]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:]))) or "nothing"


def plural(count: int, word: str) -> str:
    """Format a count of things."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def rounded(count: int) -> str:
    """Format an estimate with three digits."""
    return f"{three_digits(count):,}"


def three_digits(count: int) -> int:
    """Round an estimate to three digits."""
    return round(count, 3 - len(str(count))) if count > 999 else count


def heading(context: Context) -> str:
    """Return the heading with directory and client."""
    return f"{place(context)} ({context.client or ALL_CLIENTS})"


def place(context: Context) -> str:
    """Return the directory of a context, relative to the home directory where it can be."""
    path, home = context.workspace.dir, context.home.rstrip("/")
    return printable(f"~{path.removeprefix(home)}" if home and is_at_or_below(path, home) else path)


def clients(found: Sequence[ClientPresence], context: Context) -> None:
    """Show clients with their files, a line for each file."""
    out(heading(context))
    if not found:
        out("No clients found on this machine.\nhint: `remit clients --all` lists the clients Remit supports")
        return
    out()
    table(
        "",
        ("client", "servers", "problems", "files"),
        [row for item in found for row in _rows(item, context)],
    )


def diagnosis(findings: Sequence[Finding], context: Context) -> None:
    """Show findings by file, with fixes."""
    out(heading(context))
    if not findings:
        out("No problems found.")
        return
    for source, group in groupby(findings, key=lambda finding: finding.source):
        out(f"\n{printable(shorten(source, context))}")
        for finding in group:
            said = f"{finding.severity}: {': '.join(filter(None, _what(finding)))}"
            print_lines(wrapped(printable(said), "  ", "    ") if len(said) > LONG else [f"  {said}"])
            out(f"    fix: {printable(finding.fix)}")
    counts = {severity: sum(item.severity is severity for item in findings) for severity in Severity}
    out("\n" + ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items()))


def store(facts: StoreFacts) -> None:
    """Show a store that several machines may share."""
    if facts.kind == "sqlite":
        return
    known = f"schema {facts.schema}, role {facts.role}" if facts.problem is None else "cannot be used"
    out(f"store: {printable(facts.place)} ({known}; from {printable(facts.source)})")


def _what(finding: Finding) -> tuple[str, str, str]:
    subject = finding.subject or ""
    subject += f" ({finding.scope})" if finding.subject and finding.scope else ""
    return subject, finding.place, finding.reason


def from_home(text: str) -> str:
    """Write paths in a sentence relative to the home directory, as elsewhere."""
    home = os.path.expanduser("~").rstrip("/")
    return text.replace(f" {home}/", " ~/").replace(f"`{home}/", "`~/") if home else text


def printable(text: str) -> str:
    """Escape characters that control the terminal or cannot be seen: a name may come from any file."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _is_seen(char) else char.encode("unicode_escape").decode() for char in text)


def _is_seen(char: str) -> bool:
    return char.isprintable() and not is_invisible(char)


def _rows(item: ClientPresence, context: Context) -> list[tuple[str, ...]]:
    first, *others = [shorten(file, context) for file in item.files] or [""]
    counts = (item.client, str(item.servers), str(item.problems), first)
    return [counts, *(("", "", "", file) for file in others)]


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Collection[str] = ()
) -> None:
    """Show rows in columns, with numbers right-aligned."""
    cells = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _draw(title, columns, cells, numbers)
        return
    if title:
        out(title)
    widths = [min(_WIDEST, max(len(row[at]) for row in (columns, *cells))) for at in range(len(columns))]
    for row in (columns, *cells):
        padded = (
            cell.rjust(width) if column in numbers else cell.ljust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        )
        out(f"  {'  '.join(padded).rstrip()}")


def _draw(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str]
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=SIMPLE_HEAD, title_style="bold")
    for column in columns:  # never truncate names
        table.add_column(column, overflow="fold", justify="right" if column in numbers else "left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


@contextmanager
def bar(title: str) -> Generator[Callable[[int, int, str], None]]:
    """Draw a progress bar on stderr; update it with done, total, and a line to write above it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task(title, total=None)

        def update(done: int, total: int, line: str) -> None:
            drawn.update(task, completed=done, total=total)
            if line:
                drawn.console.print(line, markup=False, highlight=False, soft_wrap=True)

        yield update
