"""Compares the decisions about one call: which row counts, and which verdict is the strictest."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from remit.decision.context import Context
from remit.decision.decide import Decision, ToolDecision, Verdict, decide
from remit.decision.tool_lookup import closest_to_being_visible
from remit.decision.tools import Tool

_ORDER = {Verdict.VISIBLE: 0, Verdict.ASK: 1, Verdict.HIDDEN: 2}
SILENT = Decision(verdict=Verdict.VISIBLE, gate=None, reason="the gateway decides", unlock=None)
_ORPHANED = "the agent that started this one is unknown, so the rules for every agent apply"


def nearest(rows: Sequence[Tool], context: Context) -> Decision:
    """Decide about the row that is closest to being visible."""
    listed = [ToolDecision(tool, decide(tool, context)) for tool in rows]
    return min(listed, key=closest_to_being_visible).decision


def is_stricter(decision: Decision, other: Decision) -> bool:
    """Return whether a decision lets less pass than another."""
    return _ORDER[decision.verdict] > _ORDER[other.verdict]


def worst(decisions: Iterable[Decision]) -> Decision:
    """Return the strictest decision; the first of equals counts."""
    return max(decisions, key=lambda each: _ORDER[each.verdict], default=SILENT)


def strictest(callers: Sequence[Context], judge: Callable[[Context], Decision]) -> Decision:
    """Decide for the caller; a stricter decision below a possible parent counts, and says why."""
    known, *possible = callers
    found = judge(known)
    for each in possible:
        if found.verdict is Verdict.HIDDEN:
            break
        below = judge(each)
        if is_stricter(below, found):
            found = replace(
                below,
                reason=f"{_ORPHANED}: {below.reason}",
                detail=f"{_ORPHANED}: {below.full_reason}",
            )
    return found
