"""Change streams from servers without sessions: one for their lists, and one per followed resource."""

import asyncio
from asyncio import sleep
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from remit.protocol.messages import ErrorCode, JsonRpcError, LostError, Params, PeerError
from remit.protocol.peer import Tasks
from remit.text import as_object

MAX_RESOURCES = 200  # followed per connection
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds before an ended stream is reopened

_LISTS = {"tools": "toolsListChanged", "resources": "resourcesListChanged", "prompts": "promptsListChanged"}

Listen = Callable[[Params, Callable[[], None]], Awaitable[None]]  # until it ends; calls once acknowledged
Changes = Sequence[tuple[str, Params]]


class ChangeStreams:
    """The open streams of one connection, reopened when they end."""

    def __init__(self, listen: Listen, tasks: Tasks, on_change: Callable[[str, Params], None]) -> None:
        self._listen = listen
        self._tasks = tasks
        self._on_change = on_change
        self._followed: dict[str, asyncio.Task[None]] = {}  # by URI

    def follow_lists(self, capabilities: Mapping[str, Any]) -> None:
        """Follow the lists whose changes the server announces."""
        parts = [part for part in _LISTS if as_object(capabilities.get(part)).get("listChanged") is True]
        if parts:
            missed = [(f"notifications/{part}/list_changed", dict[str, Any]()) for part in parts]
            settled: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
            self._tasks.start(self._keep({_LISTS[part]: True for part in parts}, missed, settled))

    async def follow(self, uri: str) -> None:
        """Follow a resource.

        Raises:
            JsonRpcError: the server refuses, or too many resources are followed.
            LostError: the connection is gone.
        """
        if uri in self._followed:
            return
        if len(self._followed) >= MAX_RESOURCES:
            raise JsonRpcError(ErrorCode.INTERNAL_ERROR, f"More than {MAX_RESOURCES} resources are watched")
        settled: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        missed = [("notifications/resources/updated", {"uri": uri})]
        keep = self._keep({"resourceSubscriptions": [uri]}, missed, settled)
        self._followed[uri] = self._tasks.start(keep)
        try:
            if (fault := await settled) is not None:
                raise fault
        except BaseException:
            self.ignore(uri)
            raise

    def ignore(self, uri: str) -> None:
        """Stop following a resource."""
        if (task := self._followed.pop(uri, None)) is not None:
            task.cancel()

    async def _keep(self, wanted: Params, missed: Changes, settled: asyncio.Future[Exception | None]) -> None:
        """Keep a stream open; `settled` is its fault, or None once the server has acknowledged it."""
        is_reopened = False

        def settle(fault: Exception | None = None) -> None:
            if not settled.done():
                settled.set_result(fault)
            if is_reopened and fault is None:
                for method, params in missed:  # changes may have been lost in the pause
                    self._on_change(method, params)

        pause = SHORTEST_PAUSE
        while True:
            began = monotonic()
            try:
                await self._listen(wanted, settle)
                if not settled.done():  # it was never acknowledged
                    settle()
            except JsonRpcError as error:
                settle(error)
                return
            except PeerError:
                settle(LostError())
            if monotonic() - began > LONGEST_PAUSE:
                pause = SHORTEST_PAUSE
            await sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            is_reopened = True
