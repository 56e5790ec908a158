"""The screen of `remit scan`: changes, visible tools by origin, hidden tools with reasons."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from remit.catalog.costs import SentDefinitions
from remit.catalog.summary import ELSEWHERE, SHADOWED, UNTRUSTED, HiddenGroup, ScopeSummary, Summary
from remit.cli.render import (
    counted,
    heading,
    nothing_available,
    out,
    plural,
    print_lines,
    printable,
    repair_hint,
    rounded,
    total,
    wrapped,
)
from remit.decision.context import Context, shorten
from remit.decision.decide import ToolDecision
from remit.decision.gates import Gate
from remit.decision.kinds import ConfigStatus, Kind, ToolStatus
from remit.decision.permissions.client_consents import pending_unlock

if TYPE_CHECKING:
    from remit.cli.output.unenforced import Unenforced
    from remit.decision.declarations import Changes, Declaration
    from remit.decision.tools import Tool
    from remit.scanning.scanner import ScanResult

MOST_CHANGES = 10  # lines of each group
MOST_ORIGINS = 12
MOST_HIDDEN = 5
MOST_COSTLY = 3
WIDEST_SOURCE = 32  # characters

CAUSES = {
    SHADOWED: "Shadowed by a stronger declaration",
    ConfigStatus.PENDING: "Waiting for approval",
    UNTRUSTED: "Not trusted: Remit does not start it",
    ConfigStatus.DISABLED: "Disabled in the client",
    ConfigStatus.REJECTED: "Rejected in the client",
    ConfigStatus.DENIED: "Denied by a policy",
    ConfigStatus.MANUAL: "Only a person can invoke it",
    ConfigStatus.ITSELF: "Remit itself",
    ConfigStatus.NESTED: "Another gateway of Remit",
    ConfigStatus.UNSERVED: "Only through the gateway",
    ToolStatus.STALE: "No longer configured or listed",
    Gate.AGENT: "Belongs to one agent only",
    Gate.POLICY: "Blocked by a list, a rule or a filter",
    Gate.DEFINITION: "Held: changed, flagged by inspection, or not as in `remit.lock`",
    Gate.STATE: "Needs a state that does not hold",
    Gate.DANGER: "Too dangerous for this mode",
    ELSEWHERE: "Declared for other clients",
}
_WAYS = {UNTRUSTED: "look at them with `remit trust`"}  # for groups whose items have their own hints
_NEXT = "next: `remit why NAME` explains one, `remit tools --all` lists them all"


def show(
    found: ScanResult,
    summary: Summary,
    context: Context,
    *,
    sent: SentDefinitions,
    offered: Sequence[Unenforced] = (),
) -> None:
    """Show the result of a scan."""
    out(heading(context))
    print_lines(_first(found) if found.is_first else _changes(found.changes, context))
    if summary.origins:
        out()
        print_lines(_origins(summary, context))
        out()
        out(total(summary, sent=sent, offered=offered))
        print_lines(_costliest(summary.costliest))
    for group in summary.hidden:
        if group.cause is ToolStatus.STALE:  # reported among the changes when it became stale
            continue
        out()
        print_lines(_hidden(group, context))
    if summary.duplicates:
        out()
        print_lines(_duplicates(summary.duplicates))
    out()
    print_lines(_last(found, summary, context))


def _last(found: ScanResult, summary: Summary, context: Context) -> Iterator[str]:
    """Say what to do next: an invalid file of Remit comes first."""
    if not summary.visible:
        yield from nothing_available(found.invalid, context)
    elif found.invalid:
        yield f"next: {repair_hint(found.invalid, context)}"
    else:
        yield _NEXT


def _first(found: ScanResult) -> Iterator[str]:
    files = {item.source for item in found.changes.added}
    declarations = plural(len(found.changes.added), "declaration")
    yield f"First scan here: {declarations} in {plural(len(files), 'file')}"


def _changes(changes: Changes, context: Context) -> Iterator[str]:
    signs = (
        ("+", "added", changes.added),
        ("-", "removed", changes.removed),
        ("~", "changed", changes.changed),
    )
    said = [f"{len(items)} {word}" for _, word, items in signs if items]
    if said:  # every command reads the files, not only `remit scan`
        yield f"Since Remit last read the files here: {', '.join(said)}"
    for sign, _, items in signs:
        yield from _cut([f"  {sign} {_declared(item, context)}" for item in items], MOST_CHANGES)


def _declared(item: Declaration, context: Context) -> str:
    return f"{_label(item)} ({item.scope}, {shorten(item.source, context)})"


def _origins(summary: Summary, context: Context) -> Iterator[str]:
    """Describe what each scope contributes; a table of all kinds is too wide for many terminals."""
    width = min(shutil.get_terminal_size((100, 0)).columns, 100)
    for origin in summary.origins[:MOST_ORIGINS]:
        owner = f"{origin.client}, " if context.client is None else ""
        head = f"  {owner}{origin.scope:<8} "
        said = (
            f"{counted(origin.visible)}{_cost(origin)}{_hidden_count(origin)} ({_sources(origin, context)})"
        )
        yield from wrap(said, width, initial_indent=head, subsequent_indent=" " * len(head))
    yield from _rest(len(summary.origins) - MOST_ORIGINS)


def _hidden_count(origin: ScopeSummary) -> str:
    return f"; {origin.hidden:,} hidden" if origin.hidden else ""


def _sources(origin: ScopeSummary, context: Context) -> str:
    path, others = shorten(origin.sources[0], context), len(origin.sources) - 1
    half = WIDEST_SOURCE // 2
    short = path if len(path) <= WIDEST_SOURCE else f"{path[: half - 3]}...{path[-half:]}"
    return f"{short} and {others} more" if others else short


def _costliest(servers: Sequence[Tool]) -> Iterator[str]:
    if servers:
        each = [f"{_label(server)} {rounded(server.tokens or 0)}" for server in servers[:MOST_COSTLY]]
        yield f"costliest: {', '.join(each)}"


def _cost(origin: ScopeSummary) -> str:
    """Format a cost; `+` marks a lower bound, because some servers' tools are unknown."""
    costs = origin.costs
    if not costs.visible or costs.is_misleading:
        return ""
    return f": about {rounded(costs.visible)}{'+' if costs.uncounted else ''} tokens"


