"""What inspection notes about tools that are not held, for the person who decides about them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from remit.cli.render import plural, printable
from remit.decision.kinds import Kind
from remit.decision.tool_names import REMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from remit.decision.context import Context
    from remit.decision.tools import Tool
    from remit.inspection.inspection_findings import InspectionFinding
    from remit.registry import Registry

MOST = 5  # tools that are named
_BUDGET = 400_000  # characters: a second or so


class ToolNote(NamedTuple):
    """The worst finding about a tool."""

    name: str
    finding: InspectionFinding


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
    found = [
        ToolNote(name, findings[0])
        for name, definition in sorted(named.items(), key=lambda pair: text_size(pair[1]))
        if (findings := inspections.of(definition))
    ]
    ranks = list(Suspicion)
    return sorted(found, key=lambda note: (ranks.index(note.finding.severity), note.name))


def show_notes(notes: Sequence[ToolNote], *, to_stderr: bool = False) -> None:
    """Print how many tools have notes, and the first ones in a line each."""
    if not notes:
        return
    lines = ["", f"inspection notes: {plural(len(notes), 'tool')}"]
    lines += [f"  {name}: {it.severity}, {it.rule}: “{it.excerpt}”" for name, it in notes[:MOST]]
    if len(notes) > MOST:
        lines.append(f"  and {len(notes) - MOST} more: `remit inspect`")
    stream = sys.stderr if to_stderr else sys.stdout
    stream.writelines(f"{printable(line)}\n" for line in lines)
