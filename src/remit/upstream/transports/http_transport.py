"""Messages over HTTP: each request is posted by itself, and what belongs to it comes on its own stream.

Nothing is shared between requests but the client: a dropped one costs itself alone.
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
from remit.upstream.messaging.agreement import HandshakeResult
from remit.upstream.messaging.messages import (
    MAX_MESSAGE,
    UNREADABLE,
    BrokenOffError,
    ForgottenError,
    LostError,
    Message,
    ProtocolError,
    UnreachableError,
    encode,
    fields,
    parse_messages,
)
from remit.upstream.messaging.pending_requests import PendingRequest
from remit.upstream.transports.http_client import read_body, refused_error, send_within_origin
from remit.upstream.transports.message_transport import MessageReceiver

BROKEN_OFF = "broke off before it answered"

_SESSION = "mcp-session-id"
_VERSION = "mcp-protocol-version"
_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_LAST_EVENT = "last-event-id"
_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_RETRIES = 2  # to take up a stream that broke off
_PAUSE = 1.0  # seconds before that, unless the server says otherwise
_LONGEST_PAUSE = 30.0
_FAREWELL = 1.0  # seconds


class EventStream:
    """The events of one response, and where to take them up again."""

    def __init__(self) -> None:
        self.last: str | None = None
        self.pause = _PAUSE

    async def messages(
        self, response: httpx2.Response
    ) -> AsyncGenerator[tuple[Message | list[Message], int]]:
        """Read messages with their sizes until the stream ends or breaks off."""
        try:
            async for event in httpx2.EventSource(response, max_event_size=MAX_MESSAGE):
                self.last = event.id or self.last
                if event.retry is not None:
                    self.pause = min(event.retry / 1000, _LONGEST_PAUSE)
                if event.event == "message" and event.data:
                    yield parse_messages(event.data), len(event.data)
                    await anyio.sleep(0)  # who talks much is not to keep others waiting
        except httpx2.SSEError:
            raise ProtocolError(UNREADABLE) from None
        except httpx2.TransportError:
            return


class HttpTransport:
    """The wire to a server of streamable HTTP."""

    is_old = False
    hangs_up = True

    def __init__(
        self, client: httpx2.AsyncClient, url: httpx2.URL, receiver: MessageReceiver, tasks: TaskGroup
    ) -> None:
        self._client = client
        self._url = url
        self._receiver = receiver
        self._tasks = tasks
        self._agreement: HandshakeResult | None = None
        self._session: str | None = None
        self._tools: dict[str, HeaderMap] = {}  # by their names

    @property
    def keeps_state(self) -> bool:
        """Whether the server gave this connection a number of its own."""
        return self._session is not None

    async def exchange(self, call: PendingRequest, message: Message) -> None:
        """Post a request, and read its answer from the same stream."""
        stream = EventStream()
        async with self._asked("POST", encode(message), self._repeated(message)) as response:
            if response.status_code >= 400 and await self._explained(response, call):
                return
            self._check(response)
            if message["method"] == "initialize":
                self._session = response.headers.get(_SESSION)
            kind = response.headers.get("content-type", "").lower()
            if kind.startswith("application/json"):
                self._take(*await read_body(response), call)
            elif kind.startswith("text/event-stream"):
                await self._follow(stream, response, call)
            elif response.status_code == 202:
                raise ProtocolError("takes a request without an answer")
            else:
                raise ProtocolError(UNREADABLE)
        for _ in range(_RETRIES):
            if call.answer is not None or stream.last is None:
                break
            await self._resume(stream, call)
        if call.answer is None:
            raise LostError(BROKEN_OFF)

    async def send(self, message: Message) -> None:
        """Post what is not answered."""
        async with self._asked("POST", encode(message)) as response:
            self._check(response)

    def agreed(self, agreement: HandshakeResult) -> None:
        """Take note of the version, which each request tells, and listen, where there is a session."""
        self._agreement = agreement
        if self._session is not None:
            self._tasks.start_soon(self._hear)

    def learn(self, tools: Iterable[Any]) -> None:
        """Take note of which arguments of tools are repeated in headers."""
        for tool in tools:
            if isinstance(name := fields(tool).get("name"), str):
                self._tools[name] = header_map(fields(tool).get("inputSchema"))

    async def _hear(self) -> None:
        """Take what the server says by itself, where it has a stream for that."""
        stream, failures = EventStream(), 0
        while self._session is not None and failures <= _RETRIES:
            again = {} if stream.last is None else {_LAST_EVENT: stream.last}
            try:
                async with self._asked("GET", headers=again) as response:
                    if response.status_code >= 300:
                        return
                    failures = 0
                    async for message, size in stream.messages(response):
                        self._receiver.take(message, size)
            except (UnreachableError, LostError, ProtocolError):
                failures += 1
            await anyio.sleep(stream.pause)

    async def close(self) -> None:
        """Tell the server that the session is over."""
        if self._session is not None:
            with anyio.move_on_after(_FAREWELL, shield=True):
                with suppress(UnreachableError, LostError):
                    async with self._asked("DELETE"):
                        pass

    async def _resume(self, stream: EventStream, call: PendingRequest) -> None:
        await anyio.sleep(stream.pause)
        assert stream.last is not None  # noqa: S101 - else there is nothing to take up
        async with self._asked("GET", headers={_LAST_EVENT: stream.last}) as response:
            self._check(response)
            await self._follow(stream, response, call)

    async def _follow(self, stream: EventStream, response: httpx2.Response, call: PendingRequest) -> None:
        async for message, size in stream.messages(response):
            self._take(message, size, call)
            if call.answer is not None:
                return

    def _take(self, message: Message | list[Message], size: int, call: PendingRequest) -> None:
        for one in message if isinstance(message, list) else [message]:
            if "method" in one:
                self._receiver.take(one, size, call)
            else:  # on this stream there is but one answer, whatever number it bears
                call.answered(one, size)

    async def _explained(self, response: httpx2.Response, call: PendingRequest) -> bool:
        """Take an error of the protocol that comes with a status of its own."""
        if not response.headers.get("content-type", "").lower().startswith("application/json"):
            return False
        try:
            message, size = await read_body(response)
        except ProtocolError:
            return False
        if isinstance(message, dict) and isinstance(message.get("error"), dict):
            if response.status_code == 404 and self._session is not None:
                return False  # it has forgotten us, in other words
            if response.status_code in (401, 403):
                return False
            call.answered(message, size)
            return True
        return False

    def _check(self, response: httpx2.Response) -> None:
        if response.status_code == 404 and self._session is not None:
            raise ForgottenError(404, response.reason_phrase)
        if response.status_code >= 300:
            raise refused_error(response)

    @asynccontextmanager
    async def _asked(
        self, method: str, content: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[httpx2.Response]:
        own = dict(_HEADERS)
        if self._session is not None:
            own[_SESSION] = self._session
        if self._agreement is not None:
            own[_VERSION] = self._agreement.version
        own.update(headers or {})
        try:
            async with send_within_origin(self._client, method, self._url, content, own) as response:
                yield response
        except BrokenOffError:
            if self._agreement is None:
                raise
            raise LostError(BROKEN_OFF) from None

    def _repeated(self, message: Message) -> dict[str, str]:
        """Make the headers that repeat what a request of the new era says."""
        params = fields(message.get("params"))
        version = fields(params.get("_meta")).get(VERSION_KEY)
        if not isinstance(version, str):
            return {}
        method = message["method"]
        headers = {_VERSION: version, "mcp-method": method}
        name = params.get(_NAMES.get(method, ""))
        if isinstance(name, str):
            headers["mcp-name"] = header_text(name)
        if method == "tools/call" and (found := self._tools.get(str(name))):
            headers.update(header_parameters.headers(found, fields(params.get("arguments"))))
        return headers
