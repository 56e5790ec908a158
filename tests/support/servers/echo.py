"""A server of the SDK that echoes and lists many tools besides: `echo.py stdio|http COUNT|FILE`.

FILE holds a list of definitions. This is what benchmarks measure directly and through gateways, so it does no
more than it has to: the list is made once.
"""

import json
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from definitions import tools
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from serving import serve

ECHO = {
    "name": "echo",
    "description": "Say the same again.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def echoing(wanted: str) -> Server[Any]:
    others = tools(int(wanted)) if wanted.isdecimal() else json.loads(Path(wanted).read_text("utf-8"))
    listed = types.ListToolsResult.model_validate({"tools": [ECHO, *others]}, by_name=False)
    schemas = {tool.name: tool.input_schema for tool in listed.tools}

    async def list_tools(_: ServerRequestContext[Any, Any], __: Any) -> types.ListToolsResult:
        return listed

    async def call_tool(
        _: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        said = str((params.arguments or {}).get("text"))
        return types.CallToolResult(content=[types.TextContent(text=said)])

    return Server(
        "echo",
        version="1.0.0",
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


if __name__ == "__main__":
    serve(echoing(sys.argv[2]), sys.argv[1])
