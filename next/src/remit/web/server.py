"""Serves the page on loopback until it is stopped."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from remit.cli import Here
from remit.errors import RemitError, ServingError
from remit.web import templating
from remit.web.app import create_app
from remit.web.guard import LocalGuard
from remit.web.listing import Source
from remit.web.live import LiveFeed, Worker
from remit.web.page import Request, Session
from remit.web.pages import ACTIONS, PAGES, PAGES_WITH_MEMORY

HOST = "127.0.0.1"
_PORTS = range(4280, 4300)  # tried in this order


def listen(port: int | None) -> socket.socket:
    """Listen on a port, or without one on the first that is free.

    Raises:
        ServingError: the port is taken.
    """
    if port is not None:
        return _bind(port)
    for number in _PORTS:
        with suppress(ServingError):
            return _bind(number)
    return _bind(0)


def _bind(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port), backlog=128)
    except OSError as error:
        raise ServingError(
            f"cannot listen on port {port}: {error.strerror}", hint="pass another `--port`"
        ) from None


class PageServer:
    """One `remit web`: its link, its sessions and its thread that reads."""

    def __init__(
        self,
        here: Here,
        listener: socket.socket,
        open_source: Callable[[], Source],
        *,
        may_decide: bool,
        has_memory: bool = False,
    ) -> None:
        port = listener.getsockname()[1]
        self._here = here
        self._listener = listener
        self._url = f"http://{HOST}:{port}"
        self._guard = LocalGuard(here, port, may_decide=may_decide)
        self._worker = Worker(open_source)
        self._pages = PAGES_WITH_MEMORY if has_memory else PAGES
        self._server: _Server | None = None

    def new_link(self) -> str:
        """Return a one-time link; from any thread."""
        return f"{self._url}{self._guard.new_link()}"

    def run(self) -> None:
        """Serve until a signal arrives, or until it is stopped."""
        try:
            asyncio.run(self._serve())
        finally:
            self._worker.close()

    def stop(self) -> None:
        """Stop serving; from any thread."""
        if self._server is not None:
            self._server.should_exit = True

    async def _serve(self) -> None:
        feed = LiveFeed(self._worker, self._here)
        app = create_app(self._pages, ACTIONS, self._guard, self._worker, feed)
        config = uvicorn.Config(
            app, log_config=None, lifespan="off", server_header=False, http="h11", ws="none"
        )
        self._server = _Server(config, feed.end)
        tasks = [asyncio.create_task(feed.watch()), asyncio.create_task(self._prepare())]
        try:
            await self._server.serve([self._listener])
        finally:
            for task in tasks:
                task.cancel()

    async def _prepare(self) -> None:
        """Make the first page once while the browser starts, so it is quick when it is asked for."""
        request, session = Request(self._here), Session(here=self._here, may_decide=False)

        def make(source: Source) -> None:
            answer = self._pages[0].read(source, request)
            templating.render(
                answer.template, {**answer.values(), "asked": request, "session": session}, answer.part
            )

        with suppress(RemitError):  # the page itself says it
            await self._worker.run(make)


class _Server(uvicorn.Server):
    """Ends streams first: the server would wait for them."""

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._end_streams()
        await super().shutdown(sockets)
