"""What the gateway needs of the SDK, and the SDK does not give away; tests notice when that changes."""

from collections.abc import Mapping
from typing import Any, Protocol, cast

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext

RequestContext = ServerRequestContext[Any, Any]


class Channel(Protocol):
    """The way back to the client for one request: on its own stream, where the transport has several."""

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: Any = None
    ) -> dict[str, Any]: ...

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None: ...


def connection_of(context: RequestContext) -> Connection:
    """Give the connection that a request came on; for 2026 it is this request's alone."""
    return context.session._connection  # pyright: ignore[reportPrivateUsage] - there is no public way


def channel_of(context: RequestContext) -> Channel:
    """Give the way back for what belongs to this request."""
    return cast(Channel, context.session._request_outbound)  # pyright: ignore[reportPrivateUsage]