def _hidden(group: HiddenGroup, context: Context) -> Iterator[str]:
    title = CAUSES.get(group.cause, f"Hidden by the gate `{group.cause}`")
    way = _way(group)
    said = f"{title}: {len(group.items):,}" + (f"; to change it, {way}" if way else "")
    yield from wrap(said, 80, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    if group.cause == ELSEWHERE:
        yield from _by_client(group.items)
    else:
        for item in group.items[:MOST_HIDDEN]:
            yield from wrapped(printable(_exception(item, context)), "  ", "    ")
        yield from _rest(len(group.items) - MOST_HIDDEN)


def _way(group: HiddenGroup) -> str | None:
    """Say how to change the decisions of a group, where one sentence is true of all of them."""
    ways = {item.decision.unlock for item in group.items}
    if group.cause in (*ConfigStatus, UNTRUSTED) and len(ways) == 1:
        return ways.pop()
    clients = {item.tool.client for item in group.items}
    if group.cause == ConfigStatus.PENDING and len(clients) == 1:
        is_trusted = all(item.tool.is_trusted is not False for item in group.items)
        return pending_unlock(clients.pop(), "NAME", is_trusted=is_trusted)
    return _WAYS.get(group.cause)


def _exception(item: ToolDecision, context: Context) -> str:
    """Describe what its group's title does not say."""
    tool, winner = item.tool, item.tool.shadowed_by
    if winner is not None and item.decision.gate is Gate.PRECEDENCE:
        other = f"{winner.name}, " if winner.name not in (None, _label(tool)) else ""
        return f"{_label(tool)} ({tool.scope}): by {other}{winner.scope} in {shorten(winner.source, context)}"
    if item.decision.gate is Gate.CONFIG:
        return f"{_label(tool)} ({tool.scope}, {shorten(tool.source, context)})"
    return f"{_label(tool)} ({tool.scope}): {item.decision.full_reason}"


def _by_client(items: Sequence[ToolDecision]) -> Iterator[str]:
    for client, count in Counter(item.tool.client for item in items).items():
        yield f"  {client}: {count:,}; `remit scan --client {client}`"


def _duplicates(groups: Sequence[Sequence[Tool]]) -> Iterator[str]:
    yield f"The same program or URL under several names: {len(groups)}"
    lines = [", ".join(f"{_label(tool)} ({tool.scope})" for tool in group) for group in groups]
    yield from _cut([f"  {line}" for line in lines], MOST_HIDDEN)


def _label(item: Tool | Declaration) -> str:
    """Return the name a user types: for a server, the one in its file."""
    return item.server if item.kind is Kind.MCP_SERVER and item.server is not None else item.name


def _cut(lines: Sequence[str], most: int) -> Iterator[str]:
    yield from lines[:most]
    yield from _rest(len(lines) - most)


def _rest(count: int) -> Iterator[str]:
    if count > 0:
        yield f"  and {count:,} more: `remit tools --all`"
