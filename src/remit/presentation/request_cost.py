"""What tool definitions cost in a request: sent by the client itself, and through the gateway."""

from typing import NamedTuple

from remit.presentation.listing_strategies import Presentation, group_item
from remit.presentation.remit_tools import DEFINITIONS, item_tokens


class RequestCost(NamedTuple):
    """The estimated tokens that tools take in the first request of a client, without Remit and with it."""

    definitions: int  # of all tools, if the client loads the servers itself
    served: int  # the tools that the gateway lists, and Remit's own texts
    tools: int  # that the client has without Remit
    names: int | None = None  # tokens of their names, if the client sends only these and searches the rest
    listed: int = 0  # tools of servers that the gateway lists
    own: int = 0  # Remit's own tools and groups that it lists
    budget: int | None = None  # the `token_budget`, if it decides which tools are listed
    lists_unused: bool = True  # the gateway also lists tools that were not used here

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
    return sum(map(item_tokens, items)) + sum(entry.tool.tokens or 0 for entry in presentation.entries)
