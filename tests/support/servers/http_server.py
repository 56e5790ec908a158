"""Real servers of HTTP: `python http_server.py KIND` serves on a free port, and prints it.

`sdk` speaks both eras, `sdk-old` the older ones alone, `odd` is written by hand and breaks off, forgets and
refuses as it is told.
"""

import json
import sys
from typing import Any

from small_server import guarded, serve

Message = dict[str, Any]


def sdk() -> Any:
    from mcp.server.mcpserver import Context, MCPServer
    from pydantic import BaseModel

    server = MCPServer("posting", version="1")

    class Which(BaseModel):
        which: str

    @server.tool()
    async def echo(x: str) -> str:  # pyright: ignore[reportUnusedFunction] - the SDK calls it
        """Say it again."""
        return x

    @server.tool()
    async def steps(ctx: Context[Any, Any]) -> str:  # pyright: ignore[reportUnusedFunction] - the same
        """Tell of progress."""
        for step in (1, 2):
            await ctx.report_progress(step, 2, "so far")
        return "done"

    @server.tool()
    async def ask(ctx: Context[Any, Any]) -> str:  # pyright: ignore[reportUnusedFunction] - the same
        """Ask the user."""
        found = await ctx.elicit("Which?", Which)
        return found.model_dump_json()

    return server


class Odd:
    """A server of the old era, with a session that it can forget."""

    def __init__(self) -> None:
        self.sessions = 0
        self.known: set[str] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        if scope["method"] != "POST":
            await self.reply(send, 405)
            return
        message = json.loads((await receive())["body"])
        session = headers.get("mcp-session-id")
        match message.get("method"):
            case "server/discover":
                await self.reply(send, 400)
            case "initialize":
                self.sessions += 1
                self.known.add(f"s{self.sessions}")
                info = {"name": "odd", "version": "1"}
                greeting: Message = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": info,
                }
                await self.reply(send, 200, message, greeting, session=f"s{self.sessions}")
            case _ if session not in self.known:
                await self.reply(send, 404)
            case "tools/call":
                await self.call(send, message, str(session))
            case _:
                await self.reply(send, 202)

    async def call(self, send: Any, message: Message, session: str) -> None:
        match message["params"]["name"]:
            case "forget":
                self.known.clear()
                await self.reply(send, 200, message, {"content": []})
            case "drop":
                raise ConnectionError
            case "break":
                start = {"type": "http.response.start", "status": 200}
                await send({**start, "headers": [(b"content-type", b"application/json")]})
                await send({"type": "http.response.body", "body": b'{"jsonrpc": "2.0", ', "more_body": True})
                raise ConnectionError
            case "refuse":
                await self.reply(send, 503)
            case "stranger":
                await self.reply(send, 401)
            case _:
                await self.reply(send, 200, message, {"content": [{"type": "text", "text": session}]})

    async def reply(
        self,
        send: Any,
        status: int,
        message: Message | None = None,
        result: Message | None = None,
        session: str = "",
    ) -> None:
        headers = [(b"mcp-session-id", session.encode())] if session else []
        body = b""
        if message is not None:
            headers.append((b"content-type", b"application/json"))
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def main(kind: str) -> None:
    match kind:
        case "sdk":
            serve(sdk().streamable_http_app())
        case "sdk-old":
            app = sdk().streamable_http_app()
            serve(guarded(app, lambda _, body: 400 if b"server/discover" in body else None))
        case "sse":
            serve(sdk().sse_app())
        case _:
            serve(Odd())


if __name__ == "__main__":
    main(sys.argv[1])
