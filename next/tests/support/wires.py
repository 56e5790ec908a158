"""Two ends of a wire in one process: a scripted server or client at one end, and a caller to work for."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio

from remit.protocol import (
    CLIENT_LIMITS,
    Answer,
    Era,
    ErrorCode,
    Handler,
    Incoming,
    JsonRpcError,
    LineTransport,
    Params,
    Peer,
    Pending,
    ServerConnection,
    Tasks,
    connect,
)

CLIENT = {"name": "tests", "version": "1"}


class RecordingCaller:
    """A caller that remembers what it was told, and answers questions as it was told to."""

    def __init__(
        self,
        session: str = "one",
        *,
        capabilities: Mapping[str, Any] | None = None,
        answer: Callable[[str, Params], Coroutine[Any, Any, Answer]] | None = None,
        log_level: str | None = None,
        takes_input_required: bool = False,
    ) -> None:
        self.session = session
        self.name: str | None = None
        self.environment: Mapping[str, str] = {}
        self.capabilities: Mapping[str, Any] = capabilities or {}
        self.log_level = log_level
        self.takes_input_required = takes_input_required
        self.told: list[tuple[str, Params]] = []
        self.asked: list[tuple[str, Params]] = []
        self._answer = answer

    async def ask(self, method: str, params: Params) -> Answer:
        self.asked.append((method, params))
        if self._answer is None:
            raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, "nobody answers")
        return await self._answer(method, params)

    async def notify(self, method: str, params: Params) -> None:
        self.told.append((method, params))


class Wire:
    """The raw end of a wire, for what no peer of ours would send."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._unread = b""

    def write(self, *messages: object) -> None:
        """Write messages, or bytes as they are; what a socket does not hold is for `flood`."""
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
            self.socket.sendall(line)

    async def flood(self, *messages: object) -> None:
        """Write more than the other side may read at once."""
        await asyncio.to_thread(self.write, *messages)

    async def read(self) -> Any:
        """Read one message; None at the end."""
        pieces = [self._unread]
        while b"\n" not in pieces[-1]:
            await anyio.wait_readable(self.socket)
            if not (piece := self.socket.recv(2**18)):
                return None
            pieces.append(piece)
        line, _, self._unread = b"".join(pieces).partition(b"\n")
        return json.loads(line)


def wire() -> tuple[int, Wire]:
    """Return a descriptor for a transport, and the other end."""
    ours, others = socket.socketpair()
    return ours.detach(), Wire(others)


@asynccontextmanager
async def serving(handler: Handler) -> AsyncGenerator[tuple[Peer, Wire]]:
    """Serve a client, whose end the test holds."""
    descriptor, client = wire()
    transport = LineTransport(descriptor, descriptor)
    async with Tasks() as tasks:
        peer = Peer(transport, tasks, handler, CLIENT_LIMITS)
        running = tasks.start(peer.run())
        try:
            with client.socket:
                yield peer, client
            await running
        finally:
            await transport.close()
            os.close(descriptor)


@asynccontextmanager
async def talking(**options: Any) -> AsyncGenerator[tuple[ServerConnection, Wire]]:
    """Connect to a server, whose end the test holds once the session is open."""
    descriptor, server = wire()

    async def shake_hands() -> None:
        number = (await server.read())["id"]
        result: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}}
        server.write({"jsonrpc": "2.0", "id": number, "result": result})
        await server.read()

    async with Tasks() as tasks:
        shaking = tasks.start(shake_hands())
        transport = LineTransport(descriptor, descriptor)
        with server.socket:
            async with connect(transport, CLIENT, {}, era=Era.SESSION, **options) as connection:
                await shaking
                yield connection, server
        os.close(descriptor)


class ScriptedServer:
    """A server whose answers are functions of the parameters; a list of them answers once each."""

    def __init__(self, methods: Mapping[str, Any], **opening: Any) -> None:
        opened: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}, **opening}
        self.methods: dict[str, Any] = {"initialize": opened, **methods}
        self.heard: list[tuple[str, Params]] = []
        self.peer: Peer
        self.socket: socket.socket

    def hang_up(self) -> None:
        """Close the wire."""
        self.socket.shutdown(socket.SHUT_RDWR)

    def answer(self, request: Incoming) -> Any:
        self.heard.append((request.method, request.params))
        if request.method not in self.methods:
            raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, "Method not found")
        answer: Any = self.methods[request.method]
        return answer(request.params) if callable(answer) else answer

    def take(self, method: str, params: Answer, pending: Pending | None) -> None:  # noqa: ARG002
        self.heard.append((method, params))


@asynccontextmanager
async def connected(
    server: ScriptedServer, *, capabilities: Params | None = None, **options: Any
) -> AsyncGenerator[ServerConnection]:
    """Connect to a server at the other end of a wire."""
    near, far = socket.socketpair()
    server.socket = far
    async with Tasks() as tasks:
        transport = LineTransport(far.fileno(), far.fileno())
        server.peer = Peer(transport, tasks, server, CLIENT_LIMITS)
        tasks.start(server.peer.run())
        with near, far:
            ours = LineTransport(near.fileno(), near.fileno())
            try:
                async with connect(ours, CLIENT, capabilities or {}, **options) as connection:
                    yield connection
            finally:
                await transport.close()
