"""What tool definitions cost in a request: sent by the client itself, and through the gateway."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from remit.presentation.listing_strategies import Presentation, group_item
from remit.presentation.remit_tools import DEFINITIONS, item_tokens
from remit.presentation.serving_plan import ServingPlan


class ListingCause(StrEnum):
    """Why the gateway lists a tool to a client that searches the others by itself."""

    USED = "used here"
    PINNED = "pinned"
    WANTED = "whose condition holds"


class RequestCost(NamedTuple):
    """The estimated tokens that tools take in the first request of a client, without Remit and with it."""

    definitions: int  # of all tools, if the client loads the servers itself
    served: int  # the tools that the gateway lists, and Remit's own texts
    tools: int  # that the client has without Remit
    names: int | None = None  # tokens of their names, if the client sends only these and searches the rest
    listed: int = 0  # tools of servers that the gateway lists
    own: int = 0  # Remit's own tools and groups that it lists
    budget: int | None = None  # the `token_budget`, if it decides which tools are listed
    lists_unused: bool = True  # the gateway also lists tools without a cause
    listed_tokens: int = 0  # of the tools that it lists
    causes: Sequence[ListingCause] = ()  # why it lists them; each applies to some

    @property
    def is_for_definitions(self) -> bool:
        """Whether Remit costs more only because it sends definitions where the client sends names."""
        return self.names is not None and self.served - self.listed_tokens <= self.names < self.served

    @property
    def direct(self) -> int:
        """What the client sends for its tools without Remit, as it is configured."""
        return self.definitions if self.names is None else self.names

    @property
    def saved(self) -> int:
        """What Remit saves; negative if it costs more."""
        return self.direct - self.served


def listed_tokens(presentation: Presentation) -> int:
    """Estimate the tokens of all that the gateway lists: tools, groups, and Remit's own tools."""
    items = [*(DEFINITIONS[own] for own in presentation.own), *map(group_item, presentation.groups)]
    return sum(map(item_tokens, items)) + tool_tokens(presentation)


def tool_tokens(presentation: Presentation) -> int:
    """Estimate the tokens of the tools of servers that the gateway lists."""
    return sum(entry.tool.tokens or 0 for entry in presentation.entries)


def listing_causes(presentation: Presentation, plan: ServingPlan) -> list[ListingCause]:
    """Return why the gateway lists tools, each cause once."""
    applies = {
        ListingCause.USED: any(each.uses[0] for each in presentation.entries),
        ListingCause.PINNED: any(plan.is_pinned(each.tool) for each in presentation.entries),
        ListingCause.WANTED: any(each.is_wanted for each in presentation.entries),
    }
    return [cause for cause, is_one in applies.items() if is_one]
