"""A list that takes long to judge delays nobody else."""

import threading
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from remit.store.prepared_listing import PreparedListing
from remit.trust.inspections import MAX_DEFINITION
from remit.upstream.ports import ServerLists
from support.gateway_fakes import FakeLinks, call, endpoint, names, offered, told
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("big", "small")
    return sandbox.project("shop")


async def test_others_are_listed_and_called_while_a_list_is_judged(
    sandbox: Sandbox, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judging, may_go_on = threading.Event(), threading.Event()
    judge = PreparedListing.judge

    def judge_after_a_while(listing: PreparedListing) -> None:
        if listing.declaration.server == "big":
            judging.set()
            may_go_on.wait(60)
        judge(listing)

    monkeypatch.setattr(PreparedListing, "judge", judge_after_a_while)
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
