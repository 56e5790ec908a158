"""Remit's own tools: find tools, call them, explain them, report others, and read large results."""

import json
from enum import StrEnum
from typing import Any

from remit.presentation.tool_items import Item
from remit.text.token_estimate import definition_tokens

_NAME = {"type": "string", "description": "The tool's name, as listed or found."}


class OwnTool(StrEnum):
    """The names of Remit's own tools."""

    DISCOVER = "discover_tools"
    CALL = "call_tool"
    WHY = "why_tool"
    REPORT = "report_available_tools"
    READ = "read_result"


def _tool(own: OwnTool, title: str, description: str, required: list[str], /, **properties: Any) -> Item:
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": str(own), "title": title, "description": description, "inputSchema": schema}


DEFINITIONS: dict[OwnTool, Item] = {
    OwnTool.DISCOVER: {
        **_tool(
            OwnTool.DISCOVER,
            "Find tools",
            "Find tools for a task, in plain words. More tools are available than are listed: search before "
            "saying that something cannot be done. Each result says how to call it.",
            ["query"],
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
        ),
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    OwnTool.CALL: _tool(
        OwnTool.CALL,
        "Call a tool",
        "Call a tool that was found but is not listed, by its name. Returns that tool's result.",
        ["name"],
        name=_NAME,
        arguments={"type": "object", "description": "As the tool's input schema says.", "default": {}},
    ),
    OwnTool.WHY: {
        **_tool(
            OwnTool.WHY,
            "Explain a tool",
            "Explain why a tool is available here and now, or is not. Returns the reason.",
            ["name"],
            name=_NAME,
        ),
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    OwnTool.REPORT: {
        **_tool(
            OwnTool.REPORT,
            "Report your tools",
            "Report which other tools you have, so searches in this project find them. Returns their names.",
            ["tools"],
            tools={
                "type": "array",
                "description": "The tools you have besides those of this server.",
                "maxItems": 200,
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "description": "Its name, as you call it."},
                        "description": {"type": "string", "description": "What it does."},
                        "input_schema": {"type": "object", "description": "Its JSON schema."},
                    },
                    "required": ["name"],
                },
            },
        ),
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
    },
    OwnTool.READ: {
        **_tool(
            OwnTool.READ,
            "Read a large result",
            "Read on in a result that was too large to return whole. Its first answer names its id.",
            ["result"],
            result={"type": "string", "description": "The id of the result."},
            line={"type": "integer", "minimum": 1, "description": "Start at this line."},
            offset={"type": "integer", "minimum": 0, "description": "Or start at this character."},
            limit={"type": "integer", "minimum": 1, "description": "The most lines to return."},
            search={"type": "string", "description": "Only lines that contain this text."},
            regex={
                "type": "boolean",
                "default": False,
                "description": "`search` is a regular expression.",
            },
            path={"type": "string", "description": "Part of a JSON result, such as `$.items[0:10].name`."},
        ),
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
}


def item_tokens(item: Item) -> int:
    """Estimate the tokens of a definition that Remit wrote."""
    return definition_tokens(item["name"], item["description"], json.dumps(item["inputSchema"]))
