"""What clients read: list items of tools, Remit's own tools, groups and rooms, and the instructions.

Titles and descriptions are cleaned. Names, types and values in schemas stay as the server sent them.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, cast

from remit.decision import CALL_TOOL, GATEWAY_TOOLS, READ_RESULT, Definition
from remit.text import LONGEST_TEXT, as_object, clean, definition_tokens, estimate, fence, one_line, plural

Item = dict[str, Any]

DISCOVER_TOOLS, _, WHY_TOOL, _ = GATEWAY_TOOLS
ROOM = "room://"
_DEEPEST = 64  # levels of a schema; deeper ones are left out, because nothing would clean them
_TEXTS = frozenset({"title", "description", "$comment", "deprecationMessage", "markdownDescription"})
_LABELS = frozenset({"enumNames", "enumDescriptions", "markdownEnumDescriptions"})
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_VALUES = frozenset({"const", "enum", "default", "examples", "required", "_meta"})
# Escapes that may stand for an invisible character; a test holds this to `is_invisible`.
_SUSPECT = re.compile(
    r"\\(?:[bfr]|u(?:00[0189]|007f|00ad|034f|0[678]|115f|1160|17b|180"
    r"|20(?:0[b-f]|2[89a-e]|6)|2800|3164|d[89a-f]|f))"
)
_MOST_NAMED = 12  # tools named in a group's item
_MOST_INSTRUCTIONS = 4_000  # characters of all servers' instructions together
_LEAST_INSTRUCTIONS = 200  # characters of each server's, however many there are
_MOST_SERVERS = 60  # lines
_LONGEST_LABEL = 100


def tool_item(name: str, definition: Definition, *, is_reading: bool = True) -> Item:
    """Return the list item of a tool: its server's definition under the served name.

    Only a tool that Remit rates as reading may call itself so: clients run such a tool without asking.
    """
    item: Item = {**json.loads(definition.raw), "name": name}
    hints: object = item.get("annotations")
    if not is_reading and isinstance(hints, dict) and "readOnlyHint" in hints:
        named = cast("Item", hints)
        item["annotations"] = {hint: value for hint, value in named.items() if hint != "readOnlyHint"}
    return item if _is_clean(definition.raw) else clean_item(item)


def clean_item(item: Mapping[str, Any]) -> Item:
    """Clean the texts of a tool, prompt or resource in a list, including those of its schemas."""
    return cast("Item", _cleaned(item, 0))


def is_for_model(item: Mapping[str, Any]) -> bool:
    """Return whether a model may see and call a tool, not only the page of an app."""
    visibility = as_object(as_object(item.get("_meta")).get("ui")).get("visibility")
    return not isinstance(visibility, list) or not visibility or "model" in visibility


def _is_clean(text: str) -> bool:
    """Return whether JSON in ASCII certainly has nothing to clean, in less time than cleaning it."""
    return len(text) <= LONGEST_TEXT and text.isprintable() and _SUSPECT.search(text) is None


def _cleaned(value: object, depth: int) -> object:
    if isinstance(value, list | Mapping) and depth > _DEEPEST:
        return {}
    if isinstance(value, list):
        return [_cleaned(item, depth + 1) for item in cast("list[object]", value)]
    if not isinstance(value, Mapping):
        return value
    members = cast("Mapping[str, object]", value)
    return {key: _member(key, member, depth) for key, member in members.items()}


def _member(key: str, value: object, depth: int) -> object:
    if isinstance(value, str):
        return clean(value) if key in _TEXTS else value
    if key in _VALUES:
        return value
    if key in _LABELS and isinstance(value, list):
        labels = cast("Sequence[object]", value)
        return [clean(label) if isinstance(label, str) else label for label in labels]
    if key in _BY_NAME and isinstance(value, Mapping):
        schemas = cast("Mapping[str, object]", value)
        return {name: _cleaned(schema, depth + 1) for name, schema in schemas.items()}
    return _cleaned(value, depth + 1)


def _own(name: str, title: str, description: str, required: str, /, **properties: Any) -> Item:
    schema = {"type": "object", "properties": properties, "required": [required]}
    return {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": schema | {"additionalProperties": False},
    }


_READS = {"annotations": {"readOnlyHint": True, "openWorldHint": False}}
_NAME = {"type": "string", "description": "The tool's name, as listed or found."}
OWN_ITEMS: Mapping[str, Item] = {
    DISCOVER_TOOLS: _own(
        DISCOVER_TOOLS,
        "Find tools",
        "Find tools for a task, in plain words. More tools are available than are listed: search before "
        "saying that something cannot be done. Each result says how to call it.",
        "query",
        query={"type": "string", "description": "What the tool should do."},
        limit={
            "type": "integer",
            "minimum": 1,
            "maximum": 50,
            "default": 20,
            "description": "The most tools to return.",
        },
        detail={
            "type": "string",
            "enum": ["brief", "full"],
            "default": "brief",
            "description": "`full` gives input schemas, to call at once.",
        },
        scope={
            "type": "string",
            "enum": ["managed", "dynamic", "local", "project", "global", "plugin"],
            "description": "Only tools of this scope.",
        },
        include_hidden={
            "type": "boolean",
            "default": False,
            "description": "Also tools that cannot be used now, with the reason.",
        },
    )
    | _READS,
    CALL_TOOL: _own(
        CALL_TOOL,
        "Call a tool",
        "Call a tool that was found but is not listed, by its name. Returns that tool's result.",
        "name",
        name=_NAME,
        arguments={"type": "object", "description": "As the tool's input schema says.", "default": {}},
    ),
    WHY_TOOL: _own(
        WHY_TOOL,
        "Explain a tool",
        "Explain why a tool is available here and now, or is not. Returns the reason.",
        "name",
        name=_NAME,
    )
    | _READS,
    READ_RESULT: _own(
        READ_RESULT,
        "Read a large result",
        "Read on in a result that was too large to return whole. Its first answer names its id.",
        "result",
        result={"type": "string", "description": "The id of the result."},
        line={"type": "integer", "minimum": 1, "description": "Start at this line."},
        offset={"type": "integer", "minimum": 0, "description": "Or start at this character."},
        limit={"type": "integer", "minimum": 1, "description": "The most lines to return."},
        search={"type": "string", "description": "Only lines that contain this text."},
    )
    | _READS,
}


@cache
def own_tokens(name: str) -> int:
    """Estimate the tokens of one of Remit's own tools."""
    return item_tokens(OWN_ITEMS[name])


