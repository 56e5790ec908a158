"""Caches the decisions about a catalog; a new snapshot repeats only those it can change."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import repeat

from remit.decision.context import Context
from remit.decision.decide import CATALOG_GATES, SNAPSHOT_GATES, Decision, ToolDecision, decide_by
from remit.decision.gates import Gate
from remit.decision.requirements import Requirement, ToolRequirements
from remit.decision.state_snapshot import Snapshot
from remit.decision.tools import Tool

_ORDER = list(Gate)
_AFTER_STATES = _ORDER[_ORDER.index(Gate.STATE) + 1 :]


class DecisionIndex:
    """The decisions about a catalog, updated with each snapshot."""

    def __init__(self, tools: Iterable[Tool], context: Context) -> None:
        self._context = replace(context, snapshot=None)
        self._before: Snapshot | None = None
        self._tools = list(tools)
        # The decisions if all required states hold; after the states, only the mode can object.
        self._settled = [decide_by(CATALOG_GATES, tool, context) for tool in self._tools]
        self._listed = list(map(ToolDecision, self._tools, self._settled))
        self._needing: dict[
            ToolRequirements, list[int]
        ] = {}  # tools by requirements, where only these can hide them
        for at, (tool, decision) in enumerate(self._listed):
            needed = context.requirements.of(tool.name)
            if needed and (decision.gate is None or decision.gate in _AFTER_STATES):
                self._needing.setdefault(needed, []).append(at)
        self._by_state = _index(self._needing, lambda each: each.condition.dependencies().states)
        self._by_variable = _index(self._needing, lambda each: each.condition.dependencies().variables)

    def at(self, snapshot: Snapshot) -> list[ToolDecision]:
        """List the tools with their decisions under a snapshot."""
        context = replace(self._context, snapshot=snapshot)
        for needed in self._affected(snapshot):
            self._decide(self._needing[needed], context)
        self._before = snapshot
        return self._listed.copy()

    def _affected(self, snapshot: Snapshot) -> Iterable[ToolRequirements]:
        before = self._before
        if before is None:
            return self._needing
        states = _changed(self._by_state, before.states, snapshot.states)
        variables = _changed(self._by_variable, before.values, snapshot.values)
        return dict.fromkeys((*states, *variables))

    def _decide(self, members: list[int], context: Context) -> None:
        """Decide once for all tools with the same requirements."""
        tools = [self._tools[at] for at in members]
        first = decide_by(SNAPSHOT_GATES, tools[0], context)
        decisions: Iterable[Decision] = (
            [self._settled[at] for at in members] if first.is_available else repeat(first)
        )
        for at, item in zip(members, map(ToolDecision, tools, decisions), strict=True):
            self._listed[at] = item


def _index(
    needing: Iterable[ToolRequirements], names: Callable[[Requirement], Iterable[str]]
) -> dict[str, list[ToolRequirements]]:
    found: dict[str, list[ToolRequirements]] = {}
    for needed in needing:
        for name in {name for each in needed for name in names(each)}:
            found.setdefault(name, []).append(needed)
    return found


def _changed(
    index: Mapping[str, list[ToolRequirements]], before: Mapping[str, object], now: Mapping[str, object]
) -> Iterator[ToolRequirements]:
    for name, affected in index.items():
        if before.get(name) != now.get(name):
            yield from affected
