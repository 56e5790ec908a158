"""Streamable HTTP, and the HTTP+SSE of 2024-11-05, to remote servers; errors do not contain the URL.

Each request of streamable HTTP is one POST with its own response stream. Requests share only the HTTP client,
so a dropped one does not affect the others.
"""

import asyncio
import logging
import os
import re
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any

import anyio
import httpx2

from remit.protocol import header_parameters
from remit.protocol.eras import INITIALIZE, Era, Handshake
from remit.protocol.header_parameters import HeaderMap, header_map, header_text
from remit.protocol.messages import (
    MAX_MESSAGE,
    TOO_LONG,
    UNREADABLE,
    VERSION_KEY,
    DisconnectedError,
    LostError,
    Message,
    PeerError,
    ProtocolError,
    RefusedError,
    SessionExpiredError,
    UnreachableError,
    encode,
    parse_messages,
)
from remit.protocol.peer import Peer, Pending
from remit.text import as_object

CONNECT_SECONDS = 30.0
LONGEST_PAUSE = 30.0  # seconds before a retry, whatever the server says

_DISCONNECTED = "broke off before it answered"
_CLOSE_SECONDS = 1.0
_RETRIES = 2  # to resume a stream
_PAUSE = 1.0  # seconds before a retry, unless the server says otherwise
_MAX_REDIRECTS = 5
_SESSION, _VERSION, _LAST_EVENT = "mcp-session-id", "mcp-protocol-version", "last-event-id"
_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_LACKS_SCOPE = re.compile(r'\berror="?insufficient_scope\b')
# Plain words only: a hint tells the user to put them on a command line.
_SCOPE = re.compile(r'\bscope="?([\w.:/+@-]+(?: [\w.:/+@-]+)*)(?=[",]|$)', re.ASCII)
_CAUSES: Mapping[type[BaseException], str] = {
    socket.gaierror: "unknown host",
    ssl.SSLCertVerificationError: "untrusted certificate",
    ssl.SSLError: "the TLS connection failed",
    httpx2.UnsupportedProtocol: "its URL must begin with http:// or https://",
    httpx2.LocalProtocolError: "its URL or headers cannot be sent",
    httpx2.RemoteProtocolError: "it does not speak HTTP",
    httpx2.TimeoutException: "it takes too long",
}

for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).addHandler(logging.NullHandler())  # keeps URLs off stderr

Check = Callable[[httpx2.Request], Awaitable[None]]


@asynccontextmanager
async def open_http(
    url: str,
    headers: Mapping[str, str] | None = None,
    auth: httpx2.Auth | None = None,
    check: Check | None = None,
) -> AsyncGenerator["HttpTransport"]:
    """Open a streamable HTTP transport; `check` may refuse a request by raising, those of `auth` included.

    Raises:
        ProtocolError: the URL is invalid.
    """
    async with open_client(headers or {}, auth, check) as client:
        yield HttpTransport(client, parse_url(url))


@asynccontextmanager
async def open_sse(
    url: str,
    headers: Mapping[str, str] | None = None,
    auth: httpx2.Auth | None = None,
    check: Check | None = None,
) -> AsyncGenerator["SseTransport"]:
    """Open an HTTP+SSE transport, as `open_http`.

    Raises:
        ProtocolError: the URL is invalid.
        RefusedError: the server refuses.
        UnreachableError: it cannot be reached.
    """
    accepted = {"accept": "text/event-stream", "cache-control": "no-store"}
    async with (
        open_client(headers or {}, auth, check) as client,
        send_within_origin(client, "GET", parse_url(url), None, accepted) as response,
    ):
        if response.status_code >= 300:
            raise _refusal(response)
        yield SseTransport(client, response)


