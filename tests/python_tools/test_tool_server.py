"""Tools of Python functions, served to an MCP client."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp_types import CallToolResult, TextContent, ToolListChangedNotification

from remit import ToolRegistry, requires, tool
from remit.bootstrap import open_registry
from remit.python_tools.tool_server import server_of
from support.sandbox import Sandbox


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
        assert await said(client, "shop.sell", what="tea") == (False, '{"sold":"tea"}')

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
        assert await said(client, "shop.sell", what="tea") == (False, '{"sold":"tea"}')

    serve(shop(tmp_path), use, [])


@tool(name="till.pay", approval=True)
def pay(amount: int) -> str:
    return f"paid {amount}"


class Person:
    """The user of a client, who answers questions with these words, one after the other."""

    def __init__(self, *words: dict[str, Any]) -> None:
        self.words = [*words]
        self.questions: list[str] = []

    async def answer(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult:  # noqa: ARG002
        self.questions.append(params.message)
        return types.ElicitResult.model_validate(self.words.pop(0))


@pytest.fixture
def till(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToolRegistry]:
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    with ToolRegistry(project=str(sandbox.project("shop"))) as registry:
        registry.register(pay)
        yield registry


ERAS: list[Literal["legacy", "auto"]] = ["legacy", "auto"]
YES = {"action": "accept", "content": {"approve": True}}


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_can_ask_is_asked_about_a_call_that_needs_approval(
    till: ToolRegistry, era: Literal["legacy", "auto"]
) -> None:
    person = Person(YES, {"action": "decline"}, YES, {"action": "accept", "content": {}})

    async def use() -> None:
        served = server_of(till, name="shop")
        async with Client(served, mode=era, elicitation_callback=person.answer) as client:
            assert [each.name for each in (await client.list_tools()).tools] == ["till.pay"]
            assert await said(client, "till.pay", amount=5) == (False, "paid 5")
            is_error, no = await said(client, "till.pay", amount=5)
            assert is_error
            assert "a person said no" in no
            assert await said(client, "till.pay", amount=5) == (False, "paid 5")
            assert "approval_required" in (await said(client, "till.pay", amount=5))[1]

    anyio.run(use)
    assert len(person.questions) == 4
    assert all('{"amount": 5}' in each for each in person.questions)


def test_without_a_client_that_can_ask_a_person_approves_in_a_terminal(
    sandbox: Sandbox, till: ToolRegistry
) -> None:
    async def use(client: Client) -> None:
        result = await client.call_tool("till.pay", {"amount": 7})
        assert isinstance(result, CallToolResult)
        assert result.structured_content is not None
        assert result.structured_content["error"] == "approval_required"
        id = result.structured_content["approval"]
        with open_registry() as registry:
            registry.approvals.answer(id, registry.at(str(sandbox.root / "code/shop")), approve=True)
        assert "approval_required" in (await said(client, "till.pay", amount=8))[1]
        assert await said(client, "till.pay", amount=7) == (False, "paid 7")
        assert "remit approve" not in (await said(client, "till.pay", amount=7))[1]

    serve(till, use, [])


def test_a_client_that_refuses_to_ask_gives_no_answer(till: ToolRegistry) -> None:
    async def refuse(context: object, params: types.ElicitRequestParams) -> types.ErrorData:  # noqa: ARG001
        return types.ErrorData(code=types.INVALID_REQUEST, message="no")

    async def use() -> None:
        async with Client(server_of(till, name="shop"), mode="legacy", elicitation_callback=refuse) as client:
            assert "approval_required" in (await said(client, "till.pay", amount=5))[1]

    anyio.run(use)
