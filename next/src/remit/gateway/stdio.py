"""Serves one client on stdin and stdout."""

import asyncio
import json
import os
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any

from remit.catalog import Registry
from remit.config import ServerOptions
from remit.decision import Face, Kind, Offer, Snapshot, ToolDecision
from remit.errors import UpstreamError
from remit.protocol import (
    CLIENT_LIMITS,
    ErrorCode,
    Incoming,
    JsonRpcError,
    LineTransport,
    Peer,
    Pending,
    Tasks,
)
from remit.store import PreparedDefinition
from remit.upstream import LocalLauncher, Upstream, UpstreamPool, make_upstreams, open_pool


class _Caller:
    """The one client, which answers no questions yet."""

    session = "stdio"
    name = None
    environment: Mapping[str, str] = os.environ
    capabilities: Mapping[str, Any] = {}
    log_level = None
    takes_input_required = False

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        del params
        raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, f"nobody answers `{method}`")

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        del method, params


class Session:
    """One client's connection: answers its requests."""

    def __init__(self, registry: Registry, pool: UpstreamPool, directory: str) -> None:
        self._registry = registry
        self._pool = pool
        self._context = registry.at(directory, face=Face.GATEWAY)
        self._catalog = registry.catalog(self._context)

    async def refresh(self) -> None:
        """Ask every available server for its tools."""
        for upstream in self._upstreams().values():
            with suppress(UpstreamError):
                offer = await self._pool.list(upstream, parts={"tools"})
                declaration = self._catalog.declarations[upstream.key].declaration
                tools = [
                    PreparedDefinition(tool, tool.digest, accepted_by="first sight") for tool in offer.tools
                ]
                self._registry.store.listings.keep(declaration, offer, tools, self._context.workspace, 1)
        self._catalog = self._registry.catalog(self._context, self._catalog)

    def answer(self, request: Incoming) -> Any | Coroutine[Any, Any, Any]:
        """Answer a request."""
        methods: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
            "initialize": self._initialize,
            "tools/list": self._list,
            "tools/call": self._call,
            "ping": lambda _: {},
        }
        method = methods.get(request.method)
        if method is None:
            raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, f"unknown method `{request.method}`")
        return method(request.params)

    def take(self, method: str, params: Any, pending: Pending | None) -> None:
        """Take a notification."""
        del method, params, pending

    def _initialize(self, params: Mapping[str, Any]) -> Any:
        return {
            "protocolVersion": params.get("protocolVersion", "2025-11-25"),
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "remit", "version": "0"},
        }

    def _list(self, params: Mapping[str, Any]) -> Any:
        del params
        items: list[Any] = []
        for tool, _ in self._visible(Kind.MCP_TOOL):
            definition = self._catalog.definitions[tool.definition or ""]
            items.append({**json.loads(definition.raw), "name": tool.name.removeprefix("mcp__")})
        return {"tools": items}

    async def _call(self, params: Mapping[str, Any]) -> Any:
        name = f"mcp__{params.get('name')}"
        tool = next((item.tool for item in self._visible(Kind.MCP_TOOL) if item.tool.name == name), None)
        if tool is None:
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, "no tool of this name is known here")
        server = next(key for key in self._catalog.declarations if key[-2] == tool.server)
        upstream = self._upstreams().get(server)
        if upstream is None:
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, "its server may not be started")
        own = self._catalog.definitions[tool.definition or ""].tool
        return await self._pool.request(upstream, "tools/call", {**params, "name": own}, _Caller())

    def _visible(self, kind: Kind) -> list[ToolDecision]:
        return [
            item
            for item in self._catalog.at(Snapshot())
            if item.tool.kind is kind and item.decision.is_available
        ]

    def _upstreams(self) -> Mapping[Any, Upstream]:
        rows, resolved = self._visible(Kind.MCP_SERVER), self._catalog.declarations.values()
        return make_upstreams(resolved, rows, self._context, lambda _: ServerOptions(), {})


async def _keep_nothing(upstream: Upstream, offer: Offer) -> None:
    del upstream, offer


def serve_stdio(open_registry: Callable[[], Registry], directory: str) -> None:
    """Serve until the client closes the stream."""
    asyncio.run(_serve(open_registry, directory))


async def _serve(open_registry: Callable[[], Registry], directory: str) -> None:
    read, write = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    home = os.path.expanduser("~")
    launcher = LocalLauncher(os.environ, home, os.path.join(home, ".local", "share", "remit"))
    with open_registry() as registry:
        async with open_pool(launcher, on_list=_keep_nothing) as pool, Tasks() as tasks:
            session = Session(registry, pool, directory)
            await session.refresh()
            await Peer(LineTransport(read, write), tasks, session, CLIENT_LIMITS).run()
