"""Listings are kept while they hold, and the first page is made before anyone asks."""

import threading
from contextlib import AbstractContextManager

import pytest

from remit.cli import Here
from remit.decision import Context
from remit.memory import Memory
from remit.store import Problem
from remit.web.listing import Source
from remit.web.server import PageServer, listen
from support.catalogs import World


def no_memory(_directory: str) -> AbstractContextManager[Memory]:
    raise AssertionError("no page asks for memory")


def test_a_listing_is_kept_until_something_changes(world: World) -> None:
    source, here = Source(world.registry, no_memory), Here(str(world.shop), "claude-code")
    first = source.listing(here)
    assert source.listing(here) is first
    assert source.listing(here._replace(mode="plan")) is not first
    assert source.listing(here) is first
    world.now += 1_000
    world.shared('block = ["mcp__notes__*"]')
    assert source.listing(here) is not first


def test_the_first_page_is_made_before_anyone_asks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    is_read = threading.Event()
    registry = world.registry_of_another_process()
    problems = registry.problems

    def read(context: Context) -> list[Problem]:  # only pages ask for them
        is_read.set()
        return problems(context)

    monkeypatch.setattr(registry, "problems", read)
    with listen(0) as listener:
        here = Here(str(world.shop), "claude-code")
        server = PageServer(here, listener, lambda: Source(registry, no_memory), may_decide=False)
        thread = threading.Thread(target=server.run)
        thread.start()
        is_made = is_read.wait(30)
        server.stop()
        thread.join(30)
    assert is_made
