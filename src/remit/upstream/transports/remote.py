"""Reaches servers of HTTP, as whoever signed in to them; loaded when the first of them is needed."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import httpx2
from anyio.abc import TaskGroup
from anyio.to_thread import run_sync

from remit.decision.launch import Transport
from remit.upstream.messaging.messages import ProtocolError
from remit.upstream.oauth.bearer_auth import SignedIn
from remit.upstream.oauth.token_store import SignIns
from remit.upstream.transports.header_command import helped
from remit.upstream.transports.http_client import open_client
from remit.upstream.transports.http_transport import Posts
from remit.upstream.transports.message_transport import Plug, Receiver, Wire
from remit.upstream.transports.sse_transport import Events, event_stream
from remit.upstream.upstream_model import Upstream


class Remote:
    """Reaches servers at their URLs."""

    def __init__(self, sign_ins: SignIns) -> None:
        self._sign_ins = sign_ins

    @asynccontextmanager
    async def reach(self, ready: Upstream, environment: Mapping[str, str]) -> AsyncGenerator[Plug]:
        """Make ready to post to a server whose launch is expanded.

        Raises:
            ProtocolError: its transport is not supported, or its headers are made by a command that failed.
            RefusedError: it is refused.
            UnreachableError: it cannot be reached.
        """
        launch = ready.launch
        if launch.transport is Transport.WEBSOCKET:
            raise ProtocolError("WebSocket servers are not supported")
        headers = dict(launch.headers)
        if launch.headers_helper is not None:
            headers.update(await helped(ready, environment))
        url = location(launch.url)
        async with open_client(headers, await self._auth(launch.url, headers)) as client:
            if launch.transport is Transport.SSE:
                async with event_stream(client, url) as response:

                    async def listen(receiver: Receiver, tasks: TaskGroup) -> Wire:
                        wire = Events(client, url, receiver)
                        tasks.start_soon(wire.hear, response)
                        await wire.opened()
                        return wire

                    yield listen
            else:

                async def post(receiver: Receiver, tasks: TaskGroup) -> Wire:
                    return Posts(client, url, receiver, tasks)

                yield post

    async def _auth(self, url: str, headers: Mapping[str, str]) -> SignedIn | None:
        if any(name.lower() == "authorization" for name in headers):  # they say themselves who asks
            return None
        kept = await run_sync(self._sign_ins.load, url)
        return None if kept is None else SignedIn(url, self._sign_ins, kept)


def location(url: str) -> httpx2.URL:
    """Read a URL.

    Raises:
        ProtocolError: it is none.
    """
    try:
        return httpx2.URL(url)
    except httpx2.InvalidURL:
        raise ProtocolError("its URL cannot be read") from None