class _EventStream:
    """The events of one response, and where to resume them."""

    def __init__(self) -> None:
        self.last: str | None = None
        self.pause = _PAUSE
        self.target: str | None = None  # where to post to, as HTTP+SSE says

    async def messages(
        self, response: httpx2.Response
    ) -> AsyncGenerator[tuple[Message | list[Message], int]]:
        """Yield messages with their sizes until the stream ends or breaks."""
        try:
            async for event in httpx2.EventSource(response, max_event_size=MAX_MESSAGE):
                self.last = event.id or self.last
                if event.retry is not None:
                    self.pause = min(event.retry / 1000, LONGEST_PAUSE)
                if event.event == "endpoint":
                    self.target = event.data
                    yield [], 0
                elif event.event == "message" and event.data:
                    yield parse_messages(event.data.encode()), len(event.data)
                    await asyncio.sleep(0)  # a talkative server must not block others
        except httpx2.SSEError:
            raise ProtocolError(UNREADABLE) from None
        except httpx2.TransportError:
            return


class HttpTransport:
    """Talks to a server over streamable HTTP."""

    only_era: Era | None = None
    closes_streams = True

    _peer: Peer

    def __init__(self, client: httpx2.AsyncClient, url: httpx2.URL) -> None:
        self._client = client
        self._url = url
        self._posts: set[asyncio.Task[None]] = set()  # of messages that need no answer
        self._handshake: Handshake | None = None
        self._settled = asyncio.Event()  # the handshake is over
        self._session: str | None = None
        self._tools: dict[str, HeaderMap] = {}  # by name

    @property
    def keeps_state(self) -> bool:
        """Whether the server opened a session."""
        return self._session is not None

    def attach(self, peer: Peer) -> None:
        """Set the peer that gets the messages."""
        self._peer = peer

    async def run(self) -> None:
        """Receive unsolicited messages, if the server has a stream for them, until the peer is lost."""
        await self._settled.wait()
        stream, failures = _EventStream(), 0
        while self._session is not None and failures <= _RETRIES and self._peer.fault is None:
            again = {} if stream.last is None else {_LAST_EVENT: stream.last}
            try:
                async with self._send("GET", headers=again) as response:
                    if response.status_code >= 300:
                        break
                    failures = 0
                    async for message, size in stream.messages(response):
                        self._peer.take(message, size)
            except PeerError:
                failures += 1
            await asyncio.sleep(stream.pause)
        await self._peer.lost.wait()

    def request(self, message: Message, pending: Pending) -> None:
        """Post a request, and read its answer from the response."""
        pending.sending = self._peer.tasks.start(self._exchange_or_fail(message, pending))

    async def _exchange_or_fail(self, message: Message, pending: Pending) -> None:
        try:
            await self._exchange(message, pending)
        except Exception as error:  # raised where the peer waits for the answer
            pending.fail(error)

    async def _exchange(self, message: Message, pending: Pending) -> None:
        stream = _EventStream()
        async with self._send("POST", encode(message), self._repeated_headers(message)) as response:
            if response.status_code >= 400 and await self._take_error(response, pending):
                return
            self._check(response)
            if message["method"] == INITIALIZE:
                self._session = response.headers.get(_SESSION)
            kind = response.headers.get("content-type", "").lower()
            if kind.startswith("application/json"):
                self._take(*await _read_body(response), pending)
            elif kind.startswith("text/event-stream"):
                await self._follow(stream, response, pending)
            elif response.status_code == 202:
                raise ProtocolError("accepted a request but did not answer it")
            else:
                raise ProtocolError(UNREADABLE)
        for _ in range(_RETRIES):
            if pending.is_over or stream.last is None:
                break
            await asyncio.sleep(stream.pause)
            async with self._send("GET", headers={_LAST_EVENT: stream.last}) as response:
                self._check(response)
                await self._follow(stream, response, pending)
        if not pending.is_over:
            raise LostError(_DISCONNECTED)

    def send(self, message: Message) -> None:
        """Post a message soon; a server that refuses it refuses the next request, too."""
        task = self._peer.tasks.start(self._post(message))
        self._posts.add(task)
        task.add_done_callback(self._posts.discard)

    async def flush(self) -> None:
        """Wait until all is posted."""
        if self._posts:
            await asyncio.wait(self._posts)

    @property
    def unsent(self) -> int:
        """How many messages are being posted."""
        return len(self._posts)

    def settle(self, handshake: Handshake) -> None:
        """Send the version with each request, and listen for unsolicited messages in a session."""
        self._handshake = handshake
        self._settled.set()

    def learn(self, tools: Iterable[Any]) -> None:
        """Remember which arguments of tools are repeated in headers."""
        for tool in tools:
            if isinstance(name := as_object(tool).get("name"), str):
                self._tools[name] = header_map(as_object(tool).get("inputSchema"))

    async def close(self) -> None:
        """End the session."""
        if self._session is not None:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True), suppress(PeerError):
                async with self._send("DELETE"):
                    pass

    async def _post(self, message: Message) -> None:
        with suppress(PeerError):
            async with self._send("POST", encode(message)):
                pass

    async def _follow(self, stream: _EventStream, response: httpx2.Response, pending: Pending) -> None:
        async for message, size in stream.messages(response):
            self._take(message, size, pending)
            if pending.is_over:
                return

    def _take(self, message: Message | list[Message], size: int, pending: Pending) -> None:
        for one in message if isinstance(message, list) else [message]:
            if "method" not in one:  # this stream has only one answer, whatever its id
                pending.take_answer(one, size)
            else:
                self._peer.take(one, size, pending)

    async def _take_error(self, response: httpx2.Response, pending: Pending) -> bool:
        """Accept a JSON-RPC error that comes with an HTTP error status."""
        status = response.status_code
        is_json = response.headers.get("content-type", "").lower().startswith("application/json")
        if not is_json or status in (401, 403) or (status == 404 and self._session is not None):
            return False
        try:
            message, size = await _read_body(response)
        except ProtocolError:
            return False
        if not isinstance(message, dict) or not isinstance(message.get("error"), dict):
            return False
        pending.take_answer(message, size)
        return True

    def _check(self, response: httpx2.Response) -> None:
        if response.status_code == 404 and self._session is not None:
            raise SessionExpiredError(404, response.reason_phrase)
        if response.status_code >= 300:
            raise _refusal(response)

    @asynccontextmanager
    async def _send(
        self, method: str, content: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[httpx2.Response]:
        sent = dict(_HEADERS)
        if self._session is not None:
            sent[_SESSION] = self._session
        if self._handshake is not None:
            sent[_VERSION] = self._handshake.version
        try:
            async with send_within_origin(
                self._client, method, self._url, content, {**sent, **(headers or {})}
            ) as response:
                yield response
        except DisconnectedError:
            if self._handshake is None:
                raise
            raise LostError(_DISCONNECTED) from None

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
        if method == "tools/call" and (marked := self._tools.get(str(name))):
            headers.update(header_parameters.headers(marked, as_object(params.get("arguments"))))
        return headers


class SseTransport(HttpTransport):
    """Talks to a server that answers all requests on its event stream, which is open."""

    only_era = Era.SESSION
    closes_streams = False

    def __init__(self, client: httpx2.AsyncClient, response: httpx2.Response) -> None:
        super().__init__(client, response.url)
        self._response = response
        self._is_open = asyncio.Event()  # the server has named the URL to post to, or is gone

    @property
    def keeps_state(self) -> bool:
        """The stream is the session."""
        return True

    async def run(self) -> None:
        """Receive messages until the stream ends."""
        stream, opened, peer = _EventStream(), self._response.url, self._peer
        try:
            async for message, size in stream.messages(self._response):
                if stream.target is not None:
                    target, stream.target = opened.join(stream.target), None
                    if (target.scheme, target.host, target.port) != (opened.scheme, opened.host, opened.port):
                        raise ProtocolError("sends Remit to another host")
                    self._url = target
                    self._is_open.set()
                else:
                    peer.take(message, size)
        finally:
            self._is_open.set()

    async def _exchange(self, message: Message, pending: Pending) -> None:
        """Post a request, whose answer arrives on the stream."""
        await self._is_open.wait()
        if not pending.is_over:
            async with self._send("POST", encode(message)) as response:
                self._check(response)


def open_client(
    headers: Mapping[str, str], auth: httpx2.Auth | None, check: Check | None
) -> httpx2.AsyncClient:
    """Create the client for one server; callers limit the time of an answer."""
    return httpx2.AsyncClient(
        headers={"Accept-Encoding": "identity", **headers},
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=None, pool=None),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        event_hooks={"request": [] if check is None else [check], "response": [_refuse_compressed]},
        auth=auth,
        verify=_tls_context(),
    )


