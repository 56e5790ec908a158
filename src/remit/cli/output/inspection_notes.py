"""What inspection notes about tools that are not held, for the person who decides about them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from remit.cli.render import plural, printable, quoted
from remit.decision.kinds import Kind
from remit.decision.tool_names import REMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from remit.decision.context import Context
    from remit.decision.tools import Definition, Tool
    from remit.inspection.inspection_findings import InspectionFinding
    from remit.registry import Registry

MOST = 5  # tools that are named
_BUDGET = 400_000  # characters: a second or so


class ToolNote(NamedTuple):
    """The worst finding about a tool, or what is said once of several servers."""

    name: str  # of the tool, or the whole note if there is no finding
    finding: InspectionFinding | None


def inspection_notes(
    registry: Registry, context: Context, is_wanted: Callable[[Tool], bool] = lambda _: True
) -> list[ToolNote]:
    """Inspect the known tools that are wanted and not held, and return the worst finding about each."""
    tools = [tool for tool in registry.catalog.tools(context) if tool.kind is Kind.MCP_TOOL]
    others = (tool for tool in tools if tool.source != REMIT)  # Remit's own definitions are reviewed with it
    wanted = [tool for tool in others if tool.change is None and not tool.is_unlisted and is_wanted(tool)]
    if not wanted:
        return []
    from remit.inspection.inspection_findings import Suspicion  # most commands do not load the inspection
    from remit.inspection.surroundings import Surroundings
    from remit.trust.inspections import Inspections, text_size

    known = registry.catalog.definitions(tools, context)
    inspections = Inspections(Surroundings.of(known.values()), _BUDGET)
    named = {tool.name: known[tool.key] for tool in wanted if tool.key in known}
    twins = _same_offers(known.values())
    repeated = {server for servers in twins for server in servers}
    found = [
        (name, findings[0])
        for name, definition in sorted(named.items(), key=lambda pair: text_size(pair[1]))
        if (
            findings := [
                each
                for each in inspections.of(definition)
                if each.rule not in _OF_COPIES or definition.server not in repeated
            ]
        )
    ]
    ranks = list(Suspicion)
    found.sort(key=lambda note: (ranks.index(note[1].severity), note[0]))
    wanted_servers = {definition.server for definition in named.values()}
    same = [
        ToolNote(f"{quoted(servers)} offer the same {plural(count, 'tool')}", None)
        for servers, count in twins.items()
        if wanted_servers.intersection(servers)
    ]
    return [*(ToolNote(*note) for note in found), *same]


_OF_COPIES = ("copied-description", "imitated-name")


def _same_offers(definitions: Iterable[Definition]) -> dict[tuple[str, ...], int]:
    """Find servers that list the very same tools, as one package under two names does."""
    offers: dict[str, set[tuple[str | None, ...]]] = {}
    for each in definitions:
        if each.server is not None:
            offers.setdefault(each.server, set()).add((each.tool, each.description, each.input_schema))
    alike: dict[frozenset[tuple[str | None, ...]], list[str]] = {}
    for server, offer in offers.items():
        alike.setdefault(frozenset(offer), []).append(server)
    return {tuple(sorted(servers)): len(offer) for offer, servers in alike.items() if len(servers) > 1}


def show_notes(notes: Sequence[ToolNote], *, to_stderr: bool = False) -> None:
    """Print how many tools have notes, and the first ones in a line each."""
    if not notes:
        return
    of_tools = [(note.name, note.finding) for note in notes if note.finding is not None]
    lines = ["", f"inspection notes: {plural(len(of_tools), 'tool')}" if of_tools else "inspection notes:"]
    lines += [f"  {name}: {it.severity}, {it.rule}: “{it.excerpt}”" for name, it in of_tools[:MOST]]
    if len(of_tools) > MOST:
        lines.append(f"  and {len(of_tools) - MOST} more: `remit inspect`")
    lines += [f"  {note.name}" for note in notes if note.finding is None]
    stream = sys.stderr if to_stderr else sys.stdout
    stream.writelines(f"{printable(line)}\n" for line in lines)
