"""The HTTP client of remote servers, and why one of them cannot be reached, in words without its URL."""

import os
import socket
import ssl
from collections.abc import Iterator, Mapping

import httpx2

from remit.adapters.upstream.messages import ProtocolError

CONNECT_SECONDS = 30.0

_WORDS: Mapping[type[BaseException], str] = {
    socket.gaierror: "its host name is not known",
    ssl.SSLCertVerificationError: "its certificate is not trusted",
    ssl.SSLError: "no secure connection came about",
    httpx2.UnsupportedProtocol: "its URL must begin with http:// or https://",
    httpx2.LocalProtocolError: "its URL or headers cannot be sent",
    httpx2.RemoteProtocolError: "it does not speak HTTP",
    httpx2.TimeoutException: "it takes too long",
}


def open_client(headers: Mapping[str, str], auth: httpx2.Auth | None = None) -> httpx2.AsyncClient:
    """Make the client for one server; how long an answer may take is not for it to say."""
    return httpx2.AsyncClient(
        headers={"Accept-Encoding": "identity", **headers},
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=None, pool=None),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        event_hooks={"response": [_refuse_packed]},
        auth=auth,
    )


async def _refuse_packed(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":  # a few bytes can be many
        raise ProtocolError("compresses its answers, which was not asked for")


def cause(error: BaseException) -> str:
    """Find the plain cause: the library's own words may hold the URL."""
    chain = [*_chain(error)][::-1]
    for one in chain:
        for kind, words in _WORDS.items():
            if isinstance(one, kind):
                return words
    number = chain[0].errno if isinstance(chain[0], OSError) else None
    return os.strerror(number).lower() if number is not None and number > 0 else "the connection was lost"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
