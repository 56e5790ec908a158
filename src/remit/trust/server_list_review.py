"""Judges the definitions of a server's list before they are stored.

A long list takes seconds, so whoever stores lists judges them first, in a thread in which nobody waits.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property

from remit.decision.definitions.definition_changes import DefinitionChange
from remit.decision.tools import Definition
from remit.inspection.surroundings import Surroundings
from remit.trust.change_judgement import judge_change, judge_first_sight, judge_new, judge_same_pin
from remit.trust.inspections import MAX_LIST, Inspections, text_size
from remit.trust.server_list_comparison import Sight, Sighting


class ServerListReview:
    """The judgements about one list, each made once."""

    def __init__(self, around: Sequence[Definition], budget: int = MAX_LIST) -> None:
        self._around = around  # the tools of all servers
        self._budget = budget  # characters
        self._judged: dict[Sighting, DefinitionChange | None] = {}

    @cached_property
    def _inspections(self) -> Inspections:
        return Inspections(Surroundings.of(self._around), self._budget)

    def judge_all(self, sightings: Iterable[Sighting]) -> None:
        """Judge definitions, small ones first, so that the budget suffices for most of them."""
        for sighting in sorted(sightings, key=lambda each: text_size(each.current)):
            self.judge(sighting)

    def judge(self, sighting: Sighting) -> DefinitionChange | None:
        """Return why a definition cannot be accepted, or None."""
        if sighting not in self._judged:
            self._judged[sighting] = self._judgement(*sighting)
        return self._judged[sighting]

    def _judgement(
        self, sight: Sight, current: Definition, accepted: Definition | None
    ) -> DefinitionChange | None:
        if sight is Sight.FIRST:
            return judge_first_sight(current, self._inspections)
        if accepted is None:
            return judge_new(current, self._inspections)
        if sight is Sight.SAME_PIN:
            return judge_same_pin(accepted, current, self._inspections)
        return judge_change(accepted, current, self._inspections)
