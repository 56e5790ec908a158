"""A gateway in this process over one user's files, real servers behind it, and clients in front of it."""

import asyncio
import itertools
import json
import os
import socket
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import anyio

from remit.catalog import JoinedConfigurations, Registry
from remit.clients import Scanner
from remit.errors import StoreUnavailableError
from remit.files import Machine
from remit.gateway import EndpointSpec, Gateway, Hello, Identity, Parts
from remit.memory import with_own_server
from remit.protocol import LineTransport
from remit.store import Call, CallQuery, Database, SqliteDatabase, Store
from remit.trust import Inspector
from remit.upstream import LocalLauncher, OnList, UpstreamPool, open_pool
from support.servers import scripted

OLD, NEW = "2025-11-25", "2026-07-28"
Answer = dict[str, Any]
Ask = Callable[[str, Mapping[str, Any]], Awaitable[Answer]]


def clock() -> int:
    return time.time_ns() // 1_000_000


class World:
    """The files of one user and one project, with servers that do what files say."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.home = self.root / "home"
        self.shop = self.root / "shop"
        (self.shop / ".git").mkdir(parents=True)
        self.home.mkdir()
        self.data = self.root / "data"
        self.machine = Machine(
            home=str(self.home),
            variables={"PATH": os.environ["PATH"], "REMIT_HOME": str(self.data)},
            root=str(self.root / "system"),
        )
        self.inspector: Inspector | None = None
        self.is_store_down = False
        self._declared: dict[str, Any] = {}

    def write(self, path: Path, content: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def mine(self, text: str) -> Path:
        return self.write(self.home / ".config/remit/remit.toml", text)

    def server(self, label: str, *names: str, **content: Any) -> Path:
        """Declare a server of the user, and what it does; tools by name alone answer with their arguments."""
        path = self.says(label, *names, **content)
        self._declared[label] = {"command": sys.executable, "args": [scripted.__file__, str(path)]}
        self.write(self.home / ".claude.json", {"mcpServers": self._declared})
        return path

    def says(self, label: str, *names: str, **content: Any) -> Path:
        """Change what a server does."""
        tools: dict[str, Any] = {**{name: {} for name in names}, **content.pop("tools", {})}
        return self.write(self.root / f"{label}.json", {"tools": tools, **content})

    def without(self, label: str) -> None:
        """Remove the declaration of a server."""
        del self._declared[label]
        self.write(self.home / ".claude.json", {"mcpServers": self._declared})

    def heard(self, label: str) -> list[Any]:
        """List the calls that reached a server: session, tool, arguments."""
        path = self.root / f"{label}.json.calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def store(self) -> Store:
        return Store(cast("Database", Outages(SqliteDatabase(str(self.data / "remit.sqlite")), self)))

    def registry(self) -> Registry:
        """Open the registry as another process would."""
        store = self.store()
        scanner = Scanner(store, self.machine, clock, with_own_server)
        return Registry(store, self.machine, clock, scanner, JoinedConfigurations(store, self.machine, clock))

    def calls(self) -> list[Call]:
        """List the calls in the log, oldest first."""
        with self.registry() as registry:
            return registry.store.calls.find(CallQuery(), registry.at(str(self.shop)).workspace)[::-1]

    def gateway(self) -> Gateway:
        def open_servers(on_list: OnList) -> AbstractAsyncContextManager[UpstreamPool]:
            launcher = LocalLauncher(self.machine.variables, self.machine.home, str(self.data))
            return open_pool(launcher, on_list=on_list)

        return Gateway(
            Parts(
                open_registry=self.registry,
                open_pool=open_servers,
                data_directory=str(self.data),
                clock=clock,
                open_durable_store=self.store,
                find_inspector=lambda: self.inspector,
            )
        )

    def spec(self, **fields: Any) -> EndpointSpec:
        return EndpointSpec(str(self.shop), **fields)


class Outages:
    """A database that fails while the test says so."""

    def __init__(self, database: SqliteDatabase, world: World) -> None:
        self._database = database
        self._world = world

    def __getattr__(self, name: str) -> Any:
        if self._world.is_store_down and name in ("rows", "run_each", "transaction", "revision"):
            raise StoreUnavailableError("the database is away")
        return getattr(self._database, name)


class Client:
    """A raw client at one end of a socket."""

    def __init__(self, end: socket.socket, version: str, capabilities: Mapping[str, Any], ask: Ask) -> None:
        self.told: list[tuple[str, Any]] = []
        self.asked: list[tuple[str, Any]] = []
        self.opening: Answer = {}
        self._end = end
        self._version = version
        self._capabilities = capabilities
        self._ask = ask
        self._numbers = itertools.count(1)
        self._answers: dict[Any, asyncio.Future[Answer]] = {}
        self._answering: asyncio.Future[None] | None = None
        self._news = asyncio.Event()

    async def send(self, message: Any) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        await asyncio.get_running_loop().sock_sendall(self._end, line)

    async def reply(self, method: str, /, **params: Any) -> Answer:
        """Send a request, and return the whole response."""
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        message: Answer = {"jsonrpc": "2.0", "id": number, "method": method}
        if self._version == NEW:
            meta = {
                "io.modelcontextprotocol/protocolVersion": NEW,
                "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": dict(self._capabilities),
            }
            params = {**params, "_meta": {**meta, **params.get("_meta", {})}}
        await self.send({**message, "params": params})
        with anyio.fail_after(15):
            return await self._answers[number]

    async def request(self, method: str, /, **params: Any) -> Answer:
        """Send a request, and return the result."""
        reply = await self.reply(method, **params)
        assert "result" in reply, reply
        return reply["result"]

    async def error(self, method: str, /, **params: Any) -> Answer:
        """Send a request, and return the error."""
        reply = await self.reply(method, **params)
        assert "error" in reply, reply
        return reply["error"]

    async def names(self) -> list[str]:
        """List the names of the tools, without Remit's own."""
        tools = (await self.request("tools/list"))["tools"]
        return [tool["name"] for tool in tools if "__" in tool["name"]]

    async def call(self, name: str, /, **arguments: Any) -> Answer:
        return await self.request("tools/call", name=name, arguments=arguments)

    async def text(self, name: str, /, **arguments: Any) -> str:
        """Call a tool, and return its text."""
        return "\n".join(
            block["text"] for block in (await self.call(name, **arguments))["content"] if "text" in block
        )

    async def notice(self, method: str, seconds: float = 5) -> Any:
        """Wait for a notification, and return its parameters; what came before is forgotten."""
        with anyio.fail_after(seconds):
            while True:
                for at, (name, params) in enumerate(self.told):
                    if name == method:
                        del self.told[: at + 1]
                        return params
                self._news.clear()
                await self._news.wait()

    async def open(self) -> None:
        if self._version != NEW:
            self.opening = await self.request(
                "initialize", protocolVersion=self._version, capabilities=dict(self._capabilities)
            )
            await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def read(self) -> None:
        loop, unread = asyncio.get_running_loop(), b""
        while data := await loop.sock_recv(self._end, 2**18):
            *lines, unread = (unread + data).split(b"\n")
            for line in lines:
                await self._take(json.loads(line))

    async def hang_up(self) -> None:
        """Close the stream, as a client does that ends."""
        self._end.shutdown(socket.SHUT_WR)

    async def stop(self, reading: "asyncio.Future[None]") -> None:
        """End what the client still does."""
        ending = [reading, *([] if self._answering is None else [self._answering])]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    async def _answer(self, message: Answer) -> None:
        result = await self._ask(message["method"], message.get("params", {}))
        await self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async def _take(self, message: Answer) -> None:
        if "method" not in message:
            answer = self._answers.get(message.get("id"))
            if answer is not None:
                answer.set_result(message)
        elif "id" in message:
            self.asked.append((message["method"], message.get("params", {})))
            self._answering = asyncio.ensure_future(self._answer(message))
        else:
            self.told.append((message["method"], message.get("params", {})))
            self._news.set()


