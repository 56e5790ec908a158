"""Keeps the decisions about a catalog; a new snapshot repeats only those it can change."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from remit.decision.context import Context, Decision, ToolDecision
from remit.decision.decisions import CHANGING_GATES, SETTLED_GATES, decide
from remit.decision.rules import ToolRule, ToolRules
from remit.decision.snapshot import Snapshot
from remit.decision.tools import Tool

if TYPE_CHECKING:
    from remit.decision.when import Condition


class DecisionIndex:
    """The decisions about a catalog, updated with each snapshot."""

    def __init__(self, tools: Iterable[Tool], context: Context) -> None:
        self._context = context._replace(snapshot=None, args=None)
        self._before: Snapshot | None = None
        self._listed: list[ToolDecision] = []
        self._needing: dict[ToolRules, list[int]] = {}  # tools by rules, where only these can hide them
        for at, tool in enumerate(tools):
            decision = decide(tool, self._context, SETTLED_GATES)
            if decision.is_available:
                rules = context.rules.of(tool.name)
                if any(_conditions(rule) for rule in rules):
                    self._needing.setdefault(rules, []).append(at)
                decision = decide(tool, self._context, CHANGING_GATES)
            self._listed.append(ToolDecision(tool, decision))
        self._by_state = _index(self._needing, by_variable=False)
        self._by_variable = _index(self._needing, by_variable=True)

    def at(self, snapshot: Snapshot) -> list[ToolDecision]:
        """List the tools with their decisions under a snapshot; the same list if nothing changed."""
        context = self._context._replace(snapshot=snapshot)
        changes = [
            (at, decision)
            for rules in self._affected(snapshot)
            for at in self._needing[rules]
            if (decision := self._decide(at, context)) != self._listed[at].decision
        ]
        self._before = snapshot
        if changes:
            self._listed = self._listed.copy()
            for at, decision in changes:
                self._listed[at] = self._listed[at]._replace(decision=decision)
        return self._listed

    def _affected(self, snapshot: Snapshot) -> Iterable[ToolRules]:
        before = self._before
        if before is None:
            return self._needing
        states = _changed(self._by_state, before.states, snapshot.states)
        variables = _changed(self._by_variable, before.values, snapshot.values)
        return dict.fromkeys((*states, *variables))

    def _decide(self, at: int, context: Context) -> Decision:
        return decide(self._listed[at].tool, context, CHANGING_GATES)


def _conditions(rule: ToolRule) -> "list[Condition]":
    parts = (rule.condition, rule.call, rule.approval)
    return [part for part in parts if not isinstance(part, bool | None)]


def _index(needing: Iterable[ToolRules], *, by_variable: bool) -> dict[str, list[ToolRules]]:
    index: dict[str, list[ToolRules]] = {}
    for rules in needing:
        mentions = [part.mentions for rule in rules for part in _conditions(rule)]
        names = {
            name
            for mentioned in mentions
            for name in ((path[0] for path in mentioned.variables) if by_variable else mentioned.states)
        }
        for name in names:
            index.setdefault(name, []).append(rules)
    return index


def _changed(
    index: Mapping[str, list[ToolRules]], before: Mapping[str, object], now: Mapping[str, object]
) -> Iterator[ToolRules]:
    for name, affected in index.items():
        if before.get(name) != now.get(name):
            yield from affected
