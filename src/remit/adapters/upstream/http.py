"""The HTTP client of remote servers: a dropped request costs itself alone, and refusals are remembered."""

import os
import socket
import ssl
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

import httpx2

from remit.adapters.upstream.meter import Meter

CONNECT_SECONDS = 30.0
READ_SECONDS = 300.0  # a server may hold a stream open

_WORDS: Mapping[type[BaseException], str] = {
    socket.gaierror: "its host name is not known",
    ssl.SSLCertVerificationError: "its certificate is not trusted",
    ssl.SSLError: "no secure connection came about",
    httpx2.UnsupportedProtocol: "its URL must begin with http:// or https://",
    httpx2.LocalProtocolError: "its URL or headers cannot be sent",
    httpx2.RemoteProtocolError: "it does not speak HTTP",
    httpx2.TimeoutException: "it takes too long",
}


class PatientClient(httpx2.AsyncClient):
    """Answers for a server that cannot be reached.

    The SDK lets one dropped request end its whole session, and every other call on it; an answer that says
    `503` ends only the call.
    """

    def __init__(self, meter: Meter, **options: Any) -> None:
        super().__init__(event_hooks={"response": [self._measure]}, **options)
        self._meter = meter
        self.refusal: str | None = None  # why the server did not do what was asked last

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request."""
        try:
            response = await super().send(request, **options)
        except httpx2.TransportError as error:
            self.refusal = f"cannot be reached: {_cause(error)}"
            body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "connection lost"}}
            return httpx2.Response(503, json=body, request=request)
        if response.status_code < 400:
            self.refusal = None
        elif response.status_code != 405:  # a server need not have a stream of its own
            self.refusal = f"answers {response.status_code} {response.reason_phrase}".rstrip()
        return response

    async def _measure(self, response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            self._meter.give_up("compresses its answers, which was not asked for")  # a few bytes can be many
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - the client is asynchronous
        response.stream = _Measured(response.stream, self._meter)


class _Measured(httpx2.AsyncByteStream):
    """A body that breaks off where it becomes too long."""

    def __init__(self, stream: httpx2.AsyncByteStream, meter: Meter) -> None:
        self._stream = stream
        self._meter = meter

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        async for chunk in self._stream:
            if not self._meter.count(len(chunk)):
                raise httpx2.ReadError("too long")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def open_client(
    headers: Mapping[str, str],
    meter: Meter,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
) -> PatientClient:
    """Make the client for one server."""
    patience = timeout or httpx2.Timeout(CONNECT_SECONDS, read=READ_SECONDS)
    plain = {"Accept-Encoding": "identity", **headers}
    return PatientClient(meter, headers=plain, timeout=patience, auth=auth)


def _cause(error: BaseException) -> str:
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
