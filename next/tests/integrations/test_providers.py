"""A registry's tools as definitions for OpenAI and Anthropic, and the dispatcher for a model's calls."""

import json
from pathlib import Path
from typing import Any

import pytest

from remit.integrations.providers import as_anthropic, as_openai, chat_definitions
from remit.python_tools import ToolRegistry, tool
from remit.store import Approval
from support.shop import RAN, count, pay_till

pytestmark = pytest.mark.anyio


@pytest.fixture
def till(shop: ToolRegistry) -> ToolRegistry:
    shop.register(pay_till)
    shop.register(count)
    return shop


async def yes(_: Approval) -> bool:
    return True


async def no(_: Approval) -> bool:
    return False


def test_definitions_follow_the_states(till: ToolRegistry) -> None:
    tools = as_openai(till)
    assert [each["name"] for each in tools.definitions()] == ["till__pay"]
    Path("cart.txt").touch()
    (_, counting) = chat_definitions(tools.definitions())
    assert counting["type"] == "function"
    assert counting["function"]["name"] == "till__count"
    assert counting["function"]["parameters"]["type"] == "object"
    assert as_anthropic(till).definitions()[1]["input_schema"]["type"] == "object"


@pytest.mark.parametrize(
    ("call", "field", "id"),
    [
        (
            {"type": "function_call", "call_id": "1"},
            "output",
            {"type": "function_call_output", "call_id": "1"},
        ),
        ({"type": "function", "id": "1", "function": {}}, "content", {"role": "tool", "tool_call_id": "1"}),
    ],
)
async def test_openai_calls_are_answered_in_their_own_format(
    till: ToolRegistry, call: dict[str, Any], field: str, id: dict[str, str]
) -> None:
    Path("cart.txt").touch()
    named = {"name": "till__count", "arguments": "{}"}
    made = {**call, "function": named} if "function" in call else {**call, **named}
    assert await as_openai(till).dispatch([{"type": "reasoning"}, made]) == [{**id, field: "3"}]


async def test_anthropic_calls_are_refused_asked_about_and_run(till: ToolRegistry) -> None:
    tools = as_anthropic(till)

    async def said(name: str, ask: Any = None, **given: Any) -> tuple[str, bool]:
        call = {"type": "tool_use", "id": "1", "name": name, "input": given}
        ((_, _, content, *error),) = [each.values() for each in await tools.dispatch([call], ask=ask)]
        return content, bool(error)

    assert "state `cart` does not hold" in (await said("till__count"))[0]
    assert (await said("till__pays"))[0] == "no tool is called `till__pays`; did you mean `till__pay`?"
    assert (await said("dance"))[0] == "no tool is called `dance`; available tools: `till__pay`"
    assert (await said("till__pay", amount=3))[0].startswith("approval_required")
    assert "a person said no" in (await said("till__pay", no, amount=3))[0]
    assert RAN == []
    assert await said("till__pay", yes, amount=3) == ("paid 3", False)
    assert RAN == ["pay 3"]
    assert (await said("till__pay", yes, amount="x"))[1]


@pytest.mark.parametrize("arguments", ["{", "[]", "3"])
async def test_arguments_that_are_no_object_are_an_error(till: ToolRegistry, arguments: str) -> None:
    call = {"type": "function_call", "call_id": "1", "name": "till__pay", "arguments": arguments}
    ((answer),) = await as_openai(till).dispatch([call], ask=yes)
    assert answer["output"] == "the arguments must be a JSON object"


async def test_a_tool_that_fails_and_one_without_arguments_are_answered(till: ToolRegistry) -> None:
    @till.register
    @tool(name="till.break")
    def break_till() -> None:  # pyright: ignore[reportUnusedFunction] - it is registered
        raise OSError("no till")

    call = {"type": "function_call", "call_id": "1", "name": "till__break", "arguments": None}
    ((answer),) = await as_openai(till).dispatch([call])
    assert answer["output"] == "OSError: no till"


def test_long_names_and_names_that_fall_together_get_a_hash(shop: ToolRegistry) -> None:
    for name in ("a.b", "a__b", f"{'x' * 60}.{'y' * 60}"):
        shop.register(lambda: None, name=name)
    names = [each["name"] for each in as_openai(shop).definitions()]
    assert names[0] == "a__b"
    assert names[1].startswith("a__b_")
    assert len(names[2]) == 64
    assert json.dumps(names)
