"""The guarded tools of the OpenAI Agents SDK, in a real run with a scripted model."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import remit
from remit.python_tools import ToolRegistry
from support.openai_model import Request, ToolCall, offered, openai_model, turns
from support.shop import RAN, TOOLS, count, pay_till, recorded, ship, weather

pytest.importorskip("agents", reason="OpenAI Agents is not installed; `make test-frameworks` installs it")

from agents import (
    Agent,
    CodeInterpreterTool,
    RunConfig,
    Runner,
    RunState,
    WebSearchTool,
    function_tool,
    set_default_openai_client,
    set_tracing_disabled,
)
from agents.mcp import MCPServerStdio, ToolFilterContext
from agents.run_context import RunContextWrapper
from mcp.types import Tool as McpTool
from openai import AsyncOpenAI

from remit.integrations.openai_agents import GuardedTools, as_openai_agents, guard_server, tool_filter

pytestmark = pytest.mark.anyio
set_tracing_disabled(True)


DESK = """
from remit.python_tools import ToolRegistry, serve

def echo(text: str) -> str:
    return text

registry = ToolRegistry()
registry.register(echo)
for name, answer in (("change", "changed"), ("fail", "failed"), ("where", "here"), ("work", "done")):
    registry.register(lambda answer=answer: answer, name=name)
serve(registry)
"""


class Model:
    """A model that makes calls one after the other, and remembers its requests."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any] | str]] = []
        self.heard: list[Request] = []
        self.before: Callable[[], None] = lambda: None

    def script(self, asked: Request) -> ToolCall | None:
        self.heard.append(asked)
        self.before()
        made = turns(asked)
        return ToolCall(*self.calls[made]) if made < len(self.calls) else None

    @property
    def offered(self) -> list[list[str]]:
        return [offered(asked) for asked in self.heard]

    @property
    def answers(self) -> list[str]:
        items = self.heard[-1]["input"]
        return [item["output"] for item in items if item.get("type") == "function_call_output"]


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    with openai_model(made.script) as url:
        set_default_openai_client(AsyncOpenAI(base_url=url, api_key="none"), use_for_tracing=False)
        yield made


def guarded(shop: ToolRegistry, *more: Any, **options: Any) -> GuardedTools:
    return GuardedTools(shop, [function_tool(each) for each in (*TOOLS, *more)], **options)


async def test_a_model_sees_only_what_the_decision_allows(shop: ToolRegistry, model: Model) -> None:
    model.calls = [("weather", {"city": "Rome"})]
    result = await Runner.run(Agent(name="shop", tools=guarded(shop).tools), "hello")
    assert model.offered[0] == ["pay", "weather"]
    assert model.answers == ["Rome: sunny"]
    assert result.final_output == "done"


async def test_a_call_that_is_hidden_by_then_is_rejected_with_the_reason(
    shop: ToolRegistry, model: Model
) -> None:
    Path("cart.txt").touch()
    model.calls = [("ship", {"city": "Rome"})]
    model.before = lambda: Path("cart.txt").unlink(missing_ok=True)  # after the list was made
    result = await Runner.run(Agent(name="shop", tools=guarded(shop).tools), "hello")
    (rejected,) = result.tool_input_guardrail_results
    assert RAN == []
    assert "state `cart` does not hold" in rejected.output.behavior["message"]


async def test_a_call_of_a_hidden_tool_is_answered_with_the_reason(shop: ToolRegistry, model: Model) -> None:
    model.calls = [("delete_shop", {}), ("refund", {}), ("nothing", {}), ("weather", {"city": "Rome"})]
    tools = guarded(shop)
    config = RunConfig(tool_not_found_behavior="return_error_to_model", tool_error_formatter=tools.tool_error)
    await Runner.run(Agent(name="shop", tools=tools.tools), "hello", run_config=config)
    hidden, locked, unknown, sunny = model.answers
    assert "disabled in remit.toml" in hidden
    assert "Next step: set state `paid` by a successful call of `pay`." in locked
    assert unknown == "Tool 'nothing' not found."
    assert sunny == "Rome: sunny"
    assert recorded() == [
        ("openai-agents", "delete_shop", "refused"),
        ("openai-agents", "refund", "refused"),
        ("openai-agents", "weather", "done"),
    ]


