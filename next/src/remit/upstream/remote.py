"""Opens transports to remote servers, with stored tokens and the headers of helpers."""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import anyio
from anyio.to_thread import run_sync

from remit.decision import Transport
from remit.protocol import ProtocolError, ServerTransport, decode, open_http, open_sse
from remit.text import as_object
from remit.upstream.launch import ReadyServer
from remit.upstream.process import start_process
from remit.upstream.tokens import Bearer, open_token_store

HELPER_SECONDS = 10.0
_MAX_OUTPUT = 65_536  # bytes


@asynccontextmanager
async def open_remote(ready: ReadyServer) -> AsyncGenerator[ServerTransport]:
    """Open the transport to a server that is ready.

    Raises:
        ProtocolError: its URL or its transport cannot be used, or its `headersHelper` failed.
        RefusedError: the server refuses.
        UnreachableError: it cannot be reached.
    """
    launch = ready.launch
    headers = dict(launch.headers)
    if launch.headers_helper is not None:
        headers.update(await _run_helper(ready))
    auth = await _auth(ready, headers)
    if launch.transport is Transport.HTTP:
        async with open_http(launch.url, headers, auth) as transport:
            yield transport
    elif launch.transport is Transport.SSE:
        async with open_sse(launch.url, headers, auth) as transport:
            yield transport
    else:
        raise ProtocolError("WebSocket servers are not supported")


async def _auth(ready: ReadyServer, headers: Mapping[str, str]) -> Bearer | None:
    """Use a stored token, unless the entry authenticates itself."""
    if ready.tokens is None or any(name.lower() == "authorization" for name in headers):
        return None
    url, tokens = ready.launch.url, await run_sync(open_token_store, ready.tokens)
    token = await run_sync(tokens.load, url)
    return None if token is None else Bearer(url, tokens, token)


async def _run_helper(ready: ReadyServer) -> dict[str, str]:
    """Run the `headersHelper` command of an entry, which prints HTTP headers.

    Raises:
        ProtocolError: it fails, takes too long, or prints something other than headers.
    """
    upstream, environment, options = ready.upstream, ready.environment, ready.options
    if upstream.client == "claude-code":
        about = {
            "CLAUDE_CODE_MCP_SERVER_NAME": upstream.label,
            "CLAUDE_CODE_MCP_SERVER_URL": ready.launch.url,
        }
        if options is None:
            environment = {**environment, **about}
        else:
            options += b"".join(os.fsencode(f"--setenv\0{name}\0{value}\0") for name, value in about.items())
    try:
        with anyio.fail_after(HELPER_SECONDS):
            async with start_process(ready.words, env=environment, cwd=ready.cwd, options=options) as process:
                output = await run_sync(_read_all, process.read_fd, abandon_on_cancel=True)
    except TimeoutError:
        raise ProtocolError(f"its `headersHelper` did not end within {HELPER_SECONDS:g} s") from None
    except OSError:
        raise ProtocolError("its `headersHelper` cannot be run") from None
    if process.remains.code != 0:
        raise ProtocolError(f"its `headersHelper` failed (exit code {process.remains.code})")
    try:
        headers = as_object(decode(output[:_MAX_OUTPUT]))
    except ValueError:
        headers = {}
    if not headers or not all(isinstance(value, str) for value in headers.values()):
        raise ProtocolError("its `headersHelper` does not print headers")
    return headers


def _read_all(descriptor: int) -> bytes:
    """Read what a process prints; the end of the process ends this, too."""
    output = b""
    while len(output) <= _MAX_OUTPUT and (chunk := os.read(descriptor, _MAX_OUTPUT)):
        output += chunk
    return output
