"""The LangChain middleware and the exported tools, in a real agent with a scripted model."""

from pathlib import Path
from typing import Any

import pytest

from remit.python_tools import ToolRegistry
from support.shop import RAN, TOOLS, count, pay_till, recorded, ship, weather

pytest.importorskip("langchain", reason="LangChain is not installed; `make test-frameworks` installs it")

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import PrivateAttr

from remit.integrations.langchain import RemitMiddleware, as_langchain


class ScriptedModel(BaseChatModel):
    """A model that calls what it is told to, and remembers which tools it was offered."""

    script: list[AIMessage]
    _offered: list[list[str]] = PrivateAttr(default_factory=list[list[str]])

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def offered(self) -> list[list[str]]:
        return self._offered

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        self._offered.append([each["name"] if isinstance(each, dict) else each.name for each in tools])
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        said = sum(isinstance(message, AIMessage) for message in messages)
        return ChatResult(generations=[ChatGeneration(message=self.script[said])])


def calling(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}"}])


def run(
    model: ScriptedModel, middleware: RemitMiddleware, tools: Any = TOOLS, text: str = "hello"
) -> list[ToolMessage]:
    agent = create_agent(model, tools, middleware=[middleware])
    messages = agent.invoke({"messages": [("user", text)]})["messages"]
    return [message for message in messages if isinstance(message, ToolMessage)]


def test_a_model_sees_only_what_the_decision_allows(shop: ToolRegistry) -> None:
    model = ScriptedModel(script=[AIMessage("done")])
    run(model, RemitMiddleware(shop))
    assert model.offered == [["pay", "weather"]]


def test_a_call_of_a_hidden_tool_does_not_run_and_says_why(shop: ToolRegistry) -> None:
    model = ScriptedModel(script=[calling("delete_shop"), calling("ship", city="Rome"), AIMessage("done")])
    deleted, shipped = run(model, RemitMiddleware(shop))
    assert RAN == []
    assert (deleted.status, shipped.status) == ("error", "error")
    assert "not available now (policy)" in str(deleted.content)
    assert "state `cart` does not hold" in str(shipped.content)
    assert "remit.toml" not in str(shipped.content)


def test_an_unknown_name_is_answered_with_available_tools_alone(shop: ToolRegistry) -> None:
    model = ScriptedModel(script=[calling("nope"), calling("delete_shopp"), AIMessage("done")])
    unknown, misspelled = run(model, RemitMiddleware(shop))
    assert str(unknown.content) == "no tool is called `nope`; available tools: `pay`, `weather`"
    assert "delete_shop" not in str(misspelled.content).replace("delete_shopp", "")
    assert (unknown.status, unknown.tool_call_id) == ("error", "call-nope")
    assert [outcome for _, _, outcome in recorded()] == ["unknown", "unknown"]


def test_a_refusal_names_the_tool_that_makes_another_available(shop: ToolRegistry) -> None:
    model = ScriptedModel(script=[calling("refund"), AIMessage("done")])
    (refused,) = run(model, RemitMiddleware(shop))
    assert "Next step: set state `paid` by a successful call of `pay`." in str(refused.content)


def test_a_state_that_changes_during_a_run_changes_the_next_list(shop: ToolRegistry) -> None:
    def fill_cart() -> str:
        """Fill the cart."""
        Path("cart.txt").touch()
        return "filled"

    model = ScriptedModel(script=[calling("fill_cart"), calling("ship", city="Rome"), AIMessage("done")])
    run(model, RemitMiddleware(shop), [fill_cart, ship])
    assert model.offered == [["fill_cart"], ["fill_cart", "ship"], ["fill_cart", "ship"]]
    assert RAN == ["ship Rome"]


def test_without_a_checkpointer_the_model_is_told_to_ask_a_person(shop: ToolRegistry) -> None:
    model = ScriptedModel(script=[calling("pay", amount=3), AIMessage("done")])
    (answer,) = run(model, RemitMiddleware(shop))
    assert RAN == []
    assert answer.status == "error"
    assert "approval_required: `pay`" in str(answer.content)


