"""Tools of Python functions, served to an MCP client."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import CallToolResult, TextContent, ToolListChangedNotification

from remit import ToolRegistry, requires, tool
from remit.python_tools.tool_server import server_of


def shop(root: Path) -> ToolRegistry:
    registry = ToolRegistry({"open": lambda: (root / "open").exists()})

    @registry.register
    @tool(name="shop.open", danger="low")
    def open_shop() -> str:  # pyright: ignore[reportUnusedFunction] - it is registered
        """Open the shop."""
        (root / "open").touch()
        return "open"

    @registry.register
    @tool(name="shop.sell", danger="destructive")
    @requires("open")
    async def sell(what: str) -> dict[str, str]:  # pyright: ignore[reportUnusedFunction] - it is registered
        if what == "air":
            raise ValueError("nobody buys air")
        return {"sold": what}

    return registry


def serve(registry: ToolRegistry, use: Callable[[Client], Awaitable[None]], told: list[object]) -> None:
    async def hear(message: object) -> None:
        told.append(message)

    async def run(mode: Literal["auto", "legacy"]) -> None:
        async with Client(server_of(registry, name="shop"), mode=mode, message_handler=hear) as client:
            await use(client)

    anyio.run(run, "legacy")


async def said(client: Client, called: str, **arguments: object) -> tuple[bool, str]:
    result = await client.call_tool(called, arguments)
    assert isinstance(result, CallToolResult)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return result.is_error, content.text


def test_a_call_that_changes_the_states_changes_the_list_and_says_so(tmp_path: Path) -> None:
    told: list[object] = []

    async def use(client: Client) -> None:
        (only,) = (await client.list_tools()).tools
        assert (only.name, only.description) == ("shop.open", "Open the shop.")
        assert await said(client, "shop.sell", what="tea") == (
            True,
            "`shop.sell`: state `open` does not hold\nAsk the user: only a person can change this.",
        )
        assert await said(client, "shop.open") == (False, "open")
        both = (await client.list_tools()).tools
        assert [each.name for each in both] == ["shop.open", "shop.sell"]
        assert [each.annotations and each.annotations.destructive_hint for each in both] == [False, True]
        assert await said(client, "shop.sell", what="tea") == (False, '{"sold": "tea"}')

    serve(shop(tmp_path), use, told)
    assert [type(message) for message in told] == [ToolListChangedNotification]


def test_a_tool_that_fails_leaves_the_server_at_work(tmp_path: Path) -> None:
    (tmp_path / "open").touch()

    async def use(client: Client) -> None:
        assert await said(client, "shop.sell", what="air") == (True, "ValueError: nobody buys air")
        assert await said(client, "shop.sell", wat="tea") == (
            True,
            "there is no parameter `wat`\nhint: did you mean `what`?",
        )
        with pytest.raises(MCPError, match=r"no tool is called `shop\.buy`"):
            await client.call_tool("shop.buy", {})
        assert await said(client, "shop.sell", what="tea") == (False, '{"sold": "tea"}')

    serve(shop(tmp_path), use, [])
