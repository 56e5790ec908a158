"""Sends requests to one URL, within limits of time and size, and never sends its key elsewhere."""

import errno
import http.client
import ipaddress
import os
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from email.message import Message
from typing import IO, NamedTuple
from urllib.parse import SplitResult

_MOST_BYTES = 64 * 1024 * 1024
_CHUNK = 64 * 1024

_WORDS: Mapping[type[BaseException], str] = {
    TimeoutError: "takes too long",
    socket.gaierror: "cannot be reached: unknown host",
    ssl.SSLCertVerificationError: "cannot be reached: untrusted certificate",
    ssl.SSLError: "cannot be reached: the TLS connection failed",
    http.client.HTTPException: "does not speak HTTP",
}


class EndpointReply(NamedTuple):
    """The reply of an endpoint."""

    status: int
    body: bytes
    retry_after: float  # seconds; 0 if the reply has no such header


class NoReplyError(Exception):
    """No readable reply arrived; the message gives the cause."""


class EndpointConnection:
    """Sends requests to one URL with its key."""

    def __init__(self, address: SplitResult, key: str | None) -> None:
        self._url = address.geturl()
        self._key = key
        # A local server uses plain HTTP, so a proxy would see the key.
        proxies = urllib.request.ProxyHandler({} if is_loopback(address.hostname) else None)
        self._sockets = _OpenSockets()
        handlers = (_HttpHandler(self._sockets), _HttpsHandler(self._sockets))
        self._opener = urllib.request.build_opener(proxies, _NoRedirects, *handlers)

    def close(self) -> None:
        """Interrupt the requests under way, whose threads then end; later requests fail."""
        self._sockets.shut_down()

    def send(self, body: bytes, timeout: float) -> EndpointReply:
        """Post JSON and return the reply, whatever its status.

        Raises:
            NoReplyError: no reply arrived.
        """
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "remit"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self._url, body, headers)  # noqa: S310 - settings only allow http(s)
        deadline = time.monotonic() + timeout
        try:
            with self._opener.open(request, timeout=timeout) as response:
                return _answer(response.status, response, deadline)
        except urllib.error.HTTPError as error:
            with error:
                return EndpointReply(error.code, b"", _retry_after(error.headers))
        except (OSError, http.client.HTTPException) as error:
            raise NoReplyError(_cause(error)) from None
        finally:
            self._sockets.drop()


class _OpenSockets:
    """The sockets of requests under way, one per thread, which another thread may shut down."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: dict[int, socket.socket] = {}
        self._is_closed = False

    def add(self, connected: socket.socket) -> None:
        """Add the socket of this thread's request."""
        with self._lock:
            if self._is_closed:
                raise ConnectionAbortedError(errno.ECONNABORTED, "closed")
            # A duplicate stays valid when TLS takes over the socket, and shuts down both.
            self._sockets[threading.get_ident()] = connected.dup()

    def drop(self) -> None:
        """Forget the socket of this thread's request."""
        with self._lock:
            done = self._sockets.pop(threading.get_ident(), None)
        if done is not None:
            done.close()

    def shut_down(self) -> None:
        """Shut down all sockets, which wakes the threads that wait for them."""
        with self._lock:
            self._is_closed = True
            for each in self._sockets.values():
                with suppress(OSError):  # the other side may have closed it
                    each.shutdown(socket.SHUT_RDWR)


class _HttpConnection(http.client.HTTPConnection):
    """A connection whose socket is known."""

    sockets: _OpenSockets

    def connect(self) -> None:
        """Connect, and make the socket known before TLS starts."""
        super().connect()
        self.sockets.add(self.sock)


class _HttpsConnection(http.client.HTTPSConnection, _HttpConnection):
    """A secure connection; it connects as the other does, and starts TLS then."""


class _HttpHandler(urllib.request.HTTPHandler):
    def __init__(self, sockets: _OpenSockets) -> None:
        super().__init__()
        self._connection = type("Connection", (_HttpConnection,), {"sockets": sockets})

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, req)


class _HttpsHandler(urllib.request.HTTPSHandler):
    def __init__(self, sockets: _OpenSockets) -> None:
        super().__init__()
        self._connection = type("Connection", (_HttpsConnection,), {"sockets": sockets})

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, req)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Returns a redirect as the reply, because the key is only for the configured URL."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Do not follow the redirect."""


def is_loopback(host: str | None) -> bool:
    """Return whether a host name refers to this machine, without resolving it."""
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _answer(status: int, response: http.client.HTTPResponse, deadline: float) -> EndpointReply:
    chunks: list[bytes] = []
    while chunk := response.read1(_CHUNK):
        chunks.append(chunk)
        if sum(map(len, chunks)) > _MOST_BYTES:
            raise NoReplyError("sends an endless answer")
        if time.monotonic() > deadline:
            raise NoReplyError(_WORDS[TimeoutError])
    return EndpointReply(status, b"".join(chunks), _retry_after(response.headers))


def _retry_after(headers: Message) -> float:
    said = headers.get("Retry-After", "")
    return float(said) if said.isdecimal() and len(said) < 10 else 0.0  # dates are ignored


def _cause(error: BaseException) -> str:
    """Describe the cause without the library's message, which may contain the URL."""
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    for kind, words in _WORDS.items():
        if isinstance(inner, kind):
            return words
    number = inner.errno if isinstance(inner, OSError) else None
    return f"cannot be reached: {os.strerror(number).lower()}" if number else "breaks off the connection"
