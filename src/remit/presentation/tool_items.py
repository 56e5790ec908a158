"""Tools as list items, as their servers define them, with cleaned texts."""

import json
from typing import Any, NamedTuple, cast

from remit.decision.tools import Definition
from remit.text.untrusted_text import clean_item, is_clean_json

Item = dict[str, Any]
EMPTY_SCHEMA: Item = {"type": "object", "properties": {}}


class ServedDefinition(NamedTuple):
    """What an item is made of."""

    name: str  # as served
    definition: Definition
    is_reading: bool = True  # as Remit rates it, whatever its server says


def item(served: ServedDefinition) -> Item:
    """Return the list item of a tool: its server's definition under the served name.

    Titles and descriptions are cleaned; names, types and values stay as the server sent them. Only a tool
    that Remit rates as reading may call itself so: clients run such a tool without asking.
    """
    definition = served.definition
    made = _item(served.name, definition)
    hints: object = made.get("annotations")
    if not served.is_reading and isinstance(hints, dict) and "readOnlyHint" in hints:
        made["annotations"] = {
            name: hint for name, hint in cast("Item", hints).items() if name != "readOnlyHint"
        }
    return made if definition.raw is not None and is_clean_json(definition.raw) else clean_item(made)


def _item(name: str, definition: Definition) -> Item:
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
