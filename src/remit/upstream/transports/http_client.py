"""The HTTP client for remote servers, with error messages that do not contain the URL."""

import os
import re
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import cache

import httpx2

from remit.upstream.messaging.messages import (
    MAX_MESSAGE,
    TOO_LONG,
    DisconnectedError,
    Message,
    ProtocolError,
    RefusedError,
    UnreachableError,
    parse_messages,
)

CONNECT_SECONDS = 30.0

_MAX_REDIRECTS = 5
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


def open_http_client(
    headers: Mapping[str, str],
    auth: httpx2.Auth | None = None,
    check: Callable[[httpx2.Request], Awaitable[None]] | None = None,
) -> httpx2.AsyncClient:
    """Create the client for one server; callers limit the time of an answer.

    `check` may refuse a request by raising, those that `auth` makes included.
    """
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
    if (
        response.headers.get("content-encoding", "identity") != "identity"
    ):  # a few bytes can expand to very many
        raise ProtocolError("compresses its answers, which Remit does not accept")


def plain_cause(error: BaseException) -> str:
    """Describe the cause of an error; the library's own message may contain the URL."""
    chain = [*_chain(error)][::-1]
    for one in chain:
        for kind, words in _CAUSES.items():
            if isinstance(one, kind):
                return words
    number = chain[0].errno if isinstance(chain[0], OSError) else None
    return os.strerror(number).lower() if number is not None and number > 0 else "the connection was lost"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@asynccontextmanager
async def send_within_origin(
    client: httpx2.AsyncClient,
    method: str,
    url: httpx2.URL,
    content: bytes | None,
    headers: Mapping[str, str],
) -> AsyncGenerator[httpx2.Response]:
    """Send a request; follow redirects only within its origin, since it may carry secrets.

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
        raise DisconnectedError(plain_cause(error)) from None
    except httpx2.TransportError as error:
        raise UnreachableError(plain_cause(error)) from None


def refused_error(response: httpx2.Response) -> RefusedError:
    """Create the error for a refused request, with the missing scope if the server names one."""
    status, phrase = response.status_code, response.reason_phrase
    challenge = response.headers.get("www-authenticate", "") if status == 403 else ""
    found = _SCOPE.search(challenge) if _LACKS_SCOPE.search(challenge) else None
    return RefusedError(status, phrase, None if found is None else found[1])


async def read_body(response: httpx2.Response) -> tuple[Message | list[Message], int]:
    """Read a whole response.

    Raises:
        ProtocolError: it is too long or invalid.
    """
    pieces: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > MAX_MESSAGE:
            raise ProtocolError(TOO_LONG)
        pieces.append(chunk)
    return parse_messages(b"".join(pieces)), size


def _is_same_origin(url: httpx2.URL, other: httpx2.URL) -> bool:
    if other.userinfo and other.userinfo != url.userinfo:
        return False
    is_safer = (url.scheme, other.scheme) == ("http", "https") and url.port is other.port is None
    return url.host == other.host and (is_safer or (url.scheme, url.port) == (other.scheme, other.port))
