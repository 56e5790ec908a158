"""Serves endpoints: one on the standard streams, or many on HTTP, until the client goes or a signal comes."""

import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import anyio
import uvicorn
from anyio.abc import TaskStatus

from remit.apps.gateway.endpoints import Endpoints
from remit.apps.gateway.faces import faced
from remit.apps.gateway.http import Front
from remit.apps.gateway.pipes import standard_streams
from remit.apps.gateway.server import Face
from remit.errors import ServingError
from remit.exchange import Endpoint

SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]
GRACE = 2  # seconds that requests have to end


async def until_told(work: Callable[[], Awaitable[None]]) -> int:
    """Do some work until it is done or a signal asks to stop; gives the exit code."""
    received = 0
    async with anyio.create_task_group() as tasks:

        async def watch(*, task_status: TaskStatus[None]) -> None:
            nonlocal received
            with anyio.open_signal_receiver(*SIGNALS) as signals:
                task_status.started()
                async for number in signals:
                    received = 128 + number
                    break  # whoever asks a second time gets it at once
            tasks.cancel_scope.cancel()

        await tasks.start(watch)
        await work()
        tasks.cancel_scope.cancel()
    return received


async def on_stdio(
    opened: AbstractAsyncContextManager[Endpoint], on_open: Callable[[Face], Awaitable[None]] | None = None
) -> None:
    """Serve one client on the standard streams, until it goes away."""
    async with standard_streams() as (source, target), faced(opened, is_stdio=True) as face:
        if on_open is not None:
            await on_open(face)
        await face.run(source, target, face.create_initialization_options())


async def on_http(front: Front, endpoints: Endpoints, listener: socket.socket) -> None:
    """Serve whoever connects, until cancelled; then requests have a moment to end."""
    config = uvicorn.Config(
        front,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_keep_alive=75,  # longer than clients keep a connection they do not use
        timeout_graceful_shutdown=GRACE,
    )
    server = _Server(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run_to_its_end, listener)
        try:
            await anyio.sleep_forever()
        finally:
            endpoints.end()
            server.should_exit = True


def bound(host: str, port: int) -> socket.socket:
    """Take an address to listen on.

    Raises:
        ServingError: it cannot be had.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return socket.create_server(address[:2], family=family, backlog=1024)
    except (OSError, UnicodeError, OverflowError) as error:
        words = error.strerror if isinstance(error, OSError) else None
        raise ServingError(
            f"cannot listen on {host}:{port}: {words or error}", hint="choose another address or port"
        ) from error


class _Server(uvicorn.Server):
    """Uvicorn, which leaves the signals to us."""

    async def run_to_its_end(self, listener: socket.socket) -> None:
        with anyio.CancelScope(shield=True):
            await self._serve([listener])  # `serve` would take the signals
