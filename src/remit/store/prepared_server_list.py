"""A server's list on its way into the store.

Making one and judging it take seconds if the list is long, and need no database, so any thread can do both.
Reading what the store knows, and storing the list, take milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from remit.decision.tool_names import REMIT, storable
from remit.decision.tools import Definition
from remit.store.definition_rows import PreparedDefinition, StoredDefinition
from remit.trust.server_list_comparison import ListedDefinition, ServerListComparison, ServerPins, Sighting

if TYPE_CHECKING:
    from remit.decision.declarations import Declaration
    from remit.decision.definitions.definition_changes import DefinitionChange
    from remit.trust.change_judgement import ServerListReview
    from remit.trust.held_definitions import Item
    from remit.upstream.upstream_model import Offer


class PreparedServerList:
    """A list with its digests, what the store knows about it, and the judgements about it."""

    def __init__(self, declaration: Declaration, offer: Offer) -> None:
        self.declaration = declaration
        self.offer = offer
        self.tools = [PreparedDefinition(definition) for definition in offer.tools]
        self.instructions = self._instructions()
        self._pins = ServerPins()
        self._accepted: Mapping[int, Definition] = {}
        self._stored: Mapping[str, StoredDefinition] = {}
        self._around: Sequence[Definition] = ()

    @property
    def is_pinned(self) -> bool:
        """Whether its definitions are pinned; Remit's own change with Remit."""
        return self.declaration.source != REMIT

    @property
    def definitions(self) -> list[PreparedDefinition]:
        """The definitions of its tools, and its instructions."""
        return [*self.tools, *([] if self.instructions is None else [self.instructions])]

    def learn(self, stored: Mapping[str, StoredDefinition], pins: ServerPins) -> list[str]:
        """Take what the store knows, and return the names of what has to be judged."""
        self._stored, self._pins = stored, pins
        if not self.is_pinned:
            return []
        comparison = ServerListComparison(pins, self.declaration, self._accepted.get)
        ids = {each.definition.name: stored.get(each.digest) for each in self.definitions}
        return [name for name, known in ids.items() if not comparison.is_settled(name, known and known.id)]

    def learn_more(self, accepted: Mapping[int, Definition], around: Sequence[Definition]) -> None:
        """Take the accepted definitions of what has to be judged, and the tools of the other servers."""
        self._accepted, self._around = accepted, around

    def judge(self) -> None:
        """Judge the definitions that are not as accepted, and prepare the rows of new ones."""
        for each in self.definitions:
            if each.digest not in self._stored:
                each.row  # noqa: B018 - computed once, and not while others wait
        if self.is_pinned:
            comparison = ServerListComparison(self._pins, self.declaration, self._accepted.get)
            self.review.judge_all(comparison.sightings(map(self._listed, self.definitions)))
        self.extras  # noqa: B018 - inspected once, and not while others wait

    def judgement(self, sighting: Sighting) -> DefinitionChange | None:
        """Return the judgement about a definition; one that the store did not know of is made now."""
        return self.review.judge(sighting)

    @cached_property
    def review(self) -> ServerListReview:
        """The judgements about this list."""
        from remit.trust.change_judgement import ServerListReview  # not needed without changes

        return ServerListReview([*self._around, *self.offer.tools])

    def _listed(self, prepared: PreparedDefinition) -> ListedDefinition:
        id, pin = self._stored.get(prepared.digest) or (None, prepared.pin)
        return ListedDefinition(prepared.definition, id, pin)

    def _instructions(self) -> PreparedDefinition | None:
        """Make the definition that the pin of the server's instructions compares."""
        extras, declaration = self.offer.extras, self.declaration
        if extras is None:
            return None
        text = storable(extras.instructions or "")
        said = Definition(name=declaration.name, server=declaration.server, description=text)
        return PreparedDefinition(said)

    @cached_property
    def extras(self) -> Mapping[str, str | None] | None:
        """What the server offers besides tools, serialized, with the reason why an item is withheld."""
        extras = self.offer.extras
        if extras is None:
            return None
        lists: Mapping[str, Sequence[Item]] = {
            "resources": extras.resources,
            "templates": extras.templates,
            "prompts": extras.prompts,
        }
        if self.is_pinned and any(lists.values()):
            from remit.trust.item_review import with_reasons  # not needed without items

            lists = with_reasons(lists, self.declaration.server, self.offer.tools)
        return {
            **{part: json.dumps(items) for part, items in lists.items()},
            "capabilities": json.dumps(extras.capabilities),
            "instructions": None if extras.instructions is None else storable(extras.instructions),
        }
