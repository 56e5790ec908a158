"""Tasks that serve a client's requests, each one request after another.

To start a task takes longer than to decide about a call, so a task waits for another request when it is done.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

MAX_IDLE = 8  # tasks that wait for a request

Request = TypeVar("Request")


class RequestTasks(Generic[Request]):
    """Serves requests side by side, until the tasks of the group are cancelled."""

    def __init__(self, tasks: TaskGroup, serve: Callable[[Request], Awaitable[None]]) -> None:
        self._tasks = tasks
        self._serve = serve
        self._loop = asyncio.get_running_loop()
        self._idle: list[tuple[asyncio.Future[Request], anyio.CancelScope]] = []

    def start(self, request: Request) -> anyio.CancelScope:
        """Serve a request in a task that waits for one, or in a new one.

        Returns what cancels the request, until it is served.
        """
        while self._idle:
            waiting, scope = self._idle.pop()
            if not waiting.done():  # else the group was cancelled
                waiting.set_result(request)
                return scope
        scope = anyio.CancelScope()
        self._tasks.start_soon(self._run, request, scope)
        return scope

    async def _run(self, request: Request, scope: anyio.CancelScope) -> None:
        """Serve one request after another, up to one that is cancelled."""
        with scope:
            await self._serve(request)
            while not scope.cancel_called and len(self._idle) < MAX_IDLE:
                waiting = self._loop.create_future()
                self._idle.append((waiting, scope))
                await self._serve(await waiting)
