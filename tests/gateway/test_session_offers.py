"""Servers that offer more to some clients: what sessions of different capabilities are shown."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from remit.gateway.ports import SessionView
from remit.gateway.session_offers import SessionOffers
from remit.protocol.json_rpc import JsonRpcError
from remit.upstream.ports import ServerLists, canonical_capabilities
from support.gateway_fakes import (
    FakeCaller,
    FakeLinks,
    accept_added_tools,
    call,
    endpoint,
    names,
    offered,
    told,
)
from support.listed_tools import list_tools
from support.sandbox import Sandbox

SAMPLING: Mapping[str, Any] = {"sampling": {}}
KEY = ("key",)


def listed(*tools: str, to: Mapping[str, Any] | None = None) -> ServerLists:
    return ServerLists(tools=[offered(name) for name in tools], offered_to=canonical_capabilities(to or {}))


def partial(*tools: str) -> ServerLists:
    """List what a session without all capabilities is offered."""
    return listed(*tools)._replace(is_partial=True)


def store(sandbox: Sandbox, shop: Path, found: ServerLists) -> None:
    """Store what a server listed in an earlier process."""
    with sandbox.registry() as registry:
        list_tools(registry, shop, *found.tools, server="git")


def restarted(to_session: ServerLists, to_all: ServerLists) -> FakeLinks:
    """Start a server that offers something to the session of a caller, and something else to all."""
    links = FakeLinks()
    links.restart("git", to_session)

    async def list_for_all(label: str) -> None:
        links.stocks[label] = to_all

    links.before_stock = list_for_all
    return links


def tools(lists: ServerLists) -> list[str]:
    return [tool["name"] for tool in lists.tools]


def test_the_tools_of_all_capabilities_are_listed_together() -> None:
    offers = SessionOffers()
    assert tools(offers.combined(KEY, listed("echo"))) == ["echo"]
    assert tools(offers.combined(KEY, listed("echo", "sample", to=SAMPLING))) == ["echo", "sample"]
    assert tools(offers.combined(KEY, listed("echo"))) == ["echo", "sample"]
    assert offers.lacks(KEY, {}, "sample")
    assert not offers.lacks(KEY, SAMPLING, "sample")
    assert not offers.lacks(KEY, {"roots": {}}, "sample")  # not known yet
    assert not offers.lacks(("other",), {}, "sample")


def test_a_tool_that_its_server_removes_is_gone_for_all() -> None:
    offers = SessionOffers()
    offers.combined(KEY, listed("echo", "old"))
    offers.combined(KEY, listed("echo", "old", "sample", to=SAMPLING))
    assert tools(offers.combined(KEY, listed("echo"))) == ["echo", "sample"]
    assert tools(offers.combined(KEY, listed("echo", to=SAMPLING))) == ["echo"]


def test_lists_are_partial_until_a_server_was_asked_with_all_capabilities() -> None:
    offers = SessionOffers()
    assert offers.combined(KEY, partial("echo")).is_partial
    assert not offers.combined(KEY, listed("echo", "sample", to=SAMPLING)).is_partial
    again = offers.combined(KEY, partial("echo"))
    assert (tools(again), again.is_partial) == (["echo", "sample"], False)


@pytest.mark.anyio
async def test_a_session_with_fewer_capabilities_removes_no_tool_of_others(sandbox: Sandbox) -> None:
    sandbox.write_state("git")
    shop, everything = sandbox.project("shop"), listed("status", "summarize", to=SAMPLING)
    store(sandbox, shop, everything)
    links = restarted(partial("status"), everything)
    async with endpoint(sandbox, links, shop) as served:
        await call(served, "git__status")
        with anyio.fail_after(30):
            while not links.left:
                await anyio.sleep(0.01)
        assert await names(served) == ["git__status", "git__summarize"]
        await call(served, "git__status")
    assert links.left == ["lists of git"]  # asked once with all capabilities


@pytest.mark.anyio
async def test_a_tool_that_is_gone_for_all_capabilities_is_gone(sandbox: Sandbox) -> None:
    sandbox.write_state("git")
    shop = sandbox.project("shop")
    store(sandbox, shop, listed("status", "old"))
    links = restarted(partial("status"), listed("status", to=SAMPLING))
    async with endpoint(sandbox, links, shop) as served:
        await call(served, "git__status")
        with anyio.fail_after(30):
            while await names(served) != ["git__status"]:
                await anyio.sleep(0.01)


@pytest.mark.anyio
async def test_a_tool_that_a_server_lists_later_to_capable_clients_only_is_held(sandbox: Sandbox) -> None:
    sandbox.write_state("git")
    shop, able = sandbox.project("shop"), FakeCaller("able", capabilities=SAMPLING)
    store(sandbox, shop, listed("status", "push", to=SAMPLING))  # first sight, whoever is offered it
    links = FakeLinks()
    links.restart("git", listed("status", "push", "delete_all", to=SAMPLING)._replace(is_partial=True))
    async with endpoint(sandbox, links, shop) as served:
        await call(served, "git__status", caller=able)
        assert await names(served) == ["git__push", "git__status"]


@pytest.mark.anyio
async def test_a_call_of_one_client_does_not_change_what_others_are_shown(sandbox: Sandbox) -> None:
    sandbox.write_state("git")
    accept_added_tools(sandbox)
    links = FakeLinks({"git": listed("status")})
    able, plain = FakeCaller("able", capabilities=SAMPLING), FakeCaller("plain")
    async with endpoint(sandbox, links, sandbox.project("shop")) as served:
        assert await names(served) == ["git__status"]
        links.restart("git", listed("status", "get_summary", to=SAMPLING))
        await call(served, "git__status", caller=able)
        assert await names(served) == ["git__get_summary", "git__status"]
        links.restart("git", listed("status"))
        await call(served, "git__status", caller=plain)
        assert await names(served) == ["git__get_summary", "git__status"]
        assert told(await call(served, "git__get_summary", caller=able)) == "git did get_summary"
        with pytest.raises(JsonRpcError, match="Unknown tool: git__get_summary"):
            await call(served, "git__get_summary", caller=plain)
        view = SessionView(withheld=served.withheld({}))
        assert (await served.tools({}, view)).items[0]["name"] == "git__status"
        assert "git__get_summary" not in str((await served.tools({}, view)).items)
        assert served.withheld(SAMPLING) == frozenset()