@cache
def _tls_context() -> ssl.SSLContext:
    """Share one context: reading the machine's certificates takes 30 ms."""
    return httpx2.create_ssl_context()


async def _refuse_compressed(response: httpx2.Response) -> None:
    # A few bytes can expand to very many.
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ProtocolError("compresses its answers, which Remit does not accept")


def parse_url(url: str) -> httpx2.URL:
    """Parse a URL.

    Raises:
        ProtocolError: it is invalid.
    """
    try:
        return httpx2.URL(url)
    except httpx2.InvalidURL:
        raise ProtocolError("its URL cannot be read") from None


@asynccontextmanager
async def send_within_origin(
    client: httpx2.AsyncClient,
    method: str,
    url: httpx2.URL,
    content: bytes | None,
    headers: Mapping[str, str],
) -> AsyncGenerator[httpx2.Response]:
    """Send a request; follow redirects only within its origin and method, since it may carry secrets.

    Raises:
        UnreachableError: the server cannot be reached.
    """
    request = client.build_request(method, url, content=content, headers=headers)
    try:
        response = await client.send(request, stream=True, follow_redirects=False)
        for _ in range(_MAX_REDIRECTS):
            following = response.next_request
            if following is None or following.method != method or not _is_same_origin(url, following.url):
                break
            await response.aclose()
            response = await client.send(following, stream=True, follow_redirects=False)
        try:
            yield response
        finally:
            await response.aclose()
    except (httpx2.RemoteProtocolError, httpx2.ReadError) as error:
        raise DisconnectedError(_cause(error)) from None
    except httpx2.TransportError as error:
        raise UnreachableError(_cause(error)) from None