async def decline(method: str, params: Mapping[str, Any]) -> Answer:
    del method, params
    return {"action": "decline"}


def answering(**content: Any) -> Ask:
    """Accept each question with the same content."""

    async def accept(method: str, params: Mapping[str, Any]) -> Answer:
        del method, params
        return {"action": "accept", "content": content}

    return accept


@asynccontextmanager
async def connected(
    gateway: Gateway,
    spec: EndpointSpec,
    *,
    version: str = OLD,
    capabilities: Mapping[str, Any] | None = None,
    ask: Ask = decline,
    identity: Identity | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[Client]:
    """Connect a client to an endpoint of a gateway."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    transport = LineTransport(ours.fileno(), ours.fileno())
    hello = Hello(spec, environment or {}, identity or Identity())
    client = Client(theirs, version, capabilities or {}, ask)
    serving = asyncio.ensure_future(gateway.attach(transport, hello, door="test"))
    reading = asyncio.ensure_future(client.read())
    try:
        await client.open()
        yield client
    finally:
        with suppress(OSError):
            theirs.shutdown(socket.SHUT_WR)
        with anyio.CancelScope(shield=True):
            await serving
        await client.stop(reading)
        await transport.close()
        ours.close()
        theirs.close()


@asynccontextmanager
async def served(world: World, **options: Any) -> AsyncGenerator[Client]:
    """Serve the project of a world to one client."""
    spec_fields = {
        name: options.pop(name)
        for name in ("client", "agent", "parents", "room", "strategy", "mode", "is_headless")
        if name in options
    }
    spec = world.spec(**spec_fields)
    async with world.gateway() as gateway, connected(gateway, spec, **options) as client:
        yield client
