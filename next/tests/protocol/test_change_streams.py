"""Change streams of servers without sessions are reopened, and nothing that they missed is lost."""

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from remit.protocol import Answer, Incoming, JsonRpcError, Params, Tasks, change_streams
from remit.protocol.change_streams import ChangeStreams
from support.wires import ScriptedServer, connected

pytestmark = pytest.mark.anyio


class Listening(ScriptedServer):
    """A stateless server whose streams a test ends."""

    def __init__(self) -> None:
        capabilities: dict[str, Any] = {"tools": {"listChanged": True}, "prompts": {"listChanged": False}}
        found = {"supportedVersions": ["2026-07-28"], "capabilities": capabilities}
        super().__init__({"server/discover": found})
        self.streams: list[tuple[int | str, Params]] = []
        self.ends: list[asyncio.Event] = []

    def answer(self, request: Incoming) -> Any:
        if request.method != "subscriptions/listen":
            return super().answer(request)
        return self._listen(request.id, request.params)

    async def _listen(self, number: int | str, params: Params) -> Answer:
        wanted = params["notifications"]
        if wanted == {"resourceSubscriptions": ["no:such"]}:
            raise JsonRpcError(-32602, "no such resource")
        meta = {"io.modelcontextprotocol/subscriptionId": number}
        self.peer.notify("notifications/subscriptions/acknowledged", {"notifications": wanted, "_meta": meta})
        self.streams.append((number, wanted))
        self.ends.append(asyncio.Event())
        await self.ends[-1].wait()
        return {"_meta": meta}


async def until(is_true: Callable[[], bool]) -> None:
    with anyio.fail_after(30):
        while not is_true():
            await asyncio.sleep(0)


async def test_a_reopened_stream_counts_as_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_streams, "SHORTEST_PAUSE", 0.001)
    changes: list[tuple[str, Params]] = []

    def note(method: str, params: Params) -> None:
        changes.append((method, params))

    server = Listening()
    async with connected(server, on_change=note) as connection:
        await until(lambda: len(server.streams) == 1)
        assert server.streams[0][1] == {"toolsListChanged": True}
        await connection.follow("x:y")
        assert server.streams[1][1] == {"resourceSubscriptions": ["x:y"]}
        assert changes == []
        server.ends[0].set()  # the server ends it
        await until(lambda: changes == [("notifications/tools/list_changed", {})])
        number = server.streams[1][0]
        server.peer.notify("notifications/cancelled", {"requestId": number})  # as another may
        await until(lambda: changes[1:] == [("notifications/resources/updated", {"uri": "x:y"})])
        await connection.follow("x:y")
        assert len(server.streams) == 4


async def test_a_resource_can_be_refused_and_ignored() -> None:
    server = Listening()
    async with connected(server) as connection:
        with pytest.raises(JsonRpcError, match="no such resource"):
            await connection.follow("no:such")
        await connection.follow("x:y")
        connection.ignore("x:y")
        await until(lambda: server.heard[-1][0] == "notifications/cancelled")
        assert server.heard[-1][1]["requestId"] == server.streams[-1][0]


async def test_pauses_grow_from_1_to_60_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 9:
            await asyncio.Event().wait()

    async def listen(_: Params, __: Callable[[], None]) -> None:
        return

    monkeypatch.setattr(change_streams, "sleep", sleep)
    async with Tasks() as tasks:
        streams = ChangeStreams(listen, tasks, lambda _, __: None)
        streams.follow_lists({"tools": {"listChanged": True}})
        await until(lambda: len(pauses) == 9)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]


async def test_at_most_200_resources_are_followed() -> None:
    async def listen(_: Params, on_acknowledged: Callable[[], None]) -> None:
        on_acknowledged()
        await anyio.sleep_forever()

    async with Tasks() as tasks:
        streams = ChangeStreams(listen, tasks, lambda _, __: None)
        for number in range(200):
            await streams.follow(f"x:{number}")
        with pytest.raises(JsonRpcError, match="More than 200"):
            await streams.follow("x:200")
