"""The tools of the everything-server that answer by themselves, with every kind of content."""

import json

import anyio
from pictures import AUDIO, IMAGE
from scripted import STRING, Call, Result, change, resource, says, takes, text, tool

MOMENT = 0.05  # between two notifications, so that they are seen to come one by one
DIALECT: Result = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": STRING, "city": STRING},
        }
    },
    "properties": {
        "name": STRING,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": STRING,
        "email": STRING,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@tool()
async def simple_text(_: Call) -> Result:
    """Say one sentence."""
    return says(text("This is a simple text response for testing."))


@tool()
async def image_content(_: Call) -> Result:
    """Show one pixel."""
    return says(IMAGE)


@tool()
async def audio_content(_: Call) -> Result:
    """Play one silent sample."""
    return says(AUDIO)


@tool()
async def embedded_resource(_: Call) -> Result:
    """Hand over a resource."""
    return says(resource("test://embedded-resource", "This is an embedded resource content."))


@tool()
async def multiple_content_types(_: Call) -> Result:
    """Say, show and hand over."""
    data = resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return says(text("Multiple content types test:"), IMAGE, data)


@tool()
async def error_handling(_: Call) -> Result:
    """Fail."""
    return {"isError": True, **says(text("This tool intentionally returns an error for testing"))}


@tool()
async def tool_with_logging(call: Call) -> Result:
    """Log three times."""
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await call.log(words)
        await anyio.sleep(MOMENT)
    return says(text("logged three times"))


@tool()
async def logging_tool(call: Call) -> Result:
    """Log once."""
    await call.log("a line of the log")
    return says(text("logged once"))


@tool()
async def tool_with_progress(call: Call) -> Result:
    """Tell of its progress three times."""
    for done in (0, 50, 100):
        await call.progress(done, 100)
        await anyio.sleep(MOMENT)
    return says(text("done"))


@tool(takes(region={**STRING, "x-mcp-header": "Region"}))
async def header_parameter(call: Call) -> Result:
    """Take an argument that travels in a header as well."""
    return says(text(f"region {call.arguments['region']}"))


@tool(DIALECT, prefix="")
async def json_schema_2020_12_tool(call: Call) -> Result:
    """Take arguments of a schema with all the words of its dialect."""
    return says(text(json.dumps(dict(call.arguments))))


@tool()
async def trigger_tool_change(call: Call) -> Result:
    """Let a tool come or go."""
    await change(call.request, "get_passing_tool")
    return says(text("changed"))


@tool(prefix="")
async def get_passing_tool(_: Call) -> Result:
    """Get a word."""
    return says(text("here"))