def _cause(error: BaseException | None) -> str:
    """Describe the cause of an error; the library's own message may contain the URL."""
    chain: list[BaseException] = []
    while error is not None:
        chain.insert(0, error)
        error = error.__cause__ or error.__context__
    for cause in chain:
        for kind, words in _CAUSES.items():
            if isinstance(cause, kind):
                return words
    number = chain[0].errno if isinstance(chain[0], OSError) else None
    return os.strerror(number).lower() if number is not None and number > 0 else "the connection was lost"


def _refusal(response: httpx2.Response) -> RefusedError:
    """Make the error for a refused request, with the missing scope if the server names one."""
    status, phrase = response.status_code, response.reason_phrase
    challenge = response.headers.get("www-authenticate", "") if status == 403 else ""
    scope = _SCOPE.search(challenge) if _LACKS_SCOPE.search(challenge) else None
    return RefusedError(status, phrase, None if scope is None else scope[1])


async def _read_body(response: httpx2.Response) -> tuple[Message | list[Message], int]:
    """Read a whole response.

    Raises:
        ProtocolError: it is too long or invalid.
    """
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_MESSAGE:
            raise ProtocolError(TOO_LONG)
    return parse_messages(bytes(body)), len(body)


def _is_same_origin(url: httpx2.URL, other: httpx2.URL) -> bool:
    if other.userinfo and other.userinfo != url.userinfo:
        return False
    is_safer = (url.scheme, other.scheme) == ("http", "https") and url.port is other.port is None
    return url.host == other.host and (is_safer or (url.scheme, url.port) == (other.scheme, other.port))
