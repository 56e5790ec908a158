"""A list that takes long to judge delays nobody else."""

import threading
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from remit.decision.declarations import Key
from remit.gateway.server_list_keeper import ServerListKeeper
from remit.store.prepared_server_list import PreparedServerList
from remit.trust.inspections import MAX_DEFINITION
from remit.upstream.ports import ServerLists
from support.gateway_fakes import FakeLinks, accept_added_tools, call, endpoint, names, offered, told
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("big", "small")
    return sandbox.project("shop")


@pytest.mark.long
async def test_others_are_listed_and_called_while_a_list_is_judged(
    sandbox: Sandbox, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judging, may_go_on = threading.Event(), threading.Event()
    judge = PreparedServerList.judge

    def judge_after_a_while(listing: PreparedServerList) -> None:
        if listing.declaration.server == "big":
            judging.set()
            may_go_on.wait(60)
        judge(listing)

    monkeypatch.setattr(PreparedServerList, "judge", judge_after_a_while)
    links = FakeLinks(
        {"big": ServerLists(tools=[offered("dig")]), "small": ServerLists(tools=[offered("look")])}
    )
    async with endpoint(sandbox, links, shop) as served:
        try:
            with anyio.fail_after(60):
                while "small__look" not in await names(served):
                    await anyio.sleep(0.01)
                await anyio.to_thread.run_sync(judging.wait)
                assert told(await call(served, "small__look")) == "small did look"
                assert await names(served) == ["small__look"]
        finally:
            may_go_on.set()
        with anyio.fail_after(60):
            while "big__dig" not in await names(served):
                await anyio.sleep(0.01)


async def test_a_tool_that_is_too_large_to_inspect_is_neither_listed_nor_called(
    sandbox: Sandbox, shop: Path
) -> None:
    buried = offered("dig") | {"description": "Dig a hole. " * (MAX_DEFINITION // 12 + 1)}
    links = FakeLinks({"big": ServerLists(tools=[buried, offered("fill")])})
    async with endpoint(sandbox, links, shop) as served:
        assert await names(served) == ["big__fill"]
        refused = told(await call(served, "big__dig"))
    assert "its definition is too large to inspect, and no one has accepted it" in refused
    assert [asked.params.get("name") for asked in links.asked] == []


@pytest.mark.long
async def test_a_server_that_always_announces_long_lists_is_asked_seldom_and_delays_nobody(
    sandbox: Sandbox, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = ServerListKeeper.take_seconds

    def much(keeper: ServerListKeeper, key: Key) -> float:
        return spent(keeper, key) + (5.0 if "big" in key else 0.0)

    monkeypatch.setattr(ServerListKeeper, "take_seconds", much)
    accept_added_tools(sandbox)
    links = FakeLinks(
        {"big": ServerLists(tools=[offered("dig")]), "small": ServerLists(tools=[offered("look")])}
    )
    async with endpoint(sandbox, links, shop) as served:
        with anyio.fail_after(60):
            while set(await names(served)) != {"big__dig", "small__look"}:
                await anyio.sleep(0.01)
            async with served.changes() as changes:
                for turn in range(8):
                    links.stocks["small"] = ServerLists(tools=[offered("look"), offered(f"get_{turn}")])
                    links.stocks["big"] = ServerLists(tools=[offered("dig"), offered(f"get_{turn}")])
                    links.tell("big", "notifications/tools/list_changed")
                    links.tell("small", "notifications/tools/list_changed")
                    assert await anext(changes) == ("tools", None)
                    assert f"small__get_{turn}" in await names(served)
                    assert told(await call(served, "small__look")) == "small did look"
    assert links.stocked.count("small") >= 8
    assert links.stocked.count("big") == 1


async def test_the_work_for_the_lists_of_each_server_is_counted(
    sandbox: Sandbox, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, float] = {}
    spent = ServerListKeeper.take_seconds

    def note(keeper: ServerListKeeper, key: Key) -> float:
        seconds = spent(keeper, key)
        found["big" if "big" in key else "small"] = seconds
        assert spent(keeper, key) == 0.0
        return seconds

    monkeypatch.setattr(ServerListKeeper, "take_seconds", note)
    many = [offered(f"get_{number}") for number in range(200)]
    links = FakeLinks({"big": ServerLists(tools=many), "small": ServerLists(tools=[offered("look")])})
    async with endpoint(sandbox, links, shop) as served:
        with anyio.fail_after(60):
            while len(found) < 2:
                await names(served)
                await anyio.sleep(0.01)
    assert found["big"] > found["small"] > 0.0
