"""Servers that offer more to some clients: what sessions of different capabilities are shown."""

from collections.abc import Mapping
from typing import Any

import pytest

from remit.gateway.ports import SessionView
from remit.gateway.session_offers import SessionOffers
from remit.protocol.json_rpc import JsonRpcError
from remit.upstream.ports import ServerLists, canonical_capabilities
from support.gateway_fakes import FakeCaller, FakeLinks, call, endpoint, names, offered, told
from support.sandbox import Sandbox

SAMPLING: Mapping[str, Any] = {"sampling": {}}
KEY = ("key",)


def listed(*tools: str, to: Mapping[str, Any] | None = None) -> ServerLists:
    return ServerLists(tools=[offered(name) for name in tools], offered_to=canonical_capabilities(to or {}))


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


@pytest.mark.anyio
async def test_a_call_of_one_client_does_not_change_what_others_are_shown(sandbox: Sandbox) -> None:
    sandbox.write_state("git")
    links = FakeLinks({"git": listed("status")})
    able, plain = FakeCaller("able", capabilities=SAMPLING), FakeCaller("plain")
    async with endpoint(sandbox, links, sandbox.project("shop")) as served:
        assert await names(served) == ["git__status"]
        links.restart("git", listed("status", "summarize", to=SAMPLING))
        await call(served, "git__status", caller=able)
        assert await names(served) == ["git__status", "git__summarize"]
        links.restart("git", listed("status"))
        await call(served, "git__status", caller=plain)
        assert await names(served) == ["git__status", "git__summarize"]
        assert told(await call(served, "git__summarize", caller=able)) == "git did summarize"
        with pytest.raises(JsonRpcError, match="Unknown tool: git__summarize"):
            await call(served, "git__summarize", caller=plain)
        view = SessionView(withheld=served.withheld({}))
        assert (await served.tools({}, view)).items[0]["name"] == "git__status"
        assert "git__summarize" not in str((await served.tools({}, view)).items)
        assert served.withheld(SAMPLING) == frozenset()
