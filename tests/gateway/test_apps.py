"""MCP Apps behind the gateway: pages keep their scheme, and decisions hold for what pages call."""

from pathlib import Path
from typing import Any

import pytest

from remit.gateway.ports import SessionView
from remit.protocol.json_rpc import Answer, JsonRpcError
from remit.upstream.ports import ServerLists
from support.gateway_fakes import FakeCaller, FakeLinks, call, endpoint, offered, told
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio

PAGE = "ui://view/main.html"
META: dict[str, Any] = {"ui": {"resourceUri": PAGE}, "ui/resourceUri": PAGE, "vendor/x": {"y": [1]}}
RESOURCE = {
    "uri": PAGE,
    "name": "view",
    "mimeType": "text/html;profile=mcp-app",
    "_meta": {"ui": {"csp": {"connectDomains": ["https://a.test"]}}},
}
APP_ONLY = {"ui": {"resourceUri": PAGE, "visibility": ["app"]}}


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("clock", "meter")
    return sandbox.project("shop")


def app(*more: dict[str, Any], is_listed: bool = True) -> ServerLists:
    tools = [offered("show", _meta=META), offered("poll", _meta=APP_ONLY), *more]
    return ServerLists(tools=tools, resources=[RESOURCE] if is_listed else [])


def page(text: str, uri: str = PAGE) -> Answer:
    return {
        "contents": [{"uri": uri, "mimeType": RESOURCE["mimeType"], "text": text, "_meta": {"ui": {"a": 1}}}]
    }


async def test_the_only_page_of_an_address_passes_unchanged(sandbox: Sandbox, shop: Path) -> None:
    links = FakeLinks({"clock": app(), "meter": ServerLists(tools=[offered("read")])})
    links.answers["clock"] = lambda _: page("<html>")
    async with endpoint(sandbox, links, shop) as served:
        listed = {item["name"]: item for item in (await served.tools({})).items}
        assert listed["clock__show"]["_meta"] == META
        assert listed["clock__poll"]["_meta"] == APP_ONLY
        assert (await served.resources()).items == [RESOURCE]
        answer = await served.pass_on("resources/read", {"uri": PAGE}, FakeCaller())
        assert answer == page("<html>")
        assert links.asked[-1].params == {"uri": PAGE}


@pytest.mark.parametrize("is_listed", [True, False])
async def test_pages_of_the_same_address_keep_their_scheme_and_name_their_server(
    sandbox: Sandbox, shop: Path, is_listed: bool
) -> None:
    links = FakeLinks({"clock": app(is_listed=is_listed), "meter": app(is_listed=is_listed)})
    for server in ("clock", "meter"):
        links.answers[server] = lambda asked, server=server: page(server, asked["uri"])
    async with endpoint(sandbox, links, shop) as served:
        listed = {item["name"]: item for item in (await served.tools({})).items}
        for server in ("clock", "meter"):
            uri = f"ui://{server}/view/main.html"
            assert listed[f"{server}__show"]["_meta"] == {
                **META,
                "ui": {"resourceUri": uri},
                "ui/resourceUri": uri,
            }
            assert listed[f"{server}__poll"]["_meta"]["ui"] == {"resourceUri": uri, "visibility": ["app"]}
            answer = await served.pass_on("resources/read", {"uri": uri}, FakeCaller())
            assert answer == page(server, uri)
            assert (links.asked[-1].server, links.asked[-1].params["uri"]) == (server, PAGE)
        uris = [item["uri"] for item in (await served.resources()).items]
        assert uris == (["ui://clock/view/main.html", "ui://meter/view/main.html"] if is_listed else [])
        found = await call(served, "discover_tools", {"query": "show", "detail": "full"})
        assert "poll" not in told(found)


async def test_links_and_pages_in_results_lead_to_their_server(sandbox: Sandbox, shop: Path) -> None:
    links = FakeLinks({"clock": app(), "meter": app()})
    links.answers["meter"] = lambda _: {
        "content": [
            {"type": "resource_link", "uri": PAGE, "name": "view"},
            {"type": "resource", "resource": {"uri": PAGE, "text": "<html>"}},
            {"type": "resource", "resource": {"uri": "file:///x", "text": "x"}},
        ],
        "_meta": {"ui": {"resourceUri": PAGE}, "kept": 1},
    }
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        answer = await call(served, "meter__show")
    served_page = "ui://meter/view/main.html"
    assert answer["content"][0]["uri"] == answer["content"][1]["resource"]["uri"] == served_page
    assert answer["content"][2]["resource"]["uri"] == "file:///x"
    assert answer["_meta"] == {"ui": {"resourceUri": served_page}, "kept": 1}


async def test_a_page_calls_the_tools_of_its_server_by_their_own_names_and_the_decision_holds(
    sandbox: Sandbox, shop: Path
) -> None:
    links = FakeLinks({"clock": app(), "meter": ServerLists(tools=[offered("hidden")])})
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        assert told(await call(served, "poll")) == "clock did poll"
        assert told(await call(served, "show")) == "clock did show"
        with pytest.raises(JsonRpcError, match="Unknown tool: hidden"):  # its server has no page
            await call(served, "hidden")
        sandbox.write(shop / "remit.toml", 'block = ["clock__poll"]\n')
        refused = await call(served, "poll")
        assert refused["isError"]
        assert "`clock__poll` is not available now by policy" in told(refused)
        assert "clock__poll" not in [item["name"] for item in (await served.tools({})).items]


async def test_the_same_name_on_two_servers_with_pages_leads_nowhere(sandbox: Sandbox, shop: Path) -> None:
    model_only = offered("reset", _meta={"ui": {"visibility": ["model"]}})
    links = FakeLinks({"clock": app(model_only), "meter": app()})
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        for name in ("poll", "reset"):
            with pytest.raises(JsonRpcError, match=f"Unknown tool: {name}"):
                await call(served, name)


async def test_a_tool_for_pages_alone_is_kept_from_the_model(sandbox: Sandbox, shop: Path) -> None:
    links = FakeLinks({"clock": app(), "meter": ServerLists(tools=[offered("read")])})
    async with endpoint(sandbox, links, shop, strategy="search") as served:
        assert "clock__poll" in [item["name"] for item in (await served.tools({})).items]
        without = await served.tools({}, SessionView(withheld=served.withheld({})))
        assert next(item["name"] for item in without.items) == "discover_tools"
        assert "poll" not in (served.instructions or "")
        refused = await call(served, "call_tool", {"name": "clock__poll"})
        assert refused["isError"]
        assert told(refused) == "`clock__poll` can only be called by the page of its server"
        assert told(await call(served, "call_tool", {"name": "clock__show"})) == "clock did show"


async def test_a_page_below_a_server_that_nobody_listed_is_asked_of_that_server(
    sandbox: Sandbox, shop: Path
) -> None:
    links = FakeLinks({"clock": app(), "meter": ServerLists(tools=[offered("read")])})
    links.answers["meter"] = lambda asked: page("found", asked["uri"])
    async with endpoint(sandbox, links, shop) as served:
        await served.tools({})
        answer = await served.pass_on("resources/read", {"uri": "ui://meter/extra.html"}, FakeCaller())
        assert links.asked[-1].params["uri"] == "ui://extra.html"
        assert answer["contents"][0]["uri"] == "ui://meter/extra.html"
        with pytest.raises(JsonRpcError, match="Resource not found"):
            await served.pass_on("resources/read", {"uri": "ui://nobody/extra.html"}, FakeCaller())
