"""The streamable HTTP transport: each request is one POST with its own response stream.

Requests share only the HTTP client, so a dropped one does not affect the others.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
from anyio.abc import TaskGroup

from remit.protocol import header_parameters
from remit.protocol.constants import VERSION_KEY
from remit.protocol.header_parameters import HeaderMap, header_map, header_text
from remit.protocol.tracing import trace_headers
from remit.text.json_values import as_object
from remit.upstream.eras.upstream_era import HandshakeResult
from remit.upstream.messaging.demultiplexer import Demultiplexer
from remit.upstream.messaging.messages import (
    MAX_MESSAGE,
    UNREADABLE,
    DisconnectedError,
    LostError,
    Message,
    ProtocolError,
    SessionExpiredError,
    UnreachableError,
    encode,
    parse_messages,
)
from remit.upstream.messaging.pending_requests import PendingRequest
from remit.upstream.transports.http_client import read_body, refused_error, send_within_origin

DISCONNECTED = "broke off before it answered"

_SESSION = "mcp-session-id"
_VERSION = "mcp-protocol-version"
_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_LAST_EVENT = "last-event-id"
_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_RETRIES = 2  # to resume a stream
_PAUSE = 1.0  # seconds before a retry, unless the server says otherwise
_LONGEST_PAUSE = 30.0
_CLOSE_SECONDS = 1.0


class EventStream:
    """The events of one response, and where to resume them."""

    def __init__(self) -> None:
        self.last: str | None = None
        self.pause = _PAUSE

    async def messages(
        self, response: httpx2.Response
    ) -> AsyncGenerator[tuple[Message | list[Message], int]]:
        """Yield messages with their sizes until the stream ends or breaks."""
        try:
            async for event in httpx2.EventSource(response, max_event_size=MAX_MESSAGE):
                self.last = event.id or self.last
                if event.retry is not None:
                    self.pause = min(event.retry / 1000, _LONGEST_PAUSE)
                if event.event == "message" and event.data:
                    yield parse_messages(event.data), len(event.data)
                    await anyio.sleep(0)  # a talkative server must not block others
        except httpx2.SSEError:
            raise ProtocolError(UNREADABLE) from None
        except httpx2.TransportError:
            return


class HttpTransport:
    """Talks to a server over streamable HTTP."""

    only_era = None
    disconnects = True

    def __init__(
        self, client: httpx2.AsyncClient, url: httpx2.URL, receiver: Demultiplexer, tasks: TaskGroup
    ) -> None:
        self._client = client
        self._url = url
        self._receiver = receiver
        self._tasks = tasks
        self._handshake: HandshakeResult | None = None
        self._session: str | None = None
        self._tools: dict[str, HeaderMap] = {}  # by tool name

    @property
    def keeps_state(self) -> bool:
        """Whether the server opened a session."""
        return self._session is not None

    async def exchange(self, request: PendingRequest, message: Message) -> None:
        """Post a request, and read its answer from the response."""
        with request.within_limit():
            await self._exchange(request, message)

    async def _exchange(self, request: PendingRequest, message: Message) -> None:
        stream = EventStream()
        async with self._send("POST", encode(message), self._repeated_headers(message)) as response:
            if response.status_code >= 400 and await self._take_error(response, request):
                return
            self._check(response)
            if message["method"] == "initialize":
                self._session = response.headers.get(_SESSION)
            kind = response.headers.get("content-type", "").lower()
            if kind.startswith("application/json"):
                self._take(*await read_body(response), request)
            elif kind.startswith("text/event-stream"):
                await self._follow(stream, response, request)
            elif response.status_code == 202:
                raise ProtocolError("accepted a request but did not answer it")
            else:
                raise ProtocolError(UNREADABLE)
        for _ in range(_RETRIES):
            if request.answer is not None or stream.last is None:
                break
            await self._resume(stream, request)
        if request.answer is None:
            raise LostError(DISCONNECTED)

    async def send(self, message: Message) -> None:
        """Post a message that needs no answer."""
        async with self._send("POST", encode(message)) as response:
            self._check(response)

    def use_handshake(self, handshake: HandshakeResult) -> None:
        """Send the version with each request, and listen if there is a session."""
        self._handshake = handshake
        if self._session is not None:
            self._tasks.start_soon(self._listen)

    def learn(self, tools: Iterable[Any]) -> None:
        """Remember which arguments of tools are repeated in headers."""
        for tool in tools:
            if isinstance(name := as_object(tool).get("name"), str):
                self._tools[name] = header_map(as_object(tool).get("inputSchema"))

    async def _listen(self) -> None:
        """Receive unsolicited messages, if the server has a stream for them."""
        stream, failures = EventStream(), 0
        while self._session is not None and failures <= _RETRIES:
            again = {} if stream.last is None else {_LAST_EVENT: stream.last}
            try:
                async with self._send("GET", headers=again) as response:
                    if response.status_code >= 300:
                        return
                    failures = 0
                    async for message, size in stream.messages(response):
                        self._receiver.take(message, size)
            except (UnreachableError, LostError, ProtocolError):
                failures += 1
            await anyio.sleep(stream.pause)

    async def close(self) -> None:
        """End the session."""
        if self._session is not None:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                with suppress(UnreachableError, LostError):
                    async with self._send("DELETE"):
                        pass

    async def _resume(self, stream: EventStream, request: PendingRequest) -> None:
        await anyio.sleep(stream.pause)
        assert stream.last is not None  # noqa: S101 - else nothing can be resumed
        async with self._send("GET", headers={_LAST_EVENT: stream.last}) as response:
            self._check(response)
            await self._follow(stream, response, request)

    async def _follow(self, stream: EventStream, response: httpx2.Response, request: PendingRequest) -> None:
        async for message, size in stream.messages(response):
            self._take(message, size, request)
            if request.answer is not None:
                return

    def _take(self, message: Message | list[Message], size: int, request: PendingRequest) -> None:
        for one in message if isinstance(message, list) else [message]:
            if "method" in one:
                self._receiver.take(one, size, request)
            else:  # this stream has only one answer, whatever its number
                request.take_answer(one, size)

    async def _take_error(self, response: httpx2.Response, request: PendingRequest) -> bool:
        """Accept a JSON-RPC error that comes with an HTTP error status."""
        if not response.headers.get("content-type", "").lower().startswith("application/json"):
            return False
        try:
            message, size = await read_body(response)
        except ProtocolError:
            return False
        if isinstance(message, dict) and isinstance(message.get("error"), dict):
            if response.status_code == 404 and self._session is not None:
                return False  # the session expired
            if response.status_code in (401, 403):
                return False
            request.take_answer(message, size)
            return True
        return False

    def _check(self, response: httpx2.Response) -> None:
        if response.status_code == 404 and self._session is not None:
            raise SessionExpiredError(404, response.reason_phrase)
        if response.status_code >= 300:
            raise refused_error(response)

    @asynccontextmanager
    async def _send(
        self, method: str, content: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[httpx2.Response]:
        own = dict(_HEADERS)
        if self._session is not None:
            own[_SESSION] = self._session
        if self._handshake is not None:
            own[_VERSION] = self._handshake.version
        own.update(trace_headers())
        own.update(headers or {})
        try:
            async with send_within_origin(self._client, method, self._url, content, own) as response:
                yield response
        except DisconnectedError:
            if self._handshake is None:
                raise
            raise LostError(DISCONNECTED) from None

    def _repeated_headers(self, message: Message) -> dict[str, str]:
        """Repeat members of the request in headers, as stateless requests must."""
        params = as_object(message.get("params"))
        version = as_object(params.get("_meta")).get(VERSION_KEY)
        if not isinstance(version, str):
            return {}
        method = message["method"]
        headers = {_VERSION: version, "mcp-method": method}
        name = params.get(_NAMES.get(method, ""))
        if isinstance(name, str):
            headers["mcp-name"] = header_text(name)
        if method == "tools/call" and (found := self._tools.get(str(name))):
            headers.update(header_parameters.headers(found, as_object(params.get("arguments"))))
        return headers
