"""Items: tools as lists have them, in the words of their servers."""

import json
from typing import Any

from remit.decision.tools import Definition

Item = dict[str, Any]
EMPTY_SCHEMA: Item = {"type": "object", "properties": {}}


def item(name: str, definition: Definition) -> Item:
    """Write a tool as a list has it: all that its server says, under the name that it is served by."""
    if definition.raw is not None:
        return {"name": name, **json.loads(definition.raw)}
    made: Item = {"name": name}
    if definition.title is not None:
        made["title"] = definition.title
    if definition.description is not None:
        made["description"] = definition.description
    made["inputSchema"] = (
        EMPTY_SCHEMA if definition.input_schema is None else json.loads(definition.input_schema)
    )
    if definition.output_schema is not None:
        made["outputSchema"] = json.loads(definition.output_schema)
    if definition.annotations is not None:
        made["annotations"] = json.loads(definition.annotations)
    return made