@pytest.mark.parametrize(
    ("word", "ran", "status", "offered"),
    [
        ("approve", ["pay 3"], "success", ["pay", "refund", "weather"]),
        ("reject", [], "error", ["pay", "weather"]),
    ],
)
def test_an_approval_interrupts_the_graph_and_the_answer_decides(
    shop: ToolRegistry, word: str, ran: list[str], status: str, offered: list[str]
) -> None:
    model = ScriptedModel(script=[calling("pay", amount=3), AIMessage("done")])
    agent = create_agent(model, TOOLS, middleware=[RemitMiddleware(shop)], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    (asked,) = agent.invoke({"messages": [("user", "pay")]}, thread)["__interrupt__"]
    assert asked.value["type"] == "tool_approval"
    assert (asked.value["name"], asked.value["args"]) == ("pay", {"amount": 3})
    assert RAN == []
    ended = agent.invoke(Command(resume={"type": word}), thread)
    answer = next(message for message in ended["messages"] if isinstance(message, ToolMessage))
    assert (RAN, answer.status) == (ran, status)
    assert model.offered[-1] == offered
    assert recorded() == [("langchain", "pay", "done" if word == "approve" else "denied")]


def test_two_approvals_at_once_are_answered_by_the_id_of_each_question(shop: ToolRegistry) -> None:
    calls = [{"name": "pay", "args": {"amount": amount}, "id": f"call-{amount}"} for amount in (3, 4)]
    model = ScriptedModel(script=[AIMessage("", tool_calls=calls), AIMessage("done")])
    agent = create_agent(model, TOOLS, middleware=[RemitMiddleware(shop)], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    questions = agent.invoke({"messages": [("user", "pay")]}, thread)["__interrupt__"]
    words = {3: "approve", 4: "reject"}
    answers = {each.id: {"type": words[each.value["args"]["amount"]]} for each in questions}
    ended = agent.invoke(Command(resume=answers), thread)
    statuses = [each.status for each in ended["messages"] if isinstance(each, ToolMessage)]
    assert (RAN, statuses) == (["pay 3"], ["success", "error"])


def test_nobody_is_asked_about_a_call_that_cannot_run(shop: ToolRegistry) -> None:
    shop.register(pay_till)
    script = [calling("pay"), calling("pay", amount="many"), calling("till__pay", amount="3"), AIMessage("x")]
    model = ScriptedModel(script=script)
    tools = [*TOOLS, *as_langchain(shop)]
    agent = create_agent(model, tools, middleware=[RemitMiddleware(shop)], checkpointer=InMemorySaver())
    ended = agent.invoke({"messages": [("user", "pay")]}, {"configurable": {"thread_id": "1"}})
    assert "__interrupt__" not in ended
    missing, wrong, text = (str(each.content) for each in ended["messages"] if isinstance(each, ToolMessage))
    assert missing == "the parameter `amount` is missing"
    assert wrong == "`amount`: 'many' is not of type 'integer'"
    assert text == "`amount`: Input should be a valid integer"
    assert (RAN, [outcome for *_, outcome in recorded()]) == ([], ["refused"] * 3)


@pytest.mark.anyio
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_model_reads_what_is_wrong_with_the_arguments_of_an_exported_tool(
    shop: ToolRegistry, is_async: bool
) -> None:
    async def sell(what: str) -> str:
        return what

    shop.register(sell if is_async else weather, name="sell")
    model = ScriptedModel(script=[calling("sell", wat="tea"), AIMessage("done")])
    agent = create_agent(model, as_langchain(shop), middleware=[RemitMiddleware(shop)])
    given: Any = {"messages": [("user", "sell")]}
    ended = await agent.ainvoke(given) if is_async else agent.invoke(given)
    answer = next(message for message in ended["messages"] if isinstance(message, ToolMessage))
    assert answer.status == "error"
    assert str(answer.content).startswith("there is no parameter `wat`\nhint: ")
    assert recorded() == [("langchain", "sell", "failed")]


def test_the_model_reads_why_a_person_said_no(shop: ToolRegistry) -> None:
    model = ScriptedModel(script=[calling("pay", amount=3), AIMessage("done")])
    agent = create_agent(model, TOOLS, middleware=[RemitMiddleware(shop)], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [("user", "pay")]}, thread)
    ended = agent.invoke(Command(resume={"type": "reject", "message": "Too much."}), thread)
    answer = next(message for message in ended["messages"] if isinstance(message, ToolMessage))
    assert str(answer.content).endswith("unless the user asks for it.\nThe person's reason: Too much.")


def test_an_answer_that_is_not_a_decision_approves_nothing(shop: ToolRegistry) -> None:
    model = ScriptedModel(script=[calling("pay", amount=3), AIMessage("done")])
    agent = create_agent(model, TOOLS, middleware=[RemitMiddleware(shop)], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [("user", "pay")]}, thread)
    with pytest.raises(ValueError, match="type"):
        agent.invoke(Command(resume=True), thread)
    assert RAN == []


