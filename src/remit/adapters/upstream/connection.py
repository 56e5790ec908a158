"""A connection to one server, over any transport and in both eras of the protocol, with answers as they came.

Answers are taken raw: the SDK's typed list of tools is lost as a whole when one tool in it is bad. What is
private in the SDK and needed for this is used in `Connection.request` alone.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from mcp import Client, MCPError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import CallOptions
from mcp_types import METHOD_NOT_FOUND, Implementation

from remit.adapters.upstream.http import PatientClient, open_client
from remit.adapters.upstream.meter import Meter
from remit.adapters.upstream.processes import Server, started
from remit.core.launch import Launch, Transport

MAX_TOOLS = 10_000  # of one server


class ProtocolError(Exception):
    """A server answers, but not what the protocol asks for; the words are ours."""


@dataclass
class Traces:
    """What can be told of a connection after it is gone."""

    server: Server | None = None
    http: PatientClient | None = None
    meter: Meter = field(default_factory=Meter)


class Connection:
    """A server that answers; to be used in the task that opened it."""

    def __init__(self, client: Client) -> None:
        self._session = client.session

    @property
    def protocol_version(self) -> str | None:
        """The version of the protocol that was agreed on."""
        return self._session.protocol_version

    @property
    def server_info(self) -> Implementation | None:
        """What the server calls itself, where it says so."""
        return self._session.server_info

    async def request(self, method: str, params: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Send a request with what the agreed version puts on it, and give the answer as it came.

        Raises:
            MCPError: the server answers with an error, or is gone.
        """
        data: dict[str, Any] = {"method": method, "params": dict(params or {})}
        options: CallOptions = {}
        session = self._session
        session._stamp(data, options)  # pyright: ignore[reportPrivateUsage] - no public way to a raw answer
        dispatcher = session._dispatcher  # pyright: ignore[reportPrivateUsage] - the same
        return await dispatcher.send_raw_request(method, data["params"], options)

    async def list_tools(self) -> list[object]:
        """List all pages of tools, as they came.

        Raises:
            MCPError: the server answers with an error, or is gone.
            ProtocolError: the list is too long or has no end, or is none.
        """
        found: list[object] = []
        cursors: set[str] = set()
        cursor: str | None = None
        while True:
            page = await self._page(cursor)
            tools, cursor = page.get("tools"), page.get("nextCursor")
            if not isinstance(tools, list):
                raise ProtocolError("answers with something that is no list of tools")
            found.extend(cast("list[object]", tools))
            if len(found) > MAX_TOOLS:
                raise ProtocolError(f"lists more than {MAX_TOOLS:,} tools")
            if not cursor:
                return found
            if cursor in cursors:
                raise ProtocolError(f"its list of tools has no end: {len(found):,} so far")
            cursors.add(cursor)

    async def _page(self, cursor: str | None) -> dict[str, Any]:
        try:
            return await self.request("tools/list", {} if cursor is None else {"cursor": cursor})
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND and cursor is None:  # it has resources or prompts only
                return {"tools": []}
            raise


@asynccontextmanager
async def connect(
    launch: Launch, *, env: Mapping[str, str], directory: str, client: Implementation, traces: Traces
) -> AsyncGenerator[Connection]:
    """Start or reach a server, and end all of it when the block is left.

    Raises:
        MCPError: the server answers with an error, or is gone.
        OSError: it cannot be started.
        ProtocolError: its transport is not supported.
    """
    async with AsyncExitStack() as stack:
        mode = "auto"
        match launch.transport:
            case Transport.STDIO:
                words = (launch.command, *launch.args)
                traces.server = await stack.enter_async_context(started(words, env=env, cwd=directory))
                transport = traces.server.streams(traces.meter)
            case Transport.HTTP:
                traces.http = await stack.enter_async_context(open_client(launch.headers, traces.meter))
                transport = streamable_http_client(launch.url, http_client=traces.http)
            case Transport.SSE:
                traces.http = http = open_client(launch.headers, traces.meter)

                def reuse(*_: object, **__: object) -> PatientClient:
                    return http

                transport = sse_client(launch.url, httpx_client_factory=reuse)
                mode = "legacy"  # this transport ended with the old era
            case Transport.WEBSOCKET:
                raise ProtocolError("WebSocket servers are not supported")
        opened = Client(cast("Any", transport), mode=mode, client_info=client)
        yield Connection(await stack.enter_async_context(opened))
