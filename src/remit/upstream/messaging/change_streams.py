"""Change streams from stateless servers: one for their lists, and one per followed resource."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup

from remit.protocol.json_rpc import ErrorCode, JsonRpcError
from remit.text.json_values import as_object
from remit.upstream.messaging.messages import LostError

if TYPE_CHECKING:
    from remit.upstream.connection import Connection
    from remit.upstream.messaging.demultiplexer import OnNotification

MAX_RESOURCES = 200  # followed per connection
_SHORTEST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds before an ended stream is reopened

_LISTS = {"tools": "toolsListChanged", "resources": "resourcesListChanged", "prompts": "promptsListChanged"}


class ChangeStreams:
    """The open streams of one connection."""

    def __init__(self, connection: "Connection", tasks: TaskGroup, on_notification: "OnNotification") -> None:
        self._connection = connection
        self._tasks = tasks
        self._on_notification = on_notification
        self._streams: dict[str, _Stream] = {}

    def follow_lists(self) -> None:
        """Follow the lists whose changes the server announces."""
        capabilities = self._connection.handshake.capabilities
        parts = [part for part in _LISTS if as_object(capabilities.get(part)).get("listChanged") is True]
        if parts:
            stream = _Stream(self._connection, {_LISTS[part]: True for part in parts})
            missed = [(f"notifications/{part}/list_changed", dict[str, Any]()) for part in parts]
            self._tasks.start_soon(stream.follow, self._on_notification, missed)

    async def follow_resource(self, uri: str) -> None:
        """Follow a resource.

        Raises:
            JsonRpcError: the server refuses, or too many resources are followed.
            LostError: the connection is gone.
        """
        if uri in self._streams:
            return
        if len(self._streams) >= MAX_RESOURCES:
            raise JsonRpcError(ErrorCode.INTERNAL_ERROR, f"More than {MAX_RESOURCES} resources are watched")
        stream = self._streams[uri] = _Stream(self._connection, {"resourceSubscriptions": [uri]})
        missed = [("notifications/resources/updated", {"uri": uri})]
        self._tasks.start_soon(stream.follow, self._on_notification, missed)
        try:
            await stream.settled.wait()
            if stream.fault is not None:
                raise stream.fault
        except BaseException:
            self.ignore_resource(uri)
            raise

    def ignore_resource(self, uri: str) -> None:
        """Stop following a resource."""
        if (stream := self._streams.pop(uri, None)) is not None:
            stream.scope.cancel()


class _Stream:
    """One change stream, reopened when it ends."""

    def __init__(self, connection: "Connection", wanted: Mapping[str, Any]) -> None:
        self._connection = connection
        self._wanted = wanted
        self.scope = anyio.CancelScope()
        self.settled = anyio.Event()  # acknowledged, or failed
        self.fault: Exception | None = None

    async def follow(
        self, on_notification: "OnNotification", missed: Sequence[tuple[str, Mapping[str, Any]]]
    ) -> None:
        pause = _SHORTEST_PAUSE
        with self.scope:
            while True:
                pending = self._connection.new_request()
                pending.acknowledged = self.settled
                began = anyio.current_time()
                try:
                    await self._connection.request(
                        "subscriptions/listen", {"notifications": dict(self._wanted)}, pending=pending
                    )
                    self.settled.set()
                except JsonRpcError as error:
                    self._fail(error)
                    return
                except Exception as error:
                    self._fail(error if isinstance(error, LostError) else LostError())
                    if self._connection.demultiplexer.fault is not None:
                        return
                has_lasted = anyio.current_time() - began > _LONGEST_PAUSE
                pause = _SHORTEST_PAUSE if has_lasted else min(2 * pause, _LONGEST_PAUSE)
                await anyio.sleep(pause)
                for method, params in missed:  # changes may have been lost in the pause
                    on_notification(method, params)

    def _fail(self, fault: Exception) -> None:
        if not self.settled.is_set():
            self.fault = fault
            self.settled.set()
