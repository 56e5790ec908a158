"""Streams of changes, as servers of the new era have them: one for lists, and one for each resource."""

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
from anyio.abc import TaskGroup

from remit.upstream.connection import Connection
from remit.upstream.messaging.demultiplexer import OnNotification
from remit.upstream.messaging.messages import LostError, fields
from remit.upstream.ports import JsonRpcError

MAX_RESOURCES = 200  # of one server, that are watched at once
_SHORTEST, _LONGEST = 1.0, 60.0  # seconds until a stream that ended is opened again

_LISTS = {"tools": "toolsListChanged", "resources": "resourcesListChanged", "prompts": "promptsListChanged"}


class ChangeStreams:
    """All that one connection of the new era listens to."""

    def __init__(self, connection: Connection, tasks: TaskGroup, heard: OnNotification) -> None:
        self._connection = connection
        self._tasks = tasks
        self._heard = heard
        self._streams: dict[str, _Stream] = {}

    def lists(self) -> None:
        """Listen to changes of the lists, as far as the server tells of such."""
        capabilities = self._connection.agreement.capabilities
        parts = [part for part in _LISTS if _tells_changes(capabilities.get(part))]
        if parts:
            stream = _Stream(self._connection, {_LISTS[part]: True for part in parts})
            missed = [(f"notifications/{part}/list_changed", dict[str, Any]()) for part in parts]
            self._tasks.start_soon(stream.follow, self._heard, missed)

    async def watch(self, uri: str) -> None:
        """Listen to changes of a resource from now on.

        Raises:
            JsonRpcError: the server has no such thing.
            LostError: the connection is gone.
        """
        if uri in self._streams:
            return
        if len(self._streams) >= MAX_RESOURCES:
            raise JsonRpcError(-32603, f"More than {MAX_RESOURCES} resources are watched")
        stream = self._streams[uri] = _Stream(self._connection, {"resourceSubscriptions": [uri]})
        missed = [("notifications/resources/updated", {"uri": uri})]
        self._tasks.start_soon(stream.follow, self._heard, missed)
        try:
            await stream.settled.wait()
            if stream.fault is not None:
                raise stream.fault
        except BaseException:
            self.ignore(uri)
            raise

    def ignore(self, uri: str) -> None:
        """Listen to a resource no more."""
        if (stream := self._streams.pop(uri, None)) is not None:
            stream.scope.cancel()


class _Stream:
    """One stream of changes, opened again when it ends."""

    def __init__(self, connection: Connection, wanted: Mapping[str, Any]) -> None:
        self._connection = connection
        self._wanted = wanted
        self.scope = anyio.CancelScope()
        self.settled = anyio.Event()  # acknowledged, or failed
        self.fault: Exception | None = None

    async def follow(self, heard: OnNotification, missed: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        pause = _SHORTEST
        with self.scope:
            while True:
                call = self._connection.new_call()
                call.acknowledged = self.settled
                began = anyio.current_time()
                try:
                    await self._connection.request(
                        "subscriptions/listen", {"notifications": dict(self._wanted)}, call=call
                    )
                    self.settled.set()
                except JsonRpcError as error:
                    self._fail(error)
                    return
                except Exception as error:
                    self._fail(error if isinstance(error, LostError) else LostError())
                    if self._connection.hearing.fault is not None:
                        return
                pause = _SHORTEST if anyio.current_time() - began > _LONGEST else min(2 * pause, _LONGEST)
                await anyio.sleep(pause)
                for method, params in missed:  # nobody knows what was said meanwhile
                    heard(method, params)

    def _fail(self, fault: Exception) -> None:
        if not self.settled.is_set():
            self.fault = fault
            self.settled.set()


def _tells_changes(capability: object) -> bool:
    return fields(capability).get("listChanged") is True
