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
    raw = served.definition.raw
    assert raw is not None  # noqa: S101 - its server listed it
    made: Item = {"name": served.name, **json.loads(raw)}
    hints: object = made.get("annotations")
    if not served.is_reading and isinstance(hints, dict) and "readOnlyHint" in hints:
        made["annotations"] = {
            name: hint for name, hint in cast("Item", hints).items() if name != "readOnlyHint"
        }
    return made if is_clean_json(raw) else clean_item(made)
