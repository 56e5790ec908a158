"""The FastMCP transforms and the exported tools, in a real server with a real client."""

from pathlib import Path
from typing import Any

import pytest

from remit.python_tools import ToolRegistry, tool
from support.shop import RAN, TOOLS, count, pay_till, recorded, ship

pytest.importorskip("fastmcp", reason="FastMCP is not installed; `make test-frameworks` installs it")

from fastmcp import Client, FastMCP
from fastmcp.client.elicitation import ElicitResult
from mcp_types import ToolListChangedNotification

from remit.integrations.fastmcp import RemitSearchTransform, RemitTransform, as_fastmcp

pytestmark = pytest.mark.anyio
_NOT_WHOLE = "`amount`: Input should be a valid integer"


def server(*tools: Any) -> FastMCP:
    made = FastMCP("shop")
    for each in tools:
        made.add_tool(each)
    return made


async def names(client: Client[Any]) -> list[str]:
    return [tool.name for tool in await client.list_tools()]


async def said(client: Client[Any], called: str, /, **arguments: Any) -> tuple[bool, str]:
    result = await client.call_tool(called, arguments, raise_on_error=False)
    return result.is_error, "".join(each.text for each in result.content)


async def test_a_server_lists_and_runs_only_what_the_decision_allows(shop: ToolRegistry) -> None:
    mcp = server(*TOOLS)
    mcp.add_transform(RemitTransform(shop))
    async with Client(mcp) as client:
        assert await names(client) == ["pay", "weather"]
        is_error, text = await said(client, "delete_shop")
        assert is_error
        assert "not available now (policy)" in text
        assert "state `cart` does not hold" in (await said(client, "ship", city="Rome"))[1]
        assert await said(client, "weather", city="Rome") == (False, "Rome: sunny")
        assert (await said(client, "paint"))[0]
    assert RAN == []


async def test_a_call_that_changes_the_states_changes_the_list_and_says_so(shop: ToolRegistry) -> None:
    def fill_cart() -> str:
        """Fill the cart."""
        Path("cart.txt").touch()
        return "filled"

    mcp = server(fill_cart, ship)
    mcp.add_transform(RemitTransform(shop))
    told: list[object] = []

    async def hear(message: object) -> None:
        told.append(message)

    made: Any = Client(mcp, message_handler=hear, mode="legacy")
    async with made as client:
        assert await names(client) == ["fill_cart"]
        await said(client, "fill_cart")
        assert await names(client) == ["fill_cart", "ship"]
        assert await said(client, "ship", city="Rome") == (False, "shipped to Rome")
    assert [type(each) for each in told] == [ToolListChangedNotification]


async def test_a_client_that_cannot_ask_gets_an_error_that_a_model_can_act_on(shop: ToolRegistry) -> None:
    mcp = server(*TOOLS)
    mcp.add_transform(RemitTransform(shop))
    async with Client(mcp) as client:
        is_error, text = await said(client, "pay", amount=3)
    assert is_error
    assert text.startswith("approval_required: `pay`")
    assert RAN == []


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(
    ("content", "is_error", "ran"),
    [({"approve": True}, False, ["pay 3"]), ({"approve": False}, True, []), ({}, True, [])],
)
async def test_the_clients_user_approves_or_denies(
    shop: ToolRegistry, mode: str, content: dict[str, bool], is_error: bool, ran: list[str]
) -> None:
    mcp = server(*TOOLS)
    mcp.add_transform(RemitTransform(shop))
    questions: list[str] = []

    async def answer(message: str, *_: Any) -> Any:
        questions.append(message)
        return ElicitResult(action="accept", content=content)

    made: Any = Client(mcp, elicitation_handler=answer, mode=mode)
    async with made as client:
        assert (await said(client, "pay", amount=3))[0] is is_error
    assert ran == RAN
    assert questions[0].startswith("Allow this call of `pay`?")
    assert '{"amount": 3}' in questions[0]


async def test_search_finds_by_meaning_and_never_what_is_hidden(shop: ToolRegistry) -> None:
    mcp = server(*TOOLS)
    mcp.add_transform(RemitTransform(shop))
    mcp.add_transform(RemitSearchTransform(max_results=2))
    async with Client(mcp) as client:
        assert await names(client) == ["search_tools", "call_tool"]
        _, found = await said(client, "search_tools", query="will it rain tomorrow?")
        assert "weather" in found
        _, found = await said(client, "search_tools", query="delete the shop")
        assert "delete_shop" not in found
        called = {"name": "weather", "arguments": {"city": "Rome"}}
        assert (await said(client, "call_tool", **called))[1] == "Rome: sunny"
        assert (await said(client, "call_tool", name="delete_shop"))[0]
    assert RAN == []


async def test_a_call_through_search_is_decided_and_recorded(shop: ToolRegistry) -> None:
    mcp = server(*TOOLS)
    mcp.add_transform(RemitTransform(shop))
    mcp.add_transform(RemitSearchTransform())
    async with Client(mcp) as client:
        assert await said(client, "call_tool", name="weather", arguments={"city": "Rome"}) == (
            False,
            "Rome: sunny",
        )
        is_error, text = await said(client, "call_tool", name="delete_shop")
        assert (is_error, "Unknown tool" in text) == (True, True)  # as FastMCP says of hidden tools
    assert recorded() == [("fastmcp", "weather", "done")]


async def test_nobody_is_asked_about_a_call_that_cannot_run(shop: ToolRegistry) -> None:
    async def answer(*_: Any) -> ElicitResult[Any]:
        raise AssertionError("the user was asked")

    shop.register(pay_till)
    mcp = server(*TOOLS, *as_fastmcp(shop))
    mcp.add_transform(RemitTransform(shop))
    async with Client(mcp, elicitation_handler=answer) as client:
        assert await said(client, "pay") == (True, "the parameter `amount` is missing")
        assert await said(client, "till__pay", amount="3") == (True, _NOT_WHOLE)
    assert RAN == []


async def test_exported_tools_are_decided_with_and_without_the_transform(shop: ToolRegistry) -> None:
    shop.register(pay_till)
    shop.register(count)
    plain = server(*as_fastmcp(shop))
    async with Client(plain) as client:
        assert await names(client) == ["till__pay", "till__count"]
        assert "approval_required" in (await said(client, "till__pay", amount=3))[1]
        assert "state `cart` does not hold" in (await said(client, "till__count"))[1]
    plain.add_transform(RemitTransform(shop))
    async with Client(plain) as client:
        assert await names(client) == ["till__pay"]
        Path("cart.txt").touch()
        assert await said(client, "till__count") == (False, "3")
        assert "there is no parameter `x`" in (await said(client, "till__count", x=1))[1]
    assert RAN == []


async def test_exported_tools_say_what_a_model_may_know(shop: ToolRegistry) -> None:
    @tool(danger="safe")
    def look(what: str) -> str:
        if what == "sun":
            raise ValueError("a secret")
        return what

    shop.register(look)
    mcp = FastMCP("shop", mask_error_details=True)
    mcp.add_tool(as_fastmcp(shop)[0])
    async with Client(mcp) as client:
        (listed,) = await client.list_tools()
        assert listed.annotations is not None
        assert listed.annotations.read_only_hint is True
        wrong = "there is no parameter `wat`\nhint: did you mean `what`?"
        assert await said(client, "look", wat="sea") == (True, wrong)
        assert "a secret" not in (await said(client, "look", what="sun"))[1]
