"""The screen of `remit tools`: a line for each server, with its tools below on demand."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import click

from remit.catalog.listed_groups import GroupedTools, ListedGroup
from remit.cli.render import WORDS, columns, heading, nothing_available, plural, printable, total, wrapped
from remit.decision.context import Context, shorten
from remit.decision.decide import ToolDecision
from remit.decision.kinds import Kind, ToolStatus

if TYPE_CHECKING:
    from remit.catalog.costs import SentDefinitions
    from remit.catalog.summary import Summary
    from remit.cli.output.unenforced import Unenforced

MOST_ROWS = 24  # servers; more are added up in one line
WIDEST = 36  # columns of a name in a table; a longer name shifts only its own line
_NUMBERS = ("tools", "ask", "hidden", "tokens", "uses")
_UNKNOWN = "?"


def overview(
    grouped: GroupedTools,
    summary: Summary,
    context: Context,
    *,
    sent: SentDefinitions,
    invalid: Sequence[str] = (),
    offered: Sequence[Unenforced] = (),
) -> list[str]:
    """Return a line for each server, and for each other kind of tool; `invalid` are files of Remit."""
    servers = [group for group in grouped.servers if group.is_available]
    kinds = [group for group in grouped.kinds if group.is_available]
    lines = [_styled(printable(heading(context)), bold=True)]
    if not servers and not kinds:
        return [*lines, *nothing_available(invalid, context)]
    if servers:
        shown, rest = servers[:MOST_ROWS], servers[MOST_ROWS:]
        lines += ["", *_table("server", shown, [_origin(group, context) for group in shown], context)]
        lines += [f"  {_sum(rest)}"] if rest else []
    if kinds:
        names = [", ".join(item.tool.name for item in _visible(group)) for group in kinds]
        lines += ["", *_table("kind", kinds, names, context)]
    lines += ["", *_total(summary, sent=sent, offered=offered)]
    step = "next: `remit tools --server NAME` lists its tools, `--all` everything"
    if servers and not any(group.is_known for group in servers):
        step = "next: `remit scan --connect` starts the servers and lists their tools"
    return [*lines, *(_styled(line, dim=True) for line in wrapped(step, "", "  "))]


def details(
    groups: Sequence[ListedGroup],
    summary: Summary | None,
    context: Context,
    *,
    with_hidden: bool,
    sent: SentDefinitions,
    invalid: Sequence[str] = (),
    offered: Sequence[Unenforced] = (),
) -> list[str]:
    """Return groups with all their tools; hidden ones by the reason."""
    lines = [_styled(printable(heading(context)), bold=True)]
    if not groups:
        return [*lines, *nothing_available(invalid, context)]
    for group in groups:
        lines += ["", *_title(group, context), *_tools(group)]
        lines += _hidden(group) if with_hidden else _hidden_count(group)
    if summary is not None:
        lines += ["", *_total(summary, sent=sent, offered=offered)]
    return lines


def _table(title: str, groups: Sequence[ListedGroup], last: Sequence[str], context: Context) -> Iterator[str]:
    """Align groups in columns; the last column is cut to fit."""
    rows = [_cells(group) for group in groups]
    optional = {name for name in ("ask", "hidden") if not any(row[name] for row in rows)}
    numbers = [name for name in _NUMBERS if name not in optional]
    names = [_name(group, context) for group in groups]
    width = min(WIDEST, max(len(title), *map(len, names)))
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in numbers}
    heads = [title.ljust(width), *(name.rjust(widths[name]) for name in numbers)]
    yield _styled(f"  {'  '.join(heads)}", dim=True)
    for group, name, row, rest in zip(groups, names, rows, last, strict=True):
        cells = "  ".join(row[each].rjust(widths[each]) for each in numbers)
        room = columns() - len(f"  {name.ljust(width)}  {cells}  ")
        said = printable(rest)
        cut = _listed(said, room) if _is_kind(group) else _shortened(said, room, is_path=not _failure(group))
        color = "yellow" if _UNKNOWN in row["tools"] else None
        shown = _styled(cells, fg=color) if color else cells
        yield f"  {_styled(name.ljust(width), bold=True)}  {shown}  {_styled(cut, dim=True)}".rstrip()


def _cells(group: ListedGroup) -> dict[str, str]:
    tokens = group.tokens
    return {
        "tools": f"{group.visible:,}" if group.is_known else _UNKNOWN,
        "ask": f"{group.asking:,}" if group.asking else "",
        "hidden": f"{group.hidden:,}" if group.hidden else "",
        "tokens": f"{tokens:,}" if tokens is not None else "" if group.is_known else _UNKNOWN,
        "uses": f"{group.uses:,}",
    }


def _name(group: ListedGroup, context: Context) -> str:
    name = f"{WORDS[group.first.kind]}s" if _is_kind(group) else group.label
    return printable(f"{group.client}: {name}" if context.client is None else name)


def _is_kind(group: ListedGroup) -> bool:
    return group.first.kind not in (Kind.MCP_SERVER, Kind.MCP_TOOL)


def _origin(group: ListedGroup, context: Context) -> str:
    if failure := _failure(group):
        return failure
    is_untrusted = group.first.is_trusted is False and not group.is_known
    place = f"{group.first.scope}, {shorten(group.first.source, context)}"
    return f"{place}, not trusted" if is_untrusted else place


def _failure(group: ListedGroup) -> str | None:
    return None if group.is_known else group.first.failure


def _listed(names: str, room: int) -> str:
    """Cut a list of names after a comma."""
    if len(names) <= room:
        return names
    return names[: max(names.rfind(", ", 0, max(room - 3, 0)), 0) + 2 * (room > 5)] + "..." * (room > 2)


def _sum(groups: Sequence[ListedGroup]) -> str:
    tokens = sum(group.tokens or 0 for group in groups)
    tools = plural(sum(group.visible for group in groups), "tool")
    return f"and {plural(len(groups), 'more server')}: {tools}, {tokens:,} tokens (`--all` lists them)"


def _title(group: ListedGroup, context: Context) -> Iterator[str]:
    parts = [plural(group.visible, "tool") if group.is_known else "tools unknown"]
    parts += [f"{group.asking:,} {'needs' if group.asking == 1 else 'need'} approval"] if group.asking else []
    parts += [] if not group.hidden else [f"{group.hidden:,} hidden"] if group.tools else ["hidden"]
    parts += [f"{group.tokens:,} tokens"] if group.tokens else []
    parts += [plural(group.uses, "use")] if group.uses else []
    origin = "" if _is_kind(group) else f" ({printable(_origin(group, context))})"
    yield f"{_styled(_name(group, context), bold=True)}: {', '.join(parts)}{origin}"


def _tools(group: ListedGroup) -> Iterator[str]:
    items = _visible(group)
    if not items:
        return
    names = [printable(item.tool.name) + _mark(item) for item in items]
    width = max(map(len, names))
    tokens = [("" if item.tool.tokens is None else f"{item.tool.tokens:,}") for item in items]
    uses = [f"{item.tool.usage_count:,}" for item in items]
    widths = max(6, *map(len, tokens)), max(4, *map(len, uses))
    width = min(width, max(columns() - sum(widths) - 6, 0))
    yield _styled(
        f"  {'tool'.ljust(width)}  {'tokens'.rjust(widths[0])}  {'uses'.rjust(widths[1])}", dim=True
    )
    for name, cost, used in zip(names, tokens, uses, strict=True):
        yield f"  {name.ljust(width)}  {cost.rjust(widths[0])}  {used.rjust(widths[1])}"


def _mark(item: ToolDecision) -> str:
    mark = "" if item.tool.status is ToolStatus.ACTIVE else f" [{item.tool.status}]"
    return f"{mark} [ask]" if item.decision.gate is not None else mark


def _hidden(group: ListedGroup) -> Iterator[str]:
    """Name hidden tools by their reason; those of a hidden server share its reason."""
    if group.server is not None and not group.server.decision.is_available:
        yield from _reason(group.server, [item for item in group.tools if not item.decision.is_available])
        return
    hidden = sorted((item for item in group.tools if not item.decision.is_available), key=_why)
    for _, items in groupby(hidden, key=_why):
        same = list(items)
        yield from _reason(same[0], same)


def _reason(item: ToolDecision, items: Sequence[ToolDecision]) -> Iterator[str]:
    cause, why = _why(item)
    for line in wrapped(printable(f"hidden{cause}: {why}"), "  "):
        yield _styled(line, fg="red")
    yield from wrapped(", ".join(sorted(printable(each.tool.name) for each in items)), "    ")


def _hidden_count(group: ListedGroup) -> Iterator[str]:
    if group.hidden:
        yield _styled(f"  {group.hidden:,} hidden; `--all` shows why", dim=True)


def _total(summary: Summary, *, sent: SentDefinitions, offered: Sequence[Unenforced]) -> Iterator[str]:
    for line in total(summary, sent=sent, offered=offered).splitlines():
        yield from wrapped(printable(line), "", "  ")


def _why(item: ToolDecision) -> tuple[str, str]:
    gate = item.decision.gate
    return "" if gate is None else f" {gate.cause}", item.decision.full_reason


def _visible(group: ListedGroup) -> list[ToolDecision]:
    return [item for item in group.tools if item.decision.is_available]


def _styled(text: str, **style: bool | str) -> str:
    """Style a text on a terminal that shows colors."""
    has_colors = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return click.style(text, **style) if has_colors and text.strip() else text  # pyright: ignore[reportArgumentType] - click types each option


def _shortened(text: str, width: int, *, is_path: bool) -> str:
    """Cut a text that is too long: the middle out of a path, the end of a reason."""
    if len(text) <= width:
        return text
    tail = text[-max(width // 2, 1) :] if is_path else ""
    return f"{text[: max(width - len(tail) - 3, 0)]}...{tail}"[-max(width, 1) :]
