"""The local callback page, which receives the code after a sign-in."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from html import escape
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import SocketAttribute, SocketStream

PATH = "/callback"
LOOPBACK = "127.0.0.1"
_MAX_HEAD = 16_384  # bytes
_REQUEST_SECONDS = 10.0

CallbackParams = dict[str, str]


class CallbackPage:
    """Receives the parameters of the callback."""

    def __init__(self, port: int, host: str = LOOPBACK) -> None:
        self.url = f"http://{host}:{port}{PATH}"
        self.state: str | None = None  # required in the callback
        self._params: CallbackParams = {}
        self._has_arrived = anyio.Event()

    async def wait(self) -> CallbackParams:
        """Wait for a callback with the right state."""
        await self._has_arrived.wait()
        return self._params

    async def serve(self, stream: SocketStream) -> None:
        """Answer one request."""
        async with stream:
            with anyio.move_on_after(_REQUEST_SECONDS):
                try:
                    page = self._page(await _head(stream))
                    await stream.send(page)
                    if self._params:
                        self._has_arrived.set()
                except (anyio.BrokenResourceError, anyio.EndOfStream, OSError):
                    return

    def _page(self, head: bytes) -> bytes:
        words = head.split(b" ", 2)
        target = urlsplit(words[1].decode("ascii", "replace")) if len(words) == 3 else urlsplit("")
        if words[0] != b"GET" or target.path != PATH:
            return _page(404, "There is nothing here.")
        found = {name: values[0] for name, values in parse_qs(target.query).items()}
        if self.state is None or found.get("state") != self.state:
            return _page(400, "This is not the sign-in that Remit waits for.")
        self._params = found
        if "error" in found:
            return _page(200, f"The sign-in was refused: {found['error']}. You can close this page.")
        return _page(200, "You are signed in. You can close this page and go back.")


@asynccontextmanager
async def serve_callback_page(port: int = 0, host: str = LOOPBACK) -> AsyncGenerator[CallbackPage]:
    """Serve the page while the block runs.

    Raises:
        OSError: the port is taken.
    """
    listener = await anyio.create_tcp_listener(local_host=LOOPBACK, local_port=port)
    async with listener, anyio.create_task_group() as tasks:
        page = CallbackPage(listener.extra(SocketAttribute.local_port), host)  # noqa: S610 - another `extra`
        tasks.start_soon(partial(listener.serve, page.serve))
        yield page
        tasks.cancel_scope.cancel()


async def _head(stream: SocketStream) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _MAX_HEAD:
        head += await stream.receive()
    return head


def _page(status: int, text: str) -> bytes:
    page = f"<!doctype html><meta charset=utf-8><title>Remit</title><p>{escape(text)}".encode()
    phrase = {200: "OK", 400: "Bad Request", 404: "Not Found"}[status]
    head = f"HTTP/1.1 {status} {phrase}\r\nContent-Type: text/html; charset=utf-8\r\n"
    return f"{head}Content-Length: {len(page)}\r\nConnection: close\r\n\r\n".encode() + page
