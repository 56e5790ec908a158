"""How a framework's tools are held to a registry's decisions, without a framework."""

from pathlib import Path
from typing import Any

import pytest

from remit.errors import StoreError
from remit.integrations.guard import ToolGuard, framework_tool
from remit.python_tools import DefinedTool, ToolRegistry
from support.shop import recorded


def given(name: str, description: str = "") -> DefinedTool:
    return framework_tool(name, description, {"type": "object"}, "test")


def test_a_tool_of_an_mcp_server_follows_the_rules_for_its_name(shop: ToolRegistry) -> None:
    Path("remit.toml").write_text('[tools."mcp__github__close_*"]\nai_enabled = false\n')
    names = {"list": "mcp__github__list", "close": "mcp__github__close_it"}
    guard = ToolGuard(shop, caller="test", names=names.get)
    decided = guard.decide([given(name) for name in (*names, "own")])
    assert [decision.is_available for decision in decided] == [True, False, True]
    assert str(decided[1].gate) == "policy"


def test_the_next_step_names_the_tool_that_sets_a_workflow_state(shop: ToolRegistry) -> None:
    guard = ToolGuard(shop, caller="test")
    guard.decide([given("pay"), given("refund")])
    refusal = guard.call(given("refund"), {}).refuse()
    assert refusal is not None
    assert "`pay`" in refusal


@pytest.mark.parametrize(("top_k", "error"), [(51, ValueError), (0, ValueError), (1.5, TypeError)])
def test_a_limit_that_is_wrong_is_refused_at_once(
    shop: ToolRegistry, top_k: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"`top_k` must be .* 1 (to|and) 50, not"):
        ToolGuard(shop, caller="test", top_k=top_k)


def test_an_unknown_name_is_answered_with_available_tools_alone(shop: ToolRegistry) -> None:
    guard = ToolGuard(shop, caller="test")
    assert guard.unknown("nope") == "no tool is called `nope`"
    guard.know([framework_tool(name, None, {}, "test") for name in ("weather", "delete_shop")])
    assert guard.unknown("wether") == "no tool is called `wether`; did you mean `weather`?"
    assert guard.unknown("delete_shops") == "no tool is called `delete_shops`; available tools: `weather`"


def test_without_words_to_choose_by_every_tool_stays(shop: ToolRegistry) -> None:
    guard = ToolGuard(shop, caller="test", top_k=1)
    described = {"mail": given("mail", "Send mail."), "rain": given("rain", "Tell the weather.")}
    tools, describe = list(described), described.__getitem__
    assert guard.relevant(tools, describe, []) == tools
    assert guard.relevant(tools, describe, ["will it rain?"]) == ["rain"]
    assert guard.relevant(tools, describe, ["will it rain?"], used={"mail"}) == tools


def test_calls_are_recorded_with_their_outcomes(shop: ToolRegistry) -> None:
    guard = ToolGuard(shop, caller="langchain", names={"list": "mcp__github__list"}.get)
    with guard.call(given("list"), {"q": "x"}).running():
        pass
    with pytest.raises(OSError, match="no such city"), guard.call(given("weather"), {}).running():
        raise OSError("no such city")
    assert guard.call(given("pay"), {"amount": 3}).refuse() is not None
    assert guard.call(given("ship"), {}).refuse() is not None
    assert recorded() == [
        ("langchain", "mcp__github__list", "done"),
        ("langchain", "weather", "failed"),
        ("langchain", "pay", "waiting"),
        ("langchain", "ship", "refused"),
    ]


def test_a_call_that_a_person_denied_is_recorded_as_denied(shop: ToolRegistry) -> None:
    guard = ToolGuard(shop, caller="pydantic-ai")
    guard.call(given("pay"), {"amount": 3}).deny()
    asked = guard.call(given("pay"), {"amount": 4})
    asked.settle(approve=False)
    assert asked.refuse() is not None
    guard.call(given("weather"), {}).deny()
    assert recorded() == [("pydantic-ai", "pay", "denied")] * 2


@pytest.mark.usefixtures("shop")
def test_without_a_project_nothing_is_recorded() -> None:
    with ToolRegistry() as registry, ToolGuard(registry, caller="test").call(given("weather"), {}).running():
        pass
    assert recorded() == []


def test_a_store_that_cannot_be_written_does_not_stop_a_call(
    shop: ToolRegistry, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreError("locked")

    monkeypatch.setattr(shop, "record", fail)
    with ToolGuard(shop, caller="test").call(given("weather"), {}).running():
        pass
    assert "a call of `weather` could not be recorded: locked" in caplog.text
