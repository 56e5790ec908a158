"""The HTTP+SSE transport of 2024-11-05: all answers arrive on one event stream."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2

from remit.protocol.era import Era
from remit.upstream.eras.upstream_era import HandshakeResult
from remit.upstream.messaging.demultiplexer import Demultiplexer
from remit.upstream.messaging.messages import (
    MAX_MESSAGE,
    UNREADABLE,
    LostError,
    Message,
    ProtocolError,
    encode,
    parse_messages,
)
from remit.upstream.messaging.pending_requests import PendingRequest
from remit.upstream.transports.http_client import refused_error, send_within_origin

_JSON = {"content-type": "application/json"}


class SseTransport:
    """Talks to a server over its event stream."""

    keeps_state = True
    only_era = Era.SESSION
    disconnects = False

    def __init__(self, client: httpx2.AsyncClient, url: httpx2.URL, receiver: Demultiplexer) -> None:
        self._client = client
        self._url = url
        self._receiver = receiver
        self._target: httpx2.URL | None = None
        self._version: str | None = None
        self._is_open = anyio.Event()
        self._fault: Exception = LostError()

    async def exchange(self, request: PendingRequest, message: Message) -> None:
        """Post a request, and wait for its answer on the stream."""
        with request.within_limit():
            await self.send(message)
            await request.arrived

    async def send(self, message: Message) -> None:
        """Post a message."""
        assert self._target is not None  # noqa: S101 - `opened` comes first
        headers = {**_JSON, **({} if self._version is None else {"mcp-protocol-version": self._version})}
        async with send_within_origin(
            self._client, "POST", self._target, encode(message), headers
        ) as response:
            if response.status_code >= 300:
                raise refused_error(response)

    def use_handshake(self, handshake: HandshakeResult) -> None:
        """Send the version with each request."""
        self._version = handshake.version

    def learn(self, tools: Iterable[Any]) -> None:
        """Do nothing: this era repeats no arguments in headers."""

    async def close(self) -> None:
        """Do nothing: the end of the stream ends the session."""

    async def opened(self) -> None:
        """Wait until the server has named the URL to post to.

        Raises:
            LostError: it never did.
        """
        await self._is_open.wait()
        if self._target is None:
            raise self._fault

    async def listen(self, response: httpx2.Response) -> None:
        """Receive messages until the stream ends."""
        try:
            async for event in httpx2.EventSource(response, max_event_size=MAX_MESSAGE):
                if event.event == "endpoint":
                    self._target = self._endpoint(event.data)
                    self._is_open.set()
                elif event.event == "message" and event.data:
                    self._receiver.take(parse_messages(event.data), len(event.data))
                    await anyio.sleep(0)  # a talkative server must not block others
        except ProtocolError as error:
            self._fault = error
        except httpx2.SSEError:
            self._fault = ProtocolError(UNREADABLE)
        except httpx2.TransportError:
            pass
        self._is_open.set()
        self._receiver.lost(self._fault)

    def _endpoint(self, text: str) -> httpx2.URL:
        target = self._url.join(text)
        if (target.scheme, target.host, target.port) != (self._url.scheme, self._url.host, self._url.port):
            raise ProtocolError("sends Remit to another host")
        return target


@asynccontextmanager
async def open_event_stream(client: httpx2.AsyncClient, url: httpx2.URL) -> AsyncGenerator[httpx2.Response]:
    """Open the event stream of a server.

    Raises:
        RefusedError: the server refuses.
    """
    accepted = {"accept": "text/event-stream", "cache-control": "no-store"}
    async with send_within_origin(client, "GET", url, None, accepted) as response:
        if response.status_code >= 300:
            raise refused_error(response)
        yield response
