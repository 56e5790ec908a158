"""Listens on a socket, and serves an ASGI application on it."""

import socket
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import NamedTuple

import anyio
import uvicorn
from starlette.types import ASGIApp

from remit.errors import ServingError

GRACE = 2  # seconds for requests to finish

_BACKLOG = 1024


class Address(NamedTuple):
    """The address that a server listens on."""

    host: str
    port: int

    def url(self, path: str) -> str:
        """Return the URL of a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{path}"


def bind_socket(address: Address) -> socket.socket:
    """Listen on an address.

    Raises:
        ServingError: it is not available.
    """
    try:
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, place = found[0]
        # Send answers at once instead of collecting them for 40 ms. The event loop sets TCP_NODELAY only on
        # sockets with an explicit protocol, and connections inherit it from here.
        listener = socket.socket(family, kind, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if sys.platform != "win32":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
            listener.listen(_BACKLOG)
        except BaseException:
            listener.close()
            raise
        return listener
    except (OSError, UnicodeError) as error:
        words = error.strerror if isinstance(error, OSError) else None
        raise ServingError(
            f"cannot listen on {address.host}:{address.port}: {words or error}",
            hint="choose another address or port",
        ) from error


async def serve_until_cancelled(
    app: ASGIApp,
    listener: socket.socket,
    *,
    before_stop: Callable[[], Awaitable[None]] | None = None,
    on_stop: Callable[[], Awaitable[None]],
    grace: int = GRACE,
) -> None:
    """Serve an application until cancelled; then accept no more, and give requests some seconds to finish."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_keep_alive=75,  # longer than clients keep an unused connection
        timeout_graceful_shutdown=grace,
    )
    server = _Server(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve_shielded, listener)
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                if before_stop is not None:
                    await before_stop()
                server.should_exit = True
                await on_stop()


class _Server(uvicorn.Server):
    """Uvicorn without its signal handlers: `run_until_stopped` handles signals."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals alone."""
        yield

    async def serve_shielded(self, listener: socket.socket) -> None:
        """Serve until `should_exit`, even when cancelled."""
        with anyio.CancelScope(shield=True):
            await self.serve([listener])