def item_tokens(item: Item) -> int:
    """Estimate the tokens of a definition that Remit wrote."""
    return definition_tokens(item["name"], item["description"], json.dumps(item["inputSchema"]))


def group_item(name: str, description: str, tools: Sequence[str]) -> Item:
    """Return a group as a tool that returns the definitions of the group's tools."""
    more = len(tools) - _MOST_NAMED
    named = ", ".join(tools[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    text = f"{description}: {named}. Call this to get their definitions; then call one by `{CALL_TOOL}`."
    return {"name": name, "description": text, "inputSchema": {"type": "object", "properties": {}}, **_READS}


def room_item(name: str, description: str, tools: int) -> Item:
    """Return a room as a resource."""
    text = f"{description} ({plural(tools, 'tool')})"
    return {"uri": f"{ROOM}{name}", "name": name, "description": text, "mimeType": "application/json"}


def hint_lines(hint: str, deferred: Mapping[str, int]) -> str:
    """Say how to reach the tools that are not listed, with a line per server; empty if there are none."""
    if not deferred:
        return ""
    lines = [f"- {_label(server)}: {plural(count, 'tool')}" for server, count in deferred.items()]
    more = len(lines) - _MOST_SERVERS
    others = [f"- {more} more servers"] if more > 0 else []
    return "\n".join([hint, *lines[:_MOST_SERVERS], *others])


def instructions(hints: str, servers: Mapping[str, str | None], others: Iterable[str] = ()) -> str | None:
    """Join how to reach tools, what `others` of Remit say, and the quoted instructions of servers.

    Every line of a server is quoted, so it cannot write a heading of ours.
    """
    texts = {server: text for server, text in servers.items() if text}
    most = max(_LEAST_INSTRUCTIONS, _MOST_INSTRUCTIONS // max(1, len(texts)))
    quoted = [
        fence(f"Instructions of the server `{_label(name)}`", text, most) for name, text in texts.items()
    ]
    return "\n\n".join(filter(None, (hints, *others, *quoted))) or None


def text_tokens(text: str | None) -> int:
    """Estimate the tokens of a text that a model reads at the start."""
    return estimate(text) if text else 0


def _label(server: str) -> str:
    return one_line(server.replace("`", "'"), _LONGEST_LABEL)