@pytest.mark.anyio
async def test_an_async_agent_is_held_to_the_same_decisions(shop: ToolRegistry) -> None:
    script = [calling("ship", city="Rome"), calling("pay", amount=3), AIMessage("done")]
    model = ScriptedModel(script=script)
    agent = create_agent(model, TOOLS, middleware=[RemitMiddleware(shop)], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    first = await agent.ainvoke({"messages": [("user", "pay")]}, thread)
    assert RAN == []
    assert [each.value["name"] for each in first["__interrupt__"]] == ["pay"]
    await agent.ainvoke(Command(resume={"type": "approve"}), thread)
    assert RAN == ["pay 3"]


def test_only_the_tools_that_match_the_conversation_are_offered(shop: ToolRegistry) -> None:
    model = ScriptedModel(script=[calling("weather", city="Rome"), AIMessage("done")])
    run(model, RemitMiddleware(shop, top_k=1), text="Will it rain in Rome?")
    assert model.offered == [["weather"], ["weather"]]


def test_what_the_conversation_used_stays_offered(shop: ToolRegistry) -> None:
    model = ScriptedModel(script=[calling("weather", city="Rome"), AIMessage("done"), AIMessage("done")])
    agent = create_agent(
        model, TOOLS, middleware=[RemitMiddleware(shop, top_k=1)], checkpointer=InMemorySaver()
    )
    thread: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [("user", "Will it rain in Rome?")]}, thread)
    agent.invoke({"messages": [("user", "Now pay the bill")]}, thread)
    assert model.offered[-1] == ["pay", "weather"]


def test_a_hosted_tool_that_would_need_approval_is_not_offered(shop: ToolRegistry) -> None:
    hosted: Any = [{"type": "pay", "name": "pay"}, {"type": "web_search", "name": "web_search"}]
    model = ScriptedModel(script=[AIMessage("done")])
    run(model, RemitMiddleware(shop), hosted)
    assert model.offered == [["web_search"]]


def test_a_tool_of_an_mcp_server_follows_the_rules_for_its_name(shop: ToolRegistry) -> None:
    Path("remit.toml").write_text('[tools."mcp__github__close_*"]\nai_enabled = false\n')

    def list_issues() -> str:
        """List the issues."""
        return "none"

    def close_issue() -> str:
        """Close an issue."""
        return "closed"

    model = ScriptedModel(script=[calling("close_issue"), AIMessage("done")])
    names = {name: f"mcp__github__{name}" for name in ("list_issues", "close_issue")}
    (closed,) = run(model, RemitMiddleware(shop, names=names.get), [list_issues, close_issue])
    assert model.offered[0] == ["list_issues"]
    assert "(policy)" in str(closed.content)


def test_exported_tools_decide_about_their_calls_without_middleware(shop: ToolRegistry) -> None:
    shop.register(pay_till)
    shop.register(count)
    paying, counting = as_langchain(shop)
    assert (paying.name, counting.name) == ("till__pay", "till__count")
    assert "approval_required" in paying.invoke({"amount": 3})
    assert RAN == []


@pytest.mark.anyio
async def test_exported_tools_in_an_agent_ask_once(shop: ToolRegistry) -> None:
    shop.register(pay_till)
    shop.register(count)
    model = ScriptedModel(script=[calling("till__pay", amount=3), calling("till__count"), AIMessage("done")])
    agent = create_agent(
        model, as_langchain(shop), middleware=[RemitMiddleware(shop)], checkpointer=InMemorySaver()
    )
    thread: Any = {"configurable": {"thread_id": "1"}}
    first = await agent.ainvoke({"messages": [("user", "pay")]}, thread)
    assert [each.value["name"] for each in first["__interrupt__"]] == ["till__pay"]
    Path("cart.txt").touch()
    ended = await agent.ainvoke(Command(resume={"type": "approve"}), thread)
    answers = [message.content for message in ended["messages"] if isinstance(message, ToolMessage)]
    assert (RAN, answers) == (["pay 3"], ["paid 3", "3"])
    assert model.offered == [["till__pay"], ["till__pay", "till__count"], ["till__pay", "till__count"]]
