"""A roster: the decisions about a catalog, of which only those are made again that a new snapshot changes."""

from collections.abc import Iterable
from dataclasses import replace

from remit.core.decide import LASTING, PASSING, Context, Decision, Listed, decide_by
from remit.core.requirements import Needed
from remit.core.states import Snapshot
from remit.core.tools import Tool


class Roster:
    """Follows the states for those who list the same tools again and again."""

    def __init__(self, tools: Iterable[Tool], context: Context) -> None:
        self._context = replace(context, snapshot=None)
        self._before: Snapshot | None = None
        self._listed: list[Listed] = []
        self._lasting: list[Decision] = []
        self._needing: dict[Needed, list[int]] = {}  # tools by what they need, where only that can hide them
        for at, tool in enumerate(tools):
            decision = decide_by(LASTING, tool, context)
            self._listed.append(Listed(tool, decision))
            self._lasting.append(decision)
            needed = context.requirements.of(tool.name)
            if needed and decision.visible:
                self._needing.setdefault(needed, []).append(at)

    def at(self, snapshot: Snapshot) -> list[Listed]:
        """List the tools with the decisions about them, as the states are."""
        context, before = replace(self._context, snapshot=snapshot), self._before
        for needed, members in self._needing.items():
            if before is None or any(each.condition.mentions(snapshot, before) for each in needed):
                self._decide(members, context)
        self._before = snapshot
        return self._listed.copy()

    def _decide(self, members: list[int], context: Context) -> None:
        """Decide once for tools that need the same: what depends on the moment is the same for them all."""
        first = decide_by(PASSING, self._listed[members[0]].tool, context)
        for at in members:
            decision = self._lasting[at] if first.visible else first
            self._listed[at] = Listed(self._listed[at].tool, decision)
