"""One read of the store for all requests that need it, which a store that hangs does not hold up."""

from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskGroup

PATIENCE = 1.0  # seconds for which a request waits


class SharedRead:
    """A read that runs once at a time; requests wait for it together."""

    def __init__(self, tasks: TaskGroup, read: Callable[[], Awaitable[None]]) -> None:
        self._tasks = tasks
        self._read = read
        self._is_over: anyio.Event | None = None  # set at the end of the read in progress
        self._is_late = False

    async def wait(self, *, is_patient: bool = False) -> None:
        """Read, or join the read in progress; return early once a read takes long, unless patient."""
        if self._is_over is None:
            self._is_over, self._is_late = anyio.Event(), False
            self._tasks.start_soon(self._run, self._is_over)
        is_over = self._is_over
        if is_patient:
            await is_over.wait()
        elif not self._is_late:
            with anyio.move_on_after(PATIENCE):
                await is_over.wait()
            self._is_late = self._is_over is is_over  # and nobody else waits for this read

    async def _run(self, is_over: anyio.Event) -> None:
        try:
            await self._read()
        finally:
            self._is_over = None
            is_over.set()
