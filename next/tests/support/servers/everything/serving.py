"""How the servers of the tests are reached: over stdio, or over HTTP on a free port of the loopback."""

import socket
import sys
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server

ALL = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)


class Announcing(Server[Any]):
    """A server that says in both eras that its lists change; the SDK's own says so only in the new one."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        return super().create_initialization_options(
            notification_options or ALL, experimental_capabilities, extensions
        )


def serve(server: Server[Any], transport: str, era: str = "both") -> None:
    """Serve until the other side is gone, or the process is ended; over stdio, perhaps only the old era."""
    if transport == "http":
        listen(server.streamable_http_app())
    else:
        anyio.run(_over_stdio, server, era)


def listen(app: Any) -> None:
    """Serve an application on a free port of the loopback, and print the port."""
    # Named, or asyncio does not know it for TCP, and lets answers wait for an acknowledgement.
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(1024)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])


async def _over_stdio(server: Server[Any], era: str) -> None:
    async with stdio_server() as (reading, writing):
        options = server.create_initialization_options()
        if era == "old":
            await serve_loop(server, reading, writing, lifespan_state={}, init_options=options)
        else:
            await server.run(reading, writing, options)
