"""How a framework's tools are held to a registry's decisions, without a framework."""

from pathlib import Path

from remit import ToolRegistry
from remit.integrations.tool_guard import ToolGuard, framework_tool
from remit.python_tools.decorators import DefinedTool
from support.sandbox import Sandbox


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
    decided = guard.decide([given(name) for name in (*names, "own")])
    assert [each.is_available for each in decided] == [True, False, False, True]
    assert [str(each.gate) for each in decided[1:3]] == ["policy", "scope"]


def test_without_a_project_an_mcp_name_is_a_name_like_any_other() -> None:
    with ToolRegistry() as registry:
        guard = ToolGuard(registry, principal="test")
        assert guard.decide([given("mcp__mail__send")])[0].is_available


def test_the_next_step_names_the_tool_that_sets_a_workflow_state(shop: ToolRegistry) -> None:
    guard = ToolGuard(shop, principal="test")
    guard.decide([given("pay"), given("refund")])
    refusal = guard.call(given("refund"), {}).refusal
    assert refusal is not None
    assert "`pay`" in refusal


def test_without_words_to_choose_by_every_tool_stays(shop: ToolRegistry) -> None:
    guard = ToolGuard(shop, principal="test", top_k=1)
    tools = [given("mail", "Send mail."), given("rain", "Tell the weather.")]
    assert guard.relevant(tools, []) == tools
    assert guard.relevant(tools, ["will it rain?"]) == tools[1:]
    assert guard.relevant(tools, ["will it rain?"], used={"mail"}) == tools
