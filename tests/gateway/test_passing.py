"""Resources, prompts and completions: put together, and passed to the server they are of."""

from pathlib import Path
from typing import Any

import pytest

from gateway_support import FakeCaller, FakeLinks, call, endpoint, offered
from remit.errors import UpstreamError
from remit.exchange import AnsweredError, Stock
from remit.gateway.endpoint import LiveEndpoint
from support import Desk

pytestmark = pytest.mark.anyio


@pytest.fixture
def shop(desk: Desk) -> Path:
    desk.write_state("docs", "files")
    return desk.project("shop")


@pytest.fixture
def links() -> FakeLinks:
    logging: dict[str, Any] = {"logging": {}}
    files = Stock(
        tools=[offered("read")],
        resources=[{"uri": "file:///a", "name": "a"}, {"uri": "shared://x", "name": "not mine"}],
        templates=[{"uriTemplate": "file:///{path}", "name": "any"}],
        prompts=[{"name": "tidy", "arguments": [{"name": "dir"}]}],
        capabilities=logging,
        instructions="Be careful.",
    )
    docs = Stock(
        resources=[{"uri": "shared://x", "name": "x"}, {"name": "nameless"}, 7],
        templates=[{"uriTemplate": "file:///docs/{page}", "name": "docs"}],
        prompts=[{"name": "tidy"}],
    )
    return FakeLinks({"files": files, "docs": docs})


async def ask(served: LiveEndpoint, method: str, **params: Any) -> None:
    await served.pass_on(method, params, FakeCaller())


async def test_lists_put_all_servers_together_each_resource_once(
    desk: Desk, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(desk, links, shop) as served:
        assert [item["name"] for item in (await served.resources()).items] == ["x", "a"]
        assert [item["name"] for item in (await served.templates()).items] == ["docs", "any"]
        assert [item["name"] for item in (await served.prompts()).items] == ["docs__tidy", "files__tidy"]
        assert "# files\nBe careful." in (served.instructions or "")
        assert {"tools", "resources", "prompts", "completions", "logging"} <= served.capabilities.keys()


async def test_each_request_goes_to_the_server_it_is_about(desk: Desk, shop: Path, links: FakeLinks) -> None:
    async with endpoint(desk, links, shop) as served:
        await served.tools({})
        await ask(served, "resources/read", uri="shared://x")
        await ask(served, "resources/read", uri="file:///some/where")
        await ask(served, "resources/subscribe", uri="file:///docs/one")
        await ask(served, "prompts/get", name="mcp__remit__files__tidy", arguments={"dir": "x"})
        ref = {"type": "ref/prompt", "name": "docs__tidy"}
        await ask(served, "completion/complete", ref=ref, argument={"name": "dir", "value": "x"})
        await ask(served, "completion/complete", ref={"type": "ref/resource", "uri": "file:///{path}"})
        assert [(asked.server, asked.method) for asked in links.asked] == [
            ("docs", "resources/read"),
            ("files", "resources/read"),
            ("docs", "resources/subscribe"),
            ("files", "prompts/get"),
            ("docs", "completion/complete"),
            ("files", "completion/complete"),
        ]
        assert links.asked[3].params == {"name": "tidy", "arguments": {"dir": "x"}}
        assert links.asked[4].params["ref"] == {"type": "ref/prompt", "name": "tidy"}


async def test_a_hidden_server_takes_no_part(desk: Desk, shop: Path, links: FakeLinks) -> None:
    async with endpoint(desk, links, shop) as served:
        await served.tools({})
        desk.write(shop / "remit.toml", 'block = ["mcp__files__*"]\n')
        assert [item["name"] for item in (await served.resources()).items] == ["x"]
        assert [item["name"] for item in (await served.prompts()).items] == ["docs__tidy"]
        for method, params in (
            ("resources/read", {"uri": "file:///a"}),
            ("prompts/get", {"name": "files__tidy"}),
            ("completion/complete", {"ref": {"type": "ref/prompt", "name": "files__tidy"}}),
        ):
            with pytest.raises(AnsweredError):
                await ask(served, method, **params)
        assert links.asked == []


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("resources/read", {}, -32602),
        ("resources/read", {"uri": "nowhere://"}, -32002),
        ("prompts/get", {"name": "nothing"}, -32602),
        ("prompts/get", {}, -32602),
        ("completion/complete", {}, -32602),
        ("completion/complete", {"ref": {"type": "ref/resource"}}, -32602),
        ("tasks/list", {}, -32601),
    ],
)
async def test_what_is_not_there_is_an_error(
    desk: Desk, shop: Path, links: FakeLinks, method: str, params: dict[str, Any], code: int
) -> None:
    async with endpoint(desk, links, shop) as served:
        await served.tools({})
        with pytest.raises(AnsweredError) as raised:
            await ask(served, method, **params)
        assert raised.value.code == code


async def test_a_log_level_is_told_to_those_that_run_and_can_log(
    desk: Desk, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(desk, links, shop) as served:
        await served.tools({})
        await call(served, "files__read")
        links.asked.clear()
        assert await served.pass_on("logging/setLevel", {"level": "debug"}, FakeCaller()) == {}
        assert [(asked.server, asked.method) for asked in links.asked] == [("files", "logging/setLevel")]

        def refuse(_: object) -> Any:
            raise UpstreamError("gone")

        links.answers["files"] = refuse
        assert await served.pass_on("logging/setLevel", {"level": "debug"}, FakeCaller()) == {}
        with pytest.raises(AnsweredError, match="gone"):
            await ask(served, "resources/read", uri="file:///a")
        await served.leave("stdio")
        assert links.left == ["stdio"]
