"""What tool definitions cost in a request: sent by the client itself, and through the gateway."""

import json
from typing import NamedTuple

from remit.presentation.remit_tools import DEFINITIONS
from remit.presentation.strategies import Presentation, group_item
from remit.text.token_estimate import definition_tokens


class RequestCost(NamedTuple):
    """The estimated tokens of the tool definitions in each request of one client."""

    direct: int  # the client loads the servers itself
    served: int  # the gateway lists some of their tools


def listed_tokens(presentation: Presentation) -> int:
    """Estimate the tokens of all that the gateway lists: tools, groups, and Remit's own tools."""
    items = [*(DEFINITIONS[own] for own in presentation.own), *map(group_item, presentation.groups)]
    own = [
        definition_tokens(each["name"], each["description"], json.dumps(each["inputSchema"]))
        for each in items
    ]
    return sum(own) + sum(entry.tool.tokens or 0 for entry in presentation.entries)
