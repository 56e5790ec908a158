"""Why: one tool's gates as a path, what would change the decision, and the declarations of its name."""

from collections.abc import Sequence
from typing import NamedTuple

from remit.catalog import Explanation
from remit.cli import (
    KIND_WORDS,
    allow_step,
    answers,
    elsewhere_lines,
    explain,
    find_obstacle,
    lines_of,
    why_lines,
)
from remit.cli import (
    source as place_of,
)
from remit.decision import Decision, ToolDecision, Verdict
from remit.web.listing import Source
from remit.web.page import Answer, Request, Values, plain


class GateStep(NamedTuple):
    """One gate on the path of a tool."""

    gate: Decision
    sign: str  # `passed`, `asks`, `stopped`, or `later`: after the gate that stopped it


class DeclaredIn(NamedTuple):
    """One of the declarations of a name."""

    item: ToolDecision
    place: str
    counts: bool


def read(source: Source, request: Request) -> Answer:
    """Explain a name as `remit why` does.

    Raises:
        ToolError: several servers have a tool of this name.
    """
    registry, listing = source.registry, source.listing(request.here)
    context, catalog = listing.context, listing.catalog
    explained = explain(request.name, registry, request.here.context(registry), for_person=True)
    obstacle = find_obstacle(explained, catalog)
    lines = lines_of(explained, context)

    def values() -> Values:
        tool = explained.tool
        winner = [] if tool is None else [ToolDecision(tool, explained.decision)]
        return {
            "explained": explained,
            "decision": explained.decision,
            "obstacle": obstacle,
            "kind": "" if tool is None else KIND_WORDS[tool.kind],
            "notes": [plain(line) for line in why_lines(explained, obstacle)][1:],
            "elsewhere": [plain(line) for line in elsewhere_lines(explained.elsewhere, (), context)],
            "unknown": "" if tool else plain(next(iter(why_lines(explained)))).partition(": ")[2],
            "steps": _steps(explained),
            "rating": None if tool is None else catalog.context.rules.rate(tool).rating,
            "declarations": [
                DeclaredIn(item, place_of(item.tool, context, lines), item.tool is tool)
                for item in (*winner, *explained.shadowed)
            ],
        }

    def shape() -> answers.Shape:
        return answers.explanation(explained, lines, obstacle, allow_step(explained), catalog)

    status = 404 if explained.tool is None else 200
    return Answer("why.html", shape, values, part="part", status=status)


def _steps(explained: Explanation) -> Sequence[GateStep]:
    stopping = explained.decision.gate if not explained.decision.is_available else None
    steps: list[GateStep] = []
    is_later = False
    for gate in explained.gates:
        signs = {Verdict.ASK: "asks", Verdict.HIDDEN: "stopped", Verdict.VISIBLE: "passed"}
        steps.append(GateStep(gate, "later" if is_later else signs[gate.verdict]))
        is_later = is_later or gate.gate is stopping
    return steps
