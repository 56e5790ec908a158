"""A scripted HTTP server on loopback: each request gets the bytes that a test wants."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple


class HttpRequest(NamedTuple):
    """What arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    message: Any  # the JSON of the body; None without one


class Reply:
    """What goes back on one connection, which closes after it."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def start(self, status: int = 200, kind: str = "application/json", **headers: str) -> None:
        """Write the head of a response that ends with the connection."""
        lines = [f"HTTP/1.1 {status} Status", f"content-type: {kind}", "connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.write("\r\n".join([*lines, "", ""]).encode())

    async def json(self, message: object, status: int = 200, **headers: str) -> None:
        """Answer with JSON."""
        await self.start(status, **headers)
        await self.write(json.dumps(message).encode())

    async def event(self, message: object, **fields: object) -> None:
        """Write one event."""
        named = "".join(f"{name}: {value}\n" for name, value in fields.items())
        data = message if isinstance(message, str) else json.dumps(message)
        await self.write(f"{named}data: {data}\n\n".encode())


Answer = Callable[[HttpRequest, Reply], Awaitable[None]]


@asynccontextmanager
async def http_server(answer: Answer) -> AsyncGenerator[str]:
    """Serve on a free port, and return the URL without a path."""
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {
                name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)
            }
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            method, path, _ = head[0].split(" ")
            request = HttpRequest(method, path, headers, json.loads(body) if body else None)
            await answer(request, Reply(writer))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            tasks.discard(task)
            writer.close()
            with suppress(Exception):
                await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(list(tasks))


class McpServer:
    """A server that speaks streamable HTTP: each method is a function of the request and the reply."""

    def __init__(
        self, methods: Mapping[str, Answer], session: str | None = "s1", era: str = "session"
    ) -> None:
        self.methods = methods
        self.session = session
        self.era = era
        self.requests: list[HttpRequest] = []

    @property
    def messages(self) -> list[Any]:
        """The messages that were posted."""
        return [request.message for request in self.requests if request.message]

    async def __call__(self, request: HttpRequest, reply: Reply) -> None:
        self.requests.append(request)
        message: dict[str, Any] = request.message or {}
        name = message.get("method", request.method)
        if name in self.methods:
            await self.methods[name](request, reply)
        elif name == "initialize":
            result: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}}
            headers: dict[str, Any] = {} if self.session is None else {"mcp_session_id": self.session}
            await reply.json({"jsonrpc": "2.0", "id": message["id"], "result": result}, **headers)
        elif name == "server/discover" and self.era == "stateless":
            result = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete"}
            await reply.json({"jsonrpc": "2.0", "id": message["id"], "result": result})
        elif "id" in message:
            error = {"code": -32601, "message": "Method not found"}
            await reply.json({"jsonrpc": "2.0", "id": message["id"], "error": error})
        else:
            await reply.start(202 if request.method == "POST" else 405)