async def test_a_state_that_changes_during_a_run_changes_the_next_list(
    shop: ToolRegistry, model: Model
) -> None:
    def fill_cart() -> str:
        """Fill the cart."""
        Path("cart.txt").touch()
        return "filled"

    model.calls = [("fill_cart", {}), ("ship", {"city": "Rome"})]
    tools = GuardedTools(shop, [function_tool(fill_cart), function_tool(ship)]).tools
    await Runner.run(Agent(name="shop", tools=tools), "hello")
    assert model.offered == [["fill_cart"], ["fill_cart", "ship"], ["fill_cart", "ship"]]
    assert RAN == ["ship Rome"]


@pytest.mark.parametrize(("approve", "ran"), [(True, ["pay 3"]), (False, [])])
async def test_an_approval_interrupts_the_run_and_the_answer_decides(
    shop: ToolRegistry, model: Model, approve: bool, ran: list[str]
) -> None:
    model.calls = [("pay", {"amount": 3})]
    agent = Agent(name="shop", tools=guarded(shop).tools)
    first = await Runner.run(agent, "pay")
    (asked,) = first.interruptions
    assert (asked.tool_name, json.loads(asked.arguments)) == ("pay", {"amount": 3})
    assert RAN == []
    state = first.to_state()
    state.approve(asked) if approve else state.reject(asked)
    ended = await Runner.run(agent, state)
    assert ended.final_output == "done"
    assert ran == RAN
    assert ("refund" in model.offered[-1]) is approve
    assert recorded() == [("openai-agents", "pay", "done" if approve else "denied")]


async def test_a_call_is_recorded_as_denied_where_the_person_gives_a_reason(
    shop: ToolRegistry, model: Model
) -> None:
    model.calls = [("pay", {"amount": 3}), ("weather", {"city": "Rome"})]
    agent = Agent(name="shop", tools=guarded(shop).tools)
    first = await Runner.run(agent, "pay")
    state = await RunState.from_json(agent, first.to_state().to_json())
    state.reject(state.get_interruptions()[0], rejection_message="Too much.")
    await Runner.run(agent, state)
    assert model.answers[0] == "Too much."
    assert recorded() == [("openai-agents", "pay", "denied"), ("openai-agents", "weather", "done")]


async def test_nobody_is_asked_about_a_call_that_cannot_run(shop: ToolRegistry, model: Model) -> None:
    model.calls = [("pay", {}), ("pay", {"amount": "many"})]
    result = await Runner.run(Agent(name="shop", tools=guarded(shop).tools), "pay")
    assert result.interruptions == []
    assert model.answers == [
        "the parameter `amount` is missing",
        "`amount`: 'many' is not of type 'integer'",
    ]


def test_a_hosted_tool_is_decided_by_its_name_when_the_tools_are_read(shop: ToolRegistry) -> None:
    search, run_code = WebSearchTool(), CodeInterpreterTool(tool_config={"type": "code_interpreter"})  # pyright: ignore[reportArgumentType]
    tools = GuardedTools(shop, [search, function_tool(weather), run_code])
    assert [each.name for each in tools.tools] == ["web_search", "weather", "code_interpreter"]
    assert tools.tools[0] is search
    rules = "[tools.web_search]\nai_enabled = false\n[tools.code_interpreter]\napproval = true\n"
    Path("remit.toml").write_text(rules)
    assert [each.name for each in tools.tools] == ["weather"]


def test_what_is_not_a_tool_is_named(shop: ToolRegistry) -> None:
    wrong: Any = [function_tool(weather), weather]
    with pytest.raises(TypeError, match=r"tools\[1\] is of type `function`, not a tool of the SDK; wrap it"):
        GuardedTools(shop, wrong)


async def test_a_tool_that_fails_changes_no_workflow_state(shop: ToolRegistry, model: Model) -> None:
    def pay(amount: int) -> str:
        """Pay, and fail."""
        raise ValueError(f"no money for {amount}")

    model.calls = [("pay", {"amount": 3})]
    tools = GuardedTools(shop, [function_tool(pay), *(function_tool(each) for each in TOOLS[2:])]).tools
    agent = Agent(name="shop", tools=tools)
    first = await Runner.run(agent, "pay")
    state = first.to_state()
    state.approve(first.interruptions[0])
    await Runner.run(agent, state)
    assert "error" in model.answers[0]
    assert "refund" not in model.offered[-1]


async def test_the_choice_of_a_run_is_in_its_context(shop: ToolRegistry, model: Model) -> None:
    tools = guarded(shop, top_k=1)
    request = "Will it rain in Rome?"
    await Runner.run(Agent(name="shop", tools=tools.tools), request, context=tools.choose(request))
    assert model.offered == [["weather"]]


