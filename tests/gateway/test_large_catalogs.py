"""`discover_tools` among many tools: their index is built in the background, and nobody waits for it."""

import logging
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from remit.errors import StoreError
from remit.gateway.discover_tools import ToolDiscovery
from remit.gateway.published_lists import PublishedLists
from remit.registry import Registry
from remit.search.unindexed_search import NOT_INDEXED
from remit.upstream.ports import ServerLists
from support.embedding_service import PATIENCE, threads, wait_for_threads
from support.gateway_fakes import FakeLinks, endpoint, offered
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio

THREAD = "remit-search-index"
CAPTURE = {"query": "capturing the screens"}


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.variables["REMIT_EMBEDDINGS"] = "static"
    sandbox.write_state("web")
    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[memory]\ntools = "off"\n')
    return sandbox.project("shop")


@asynccontextmanager
async def served_lists(sandbox: Sandbox, shop: Path) -> AsyncGenerator[PublishedLists]:
    web = [offered("grab", description="Capture the screen"), offered("search", description="Search pages")]
    links = FakeLinks({"web": ServerLists(tools=web)})
    async with endpoint(sandbox, links, shop, strategy="search") as served:
        await served.tools({})  # asks the server
        yield await cast("Any", served)._lists.refresh()


class HeldRegistries:
    """Opens registries once it is released."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.release = threading.Event()

    def open(self) -> Registry:
        assert self.release.wait(PATIENCE)
        return self._sandbox.registry()


@pytest.fixture
def held(sandbox: Sandbox) -> Generator[HeldRegistries]:
    made = HeldRegistries(sandbox)
    yield made
    made.release.set()
    wait_for_threads(THREAD)


async def find(discovery: ToolDiscovery, lists: PublishedLists, **asked: Any) -> tuple[list[str], str | None]:
    answer = (await discovery.find(lists, {**CAPTURE, **asked}))["structuredContent"]
    return [tool["name"] for tool in answer["tools"]], answer["note"]


async def test_tools_are_found_by_words_until_they_are_indexed(
    sandbox: Sandbox, shop: Path, held: HeldRegistries
) -> None:
    async with served_lists(sandbox, shop) as lists:
        discovery = ToolDiscovery(held.open, at_once=0, patience=0)
        assert await find(discovery, lists) == (["web__grab"], NOT_INDEXED)
        assert await find(discovery, lists, scope="managed") == ([], NOT_INDEXED)
        assert len(threads(THREAD)) == 1
        held.release.set()
        wait_for_threads(THREAD)
        found, note = await find(discovery, lists)
        assert (found[0], note) == ("web__grab", None)
        await discovery.close()


async def test_the_first_search_waits_a_moment_for_the_index(sandbox: Sandbox, shop: Path) -> None:
    async with served_lists(sandbox, shop) as lists:
        discovery = ToolDiscovery(sandbox.registry, at_once=0, patience=PATIENCE)
        found, note = await find(discovery, lists)
        assert (found[0], note) == ("web__grab", None)
        await discovery.close()


async def test_after_a_change_the_index_before_it_is_used_until_the_new_one_is_there(
    sandbox: Sandbox, shop: Path, held: HeldRegistries
) -> None:
    held.release.set()
    async with served_lists(sandbox, shop) as lists:
        discovery = ToolDiscovery(held.open, at_once=0, patience=0)
        await find(discovery, lists)
        wait_for_threads(THREAD)
        assert (await find(discovery, lists))[1] is None
        held.release.clear()
        for _ in range(2):  # the second change comes while the first is being indexed
            lists = replace(lists, catalog=replace(lists.catalog))
            assert (await find(discovery, lists))[1] is None
        assert len(threads(THREAD)) == 1
        held.release.set()
        wait_for_threads(THREAD)
        await find(discovery, lists)  # starts the second
        wait_for_threads(THREAD)
        assert (await find(discovery, lists))[0][0] == "web__grab"
        assert threads(THREAD) == []
        await discovery.close()


async def test_tools_that_cannot_be_indexed_are_found_by_words(
    sandbox: Sandbox, shop: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> Registry:
        raise StoreError("the disk is full")

    async with served_lists(sandbox, shop) as lists:
        discovery = ToolDiscovery(fail, at_once=0, patience=PATIENCE)
        with caplog.at_level(logging.WARNING, "remit.gateway"):
            assert await find(discovery, lists) == (["web__grab"], NOT_INDEXED)
        assert caplog.messages == ["the tools could not be indexed: the disk is full"]
        await discovery.close()
