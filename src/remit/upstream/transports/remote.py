"""Opens transports to remote servers, with stored tokens and the headers of helpers; loaded on first use."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import anyio
import httpx2
from anyio.abc import TaskGroup
from anyio.to_thread import run_sync

from remit.decision.declared_launch import Transport
from remit.text.json_values import as_object
from remit.upstream.launch.ready_server import ReadyServer, helper_words
from remit.upstream.messaging.demultiplexer import Demultiplexer
from remit.upstream.messaging.messages import ProtocolError, decode
from remit.upstream.oauth.token_refresh import BearerAuth
from remit.upstream.oauth.token_store import TokenStore
from remit.upstream.transports.http_client import open_http_client
from remit.upstream.transports.http_transport import HttpTransport
from remit.upstream.transports.message_transport import MessageTransport, TransportFactory
from remit.upstream.transports.process import ServerProcess, start_process
from remit.upstream.transports.sse_transport import SseTransport, open_event_stream

_HELPER_SECONDS = 10.0
_MAX_HELPER_OUTPUT = 65_536  # bytes


class RemoteConnector:
    """Opens transports to servers at URLs."""

    def __init__(self, tokens: TokenStore) -> None:
        self._tokens = tokens

    @asynccontextmanager
    async def open_transport(self, ready: ReadyServer) -> AsyncGenerator[TransportFactory]:
        """Open the transport to a server that is ready.

        Raises:
            ProtocolError: its transport is not supported, or its `headersHelper` failed.
            RefusedError: the server refuses.
            UnreachableError: it cannot be reached.
        """
        launch = ready.launch
        if launch.transport is Transport.WEBSOCKET:
            raise ProtocolError("WebSocket servers are not supported")
        headers = dict(launch.headers)
        if launch.headers_helper is not None:
            headers.update(await _run_headers_helper(ready))
        url = parse_url(launch.url)
        async with open_http_client(headers, await self._auth(ready, headers)) as client:
            if launch.transport is Transport.SSE:
                async with open_event_stream(client, url) as response:

                    async def make_sse(receiver: Demultiplexer, tasks: TaskGroup) -> MessageTransport:
                        transport = SseTransport(client, url, receiver)
                        tasks.start_soon(transport.listen, response)
                        await transport.opened()
                        return transport

                    yield make_sse
            else:

                async def make_http(receiver: Demultiplexer, tasks: TaskGroup) -> MessageTransport:
                    return HttpTransport(client, url, receiver, tasks)

                yield make_http

    async def _auth(self, ready: ReadyServer, headers: Mapping[str, str]) -> BearerAuth | None:
        if ready.upstream.is_per_principal:  # the stored tokens are the machine's
            return None
        url = ready.launch.url
        if any(name.lower() == "authorization" for name in headers):  # the entry authenticates itself
            return None
        token = await run_sync(self._tokens.load, url)
        return None if token is None else BearerAuth(url, self._tokens, token)


def parse_url(url: str) -> httpx2.URL:
    """Parse a URL.

    Raises:
        ProtocolError: it is invalid.
    """
    try:
        return httpx2.URL(url)
    except httpx2.InvalidURL:
        raise ProtocolError("its URL cannot be read") from None


async def _run_headers_helper(ready: ReadyServer) -> dict[str, str]:
    """Run the `headersHelper` command of a trusted entry, which prints HTTP headers.

    Raises:
        ProtocolError: it fails, takes too long, or prints something other than headers.
    """
    launch = ready.launch
    words = helper_words(launch.headers_helper or "")
    about = {"CLAUDE_CODE_MCP_SERVER_NAME": ready.label, "CLAUDE_CODE_MCP_SERVER_URL": launch.url}
    about = about if ready.upstream.client == "claude-code" else {}
    given = {**ready.environment, **about}
    try:
        with anyio.fail_after(_HELPER_SECONDS):
            sandbox = ready.sandbox
            if sandbox is not None:
                sandbox = sandbox._replace(variables={**sandbox.variables, **about})
            async with start_process(words, env=given, cwd=ready.place, sandbox=sandbox) as process:
                output = await _helper_output(process)
    except TimeoutError:
        raise ProtocolError(f"its `headersHelper` did not end within {_HELPER_SECONDS:g} s") from None
    except OSError:
        raise ProtocolError("its `headersHelper` cannot be run") from None
    if process.exit_code != 0:
        raise ProtocolError(f"its `headersHelper` failed (exit code {process.exit_code})")
    return _printed_headers(output)


async def _helper_output(process: ServerProcess) -> bytes:
    output = bytearray()

    def take(chunk: bytes) -> bool:
        output.extend(chunk)
        return len(output) <= _MAX_HELPER_OUTPUT

    await process.feed(take)
    return bytes(output)


def _printed_headers(output: bytes) -> dict[str, str]:
    try:
        found = as_object(decode(output))
    except ValueError:
        found = {}
    if not found or not all(isinstance(value, str) for value in found.values()):
        raise ProtocolError("its `headersHelper` does not print headers")
    return found