async def test_a_chosen_tool_becomes_available_during_the_run(shop: ToolRegistry, model: Model) -> None:
    def fill_cart() -> str:
        """Fill the cart that ships to a city."""
        Path("cart.txt").touch()
        return "filled"

    model.calls = [("fill_cart", {})]
    tools = guarded(shop, fill_cart, top_k=2)
    choice = tools.choose("Fill the cart, then ship it to Rome")
    await Runner.run(Agent(name="shop", tools=tools.tools), "Ship", context=choice)
    assert model.offered == [["fill_cart"], ["ship", "fill_cart"]]


async def test_arguments_that_are_not_json_interrupt_only_where_a_person_must_approve(
    shop: ToolRegistry, model: Model
) -> None:
    model.calls = [("weather", '{"city": '), ("pay", '{"amount": ')]
    result = await Runner.run(Agent(name="shop", tools=guarded(shop).tools), "hello")
    assert model.answers == ["the arguments must be a JSON object"]
    assert [asked.tool_name for asked in result.interruptions] == ["pay"]


async def test_a_filter_keeps_the_tools_of_a_server_by_its_rules(shop: ToolRegistry) -> None:
    rules = '[tools."mcp__github__close_*"]\nai_enabled = false\n[tools.mcp__github__pay]\napproval = true\n'
    Path("remit.toml").write_text(rules)
    keep = tool_filter(shop)
    agent: Any = None

    async def kept(server: str, name: str) -> bool:
        context = ToolFilterContext(run_context=RunContextWrapper(None), agent=agent, server_name=server)
        return await keep(context, McpTool(name=name, input_schema={"type": "object"}))

    asked = [
        ("github", "list_issues"),
        ("github", "close_issue"),
        ("github", "pay"),
    ]
    assert [await kept(*item) for item in asked] == [True, False, False]


async def test_a_guarded_server_is_decided_in_its_list_and_at_each_call(
    shop: ToolRegistry, model: Model
) -> None:
    Path("desk.py").write_text(DESK)
    variables = {"PYTHONPATH": str(Path(remit.__file__).parents[1])}
    rules = (
        "[states.open]\nfile = 'open.txt'\n[tools.mcp__desk__echo]\nstates = ['open']\n"
        "[tools.mcp__desk__fail]\nai_enabled = false\n[tools.mcp__desk__where]\napproval = true\n"
    )
    Path("remit.toml").write_text(rules)
    Path("open.txt").touch()
    made = MCPServerStdio({"command": sys.executable, "args": ["desk.py"], "env": variables}, name="desk")
    model.calls = [("echo", {"text": "hi"}), ("where", {}), ("work", {})]
    async with guard_server(shop, made) as server:
        await Runner.run(Agent(name="desk", mcp_servers=[server]), "hello")
        assert sorted(model.offered[0]) == ["change", "echo", "where", "work"]
        said, waits, done = map(str, model.answers)
        assert "hi" in said
        assert "Ask the user" in waits
        assert "done" in done
        Path("open.txt").unlink()
        refused = await server.call_tool("echo", {"text": "hi"})
        failed = await server.call_tool("fail", {})
    assert refused.is_error
    assert "state `open` does not hold" in str(refused.content)
    assert "`fail` is not available now (policy): disabled" in str(failed.content)
    assert [(tool, outcome) for _, tool, outcome in recorded()] == [
        ("mcp__desk__echo", "done"),
        ("mcp__desk__where", "waiting"),
        ("mcp__desk__work", "done"),
        ("mcp__desk__echo", "refused"),
        ("mcp__desk__fail", "refused"),
    ]


async def test_a_registry_becomes_function_tools(shop: ToolRegistry, model: Model) -> None:
    shop.register(pay_till)
    shop.register(count)
    Path("cart.txt").touch()
    model.calls = [("till__count", {}), ("till__count", {"x": 1}), ("till__pay", {"amount": 3})]
    agent = Agent(name="till", tools=as_openai_agents(shop))
    first = await Runner.run(agent, "count, then pay")
    assert model.answers == ["3", "there is no parameter `x`\nhint: it takes no parameters"]
    state = first.to_state()
    state.approve(first.interruptions[0])
    await Runner.run(agent, state)
    assert RAN == ["pay 3"]
