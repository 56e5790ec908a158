"""FastMCP as a proxy, in an environment of its own: `gateway_peers.py stdio|http TARGET [TOOLS.json]`.

TARGET is a URL, or a command as JSON. The era behind is found once (`mode="auto"`) instead of mirrored, which
is FastMCP at its best. Given the tools, it gets the hook that the SDK asks for a tool's schema; without that
hook, which FastMCP does not set, the SDK runs `tools/list` before every call over HTTP in the new era.
"""
# What it imports is in another environment.
# pyright: basic, reportMissingImports=false

import json
import socket
import sys
from pathlib import Path

import uvicorn
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy


def main() -> None:
    transport, target, *rest = sys.argv[1:]
    proxy = create_proxy(reached(target), mode="auto")
    if rest:
        schemas = {tool["name"]: tool["inputSchema"] for tool in json.loads(Path(rest[0]).read_text("utf-8"))}
        proxy._mcp_server.get_tool_input_schema = schemas.get
    if transport == "stdio":
        proxy.run(transport="stdio", show_banner=False, log_level="CRITICAL")
        return
    listener = socket.socket(proto=socket.IPPROTO_TCP)  # named, or asyncio leaves Nagle's delay on
    listener.bind(("127.0.0.1", 0))
    listener.listen(1024)
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(proxy.http_app(path="/mcp"), log_level="critical")).run(sockets=[listener])


def reached(target: str) -> StdioTransport | str:
    if not target.startswith("["):
        return target
    command, *arguments = json.loads(target)
    return StdioTransport(command, arguments)


if __name__ == "__main__":
    main()
