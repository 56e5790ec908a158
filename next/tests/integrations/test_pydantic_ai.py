"""The Pydantic AI capability, toolset and search strategy, in a real agent with a scripted model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remit.python_tools import ToolRegistry
from support.shop import RAN, TOOLS, count, pay_till, recorded, ship

pytest.importorskip("pydantic_ai", reason="Pydantic AI is not installed; `make test-frameworks` installs it")

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.exceptions import CallDeferred
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from remit.integrations.pydantic_ai import RemitTools, RemitToolset, search_tools

pytestmark = pytest.mark.anyio
Offered = list[list[str]]


def scripted(*calls: tuple[str, dict[str, Any]]) -> tuple[FunctionModel, Offered]:
    """Make a model that makes these calls, one after the other, and the list of what it was offered."""
    offered: Offered = []

    def speak(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        offered.append([tool.name for tool in info.function_tools])
        said = sum(isinstance(message, ModelResponse) for message in messages)
        if said == len(calls):
            return ModelResponse(parts=[TextPart("done")])
        name, arguments = calls[said]
        return ModelResponse(parts=[ToolCallPart(name, arguments, tool_call_id=f"call-{said}")])

    return FunctionModel(speak), offered


def answers(result: Any) -> list[str]:
    parts = (part for message in result.all_messages() for part in message.parts)
    return [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]


async def test_a_model_sees_and_runs_only_what_the_decision_allows(shop: ToolRegistry) -> None:
    model, offered = scripted(("delete_shop", {}), ("weather", {"city": "Rome"}))
    agent = Agent(model, tools=TOOLS, capabilities=[RemitTools(shop)])
    result = await agent.run("hello")
    assert offered[0] == ["pay", "weather"]
    hidden, sunny = answers(result)
    assert "disabled in remit.toml" in hidden
    assert "delete_shop" in hidden
    assert sunny == "Rome: sunny"
    assert RAN == []
    assert recorded() == [
        ("pydantic-ai", "delete_shop", "refused"),
        ("pydantic-ai", "weather", "done"),
    ]


async def test_a_tool_that_is_hidden_after_it_was_offered_does_not_run(shop: ToolRegistry) -> None:
    Path("cart.txt").touch()

    def empty_cart() -> str:
        """Empty the cart."""
        Path("cart.txt").unlink()
        return "emptied"

    def speak(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("empty_cart", {}), ToolCallPart("ship", {"city": "Rome"})])

    sequential = [Tool(empty_cart, sequential=True), Tool(ship, sequential=True)]
    agent = Agent(FunctionModel(speak), tools=sequential, capabilities=[RemitTools(shop)])
    result = await agent.run("hello")
    assert RAN == []
    assert "state `cart` does not hold" in answers(result)[1]


async def test_a_state_that_changes_during_a_run_changes_the_next_step(shop: ToolRegistry) -> None:
    def fill_cart() -> str:
        """Fill the cart."""
        Path("cart.txt").touch()
        return "filled"

    model, offered = scripted(("fill_cart", {}), ("ship", {"city": "Rome"}))
    await Agent(model, tools=[fill_cart, ship], capabilities=[RemitTools(shop)]).run("hello")
    assert offered == [["fill_cart"], ["fill_cart", "ship"], ["fill_cart", "ship"]]
    assert RAN == ["ship Rome"]


@pytest.mark.parametrize(("word", "ran"), [(True, ["pay 3"]), (False, [])])
async def test_an_approval_defers_the_call_and_the_answer_decides(
    shop: ToolRegistry, word: bool, ran: list[str]
) -> None:
    model, offered = scripted(("pay", {"amount": 3}))
    agent = Agent(
        model, tools=TOOLS, capabilities=[RemitTools(shop)], output_type=[str, DeferredToolRequests]
    )
    first = await agent.run("pay")
    assert isinstance(first.output, DeferredToolRequests)
    (asked,) = first.output.approvals
    assert (asked.tool_name, asked.args) == ("pay", {"amount": 3})
    assert "approval" in first.output.metadata[asked.tool_call_id]["reason"]
    assert RAN == []
    results = DeferredToolResults(approvals={asked.tool_call_id: word})
    ended = await agent.run(message_history=first.all_messages(), deferred_tool_results=results)
    assert ended.output == "done"
    assert ran == RAN
    assert ("refund" in offered[-1]) is word
    assert recorded() == [("pydantic-ai", "pay", "done" if word else "denied")]


async def test_a_hidden_tool_called_beside_one_that_is_deferred_is_answered_with_the_reason(
    shop: ToolRegistry,
) -> None:
    heard: list[list[ModelMessage]] = []

    def speak(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        heard.append(messages)
        if any(isinstance(message, ModelResponse) for message in messages):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("delete_shop", {}), ToolCallPart("pay", {"amount": 3})])

    agent = Agent(
        FunctionModel(speak),
        tools=TOOLS,
        capabilities=[RemitTools(shop)],
        output_type=[str, DeferredToolRequests],
    )
    first = await agent.run("pay")
    assert isinstance(first.output, DeferredToolRequests)
    (asked,) = first.output.approvals
    results = DeferredToolResults(approvals={asked.tool_call_id: True})
    await agent.run(message_history=first.all_messages(), deferred_tool_results=results)
    told = [part.content for part in heard[-1][-1].parts if isinstance(part, ToolReturnPart)]
    assert "disabled in remit.toml" in str(told[0])
    assert told[1:] == ["paid 3"]
    assert [(tool, outcome) for _, tool, outcome in recorded()] == [
        ("pay", "done"),
        ("delete_shop", "refused"),
    ]


async def test_an_agent_that_cannot_defer_tells_the_model_to_ask_a_person(shop: ToolRegistry) -> None:
    model, _ = scripted(("pay", {"amount": 3}))
    agent = Agent(model, tools=TOOLS, capabilities=[RemitTools(shop, defer_approvals=False)])
    result = await agent.run("pay")
    assert "approval_required: `pay`" in answers(result)[0]
    assert RAN == []


async def test_a_call_that_its_tool_defers_is_no_failure(shop: ToolRegistry) -> None:
    def later() -> str:
        """Do it later."""
        raise CallDeferred

    model, _ = scripted(("later", {}))
    capabilities = [RemitTools(shop)]
    agent = Agent(model, tools=[later], capabilities=capabilities, output_type=[str, DeferredToolRequests])
    assert isinstance((await agent.run("hello")).output, DeferredToolRequests)
    assert recorded() == []


async def test_only_the_tools_that_match_the_conversation_are_offered(shop: ToolRegistry) -> None:
    model, offered = scripted(("weather", {"city": "Rome"}))
    agent = Agent(model, tools=TOOLS, capabilities=[RemitTools(shop, top_k=1)])
    await agent.run("Will it rain in Rome?")
    assert offered == [["weather"], ["weather"]]


async def test_the_search_strategy_finds_deferred_tools_by_meaning(shop: ToolRegistry) -> None:
    model, offered = scripted(("search_tools", {"queries": ["will it rain?"]}), ("weather", {"city": "Rome"}))
    deferred = [Tool(each, defer_loading=True) for each in TOOLS]
    capabilities = [RemitTools(shop), ToolSearch(strategy=search_tools, max_results=1)]
    result = await Agent(model, tools=deferred, capabilities=capabilities).run("hello")
    assert offered[0] == ["search_tools"]
    assert offered[1] == ["weather", "search_tools"]
    assert "Rome: sunny" in answers(result)


@pytest.mark.parametrize("capabilities", [lambda _: [], lambda shop: [RemitTools(shop)]])
async def test_a_registry_is_a_toolset_that_decides_about_its_calls(
    shop: ToolRegistry, capabilities: Callable[[ToolRegistry], Any]
) -> None:
    shop.register(pay_till)
    shop.register(count)
    model, offered = scripted(
        ("till__pay", {"amount": "x"}), ("till__pay", {"amount": 3}), ("till__count", {})
    )
    toolset = RemitToolset(shop)
    agent = Agent(
        model,
        toolsets=[toolset],
        capabilities=capabilities(shop),
        output_type=[str, DeferredToolRequests],
        retries=3,
    )
    first = await agent.run("pay")
    assert isinstance(first.output, DeferredToolRequests)
    assert "`amount`: Input should be a valid integer" in answers(first)[0]  # nobody was asked
    Path("cart.txt").touch()
    results = first.output.build_results(approve_all=True)
    ended = await agent.run(message_history=first.all_messages(), deferred_tool_results=results)
    assert RAN == ["pay 3"]
    assert "3" in answers(ended)
    assert offered[0] == ["till__pay"]
    assert offered[-1] == ["till__pay", "till__count"]
