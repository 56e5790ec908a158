"""How a framework's tools are held to a registry's decisions, without a framework."""

import json
from pathlib import Path
from typing import Any

import pytest

from remit import ToolRegistry
from remit.bootstrap import open_registry
from remit.errors import StoreError
from remit.integrations.tool_guard import ToolGuard, framework_tool
from remit.python_tools.decorators import DefinedTool
from support.sandbox import Sandbox
from support.shop import recorded, trust_servers


def given(name: str, description: str = "") -> DefinedTool:
    return framework_tool(name, description, {"type": "object"}, "test")


def test_a_tool_of_an_mcp_server_follows_the_projects_declaration(
    shop: ToolRegistry, sandbox: Sandbox
) -> None:
    servers = {"github": {"command": "npx", "args": ["github"]}}
    sandbox.write(Path.cwd() / ".mcp.json", {"mcpServers": servers})
    sandbox.write(Path.cwd() / "remit.toml", '[tools."mcp__github__close_*"]\nai_enabled = false\n')
    names = {"list": "mcp__github__list", "close": "mcp__github__close_it", "mail": "mcp__mail__send"}
    guard = ToolGuard(shop, principal="test", names=names.get)
    trust_servers()
    decided = guard.decide([given(name) for name in (*names, "own")])
    assert [each.is_available for each in decided] == [True, False, False, True]
    assert [str(each.gate) for each in decided[1:3]] == ["policy", "scope"]


def test_a_program_needs_trust_for_a_projects_server_and_no_clients_approval(
    shop: ToolRegistry, sandbox: Sandbox
) -> None:
    sandbox.write(Path.cwd() / ".mcp.json", {"mcpServers": {"github": {"command": "npx"}}})
    sandbox.write(sandbox.home / ".claude/settings.json", {})  # Claude Code would ask about it
    guard = ToolGuard(shop, principal="test")
    listing = given("mcp__github__list")
    assert guard.decision(listing).reason == "not trusted"
    trust_servers()
    assert guard.decision(listing).is_available


def test_without_a_project_an_mcp_name_is_a_name_like_any_other() -> None:
    with ToolRegistry() as registry:
        guard = ToolGuard(registry, principal="test")
        assert guard.decide([given("mcp__mail__send")])[0].is_available


def test_the_next_step_names_the_tool_that_sets_a_workflow_state(shop: ToolRegistry) -> None:
    guard = ToolGuard(shop, principal="test")
    guard.decide([given("pay"), given("refund")])
    refusal = guard.call(given("refund"), {}).refuse()
    assert refusal is not None
    assert "`pay`" in refusal


@pytest.mark.parametrize(("top_k", "error"), [(51, ValueError), (0, ValueError), (1.5, TypeError)])
def test_a_limit_that_is_wrong_is_refused_at_once(
    shop: ToolRegistry, top_k: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"`top_k` must be .* 1 (to|and) 50, not"):
        ToolGuard(shop, principal="test", top_k=top_k)


def test_an_unknown_name_is_answered_with_available_tools_alone(shop: ToolRegistry) -> None:
    guard = ToolGuard(shop, principal="test")
    assert guard.unknown("nope") == "no tool is called `nope`"
    guard.know([framework_tool(name, None, {}, "test") for name in ("weather", "delete_shop")])
    assert guard.unknown("wether") == "no tool is called `wether`; did you mean `weather`?"
    assert guard.unknown("delete_shops") == "no tool is called `delete_shops`; available tools: `weather`"


def test_without_words_to_choose_by_every_tool_stays(shop: ToolRegistry) -> None:
    guard = ToolGuard(shop, principal="test", top_k=1)
    described = {"mail": given("mail", "Send mail."), "rain": given("rain", "Tell the weather.")}
    tools, describe = list(described), described.__getitem__
    assert guard.relevant(tools, describe, []) == tools
    assert guard.relevant(tools, describe, ["will it rain?"]) == ["rain"]
    assert guard.relevant(tools, describe, ["will it rain?"], used={"mail"}) == tools


def test_calls_are_recorded_with_their_outcomes_and_known_tools_are_counted(
    shop: ToolRegistry, sandbox: Sandbox
) -> None:
    sandbox.write(Path.cwd() / ".mcp.json", {"mcpServers": {"github": {"command": "npx"}}})
    with open_registry() as registry:
        registry.usage.report_tool("mcp__github__list", registry.at("."), description="Lists.")
    guard = ToolGuard(shop, principal="langchain", names={"list": "mcp__github__list"}.get)
    guard.call(given("list"), {"q": "x"}).succeeded("found 3")
    guard.call(given("weather"), {}).failed("no such city")
    assert guard.call(given("pay"), {"amount": 3}).refuse() is not None
    assert guard.call(given("ship"), {}).refuse() is not None
    assert recorded() == [
        ("langchain", "mcp__github__list", "done"),
        ("langchain", "weather", "failed"),
        ("langchain", "pay", "waiting"),
        ("langchain", "ship", "refused"),
    ]
    listed = sandbox.remit("calls", cwd=Path.cwd()).stdout
    assert "mcp__github__list" in listed
    used = json.loads(sandbox.remit("usage", "--json", cwd=Path.cwd()).stdout)
    assert [(each["name"], each["uses"]) for each in used["used"]] == [("mcp__github__list", 1)]


def test_a_call_that_a_person_denied_is_recorded_as_denied(shop: ToolRegistry, sandbox: Sandbox) -> None:
    guard = ToolGuard(shop, principal="pydantic-ai")
    guard.call(given("pay"), {"amount": 3}).deny()
    asked = guard.call(given("pay"), {"amount": 4})
    asked.settle(approve=False)
    assert asked.refuse() is not None
    guard.call(given("weather"), {}).deny()
    assert recorded() == [("pydantic-ai", "pay", "denied")] * 2
    listed = sandbox.remit("calls", cwd=Path.cwd())
    assert listed.stdout.count(" denied ") == 2
    assert "approv" not in listed.stdout


def test_commands_know_the_tools_that_an_application_called_here(
    shop: ToolRegistry, sandbox: Sandbox
) -> None:
    ToolGuard(shop, principal="langchain").call(given("ship"), {}).refuse()
    listed = sandbox.remit("calls", cwd=Path.cwd())
    assert "refused" in listed.stdout
    assert "remit why" not in listed.stderr
    why = sandbox.remit("why", "ship", cwd=Path.cwd())
    told = "called by a Python application here (langchain); its rules are decided there"
    assert (why.returncode, why.stdout) == (1, f"ship: {told}\n")
    assert "not known here" in sandbox.remit("why", "pay", cwd=Path.cwd()).stdout
    checked = sandbox.remit("policy", "check", cwd=Path.cwd()).stdout
    assert "`ship` matches no known tool" not in checked
    assert "`pay` matches no known tool" in checked


@pytest.mark.usefixtures("shop")
def test_without_a_project_nothing_is_recorded() -> None:
    with ToolRegistry() as registry:
        ToolGuard(registry, principal="test").call(given("weather"), {}).succeeded()
    assert recorded() == []


def test_a_store_that_cannot_be_written_does_not_stop_a_call(
    shop: ToolRegistry, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreError("locked")

    monkeypatch.setattr(shop, "record", fail)
    ToolGuard(shop, principal="test").call(given("weather"), {}).succeeded()
    assert "a call of `weather` could not be recorded: locked" in caplog.text
