"""A generated server: a command that needs approval runs when a person said yes."""

from pathlib import Path
from typing import Any, Literal

import anyio
import mcp_types as types
import pytest
from mcp import Client

from remit.bootstrap import open_registry
from remit.names.command_server import tools_of
from remit.python_tools.tool_registry import ToolRegistry
from remit.python_tools.tool_server import server_of
from support.sandbox import Sandbox

SERVER: dict[str, Any] = {"name": "supernal", "command": [], "timeout": 30}
TOOLS: dict[str, Any] = {
    "requirement.create": {
        "start": "function",
        "target": "commands.requirement.create:create",
        "words": [],
        "description": "Create a requirement.",
        "parameters": [{"name": "title", "form": "keyword", "is_required": True}],
        "scopes": [{"ai_enabled": True, "danger": "moderate", "approval": True}],
    }
}


@pytest.fixture
def supernal(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = sandbox.project("supernal")
    source = sandbox.write(
        project / "src/commands/requirement/create.py", "def create(title):\n    return f'created {title}'\n"
    )
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(source.parents[2]))
    return project


async def said(client: Client) -> types.CallToolResult:
    result = await client.call_tool("requirement.create", {"title": "Log in"})
    assert isinstance(result, types.CallToolResult)
    return result


def text(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@pytest.mark.long
@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_a_command_that_needs_approval_is_asked_about_and_runs_once(
    supernal: Path, era: Literal["legacy", "auto"]
) -> None:
    async def person(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:  # noqa: ARG001
        assert '{"title": "Log in"}' in params.message
        return types.ElicitResult(action="accept", content={"approve": True})

    async def story() -> None:
        with ToolRegistry(project=str(supernal)) as registry:
            for tool in tools_of(SERVER, TOOLS):
                registry.add(tool)
            async with Client(server_of(registry, name="supernal"), mode=era) as client:
                waiting: dict[str, Any] = (await said(client)).structured_content or {}
                assert waiting["error"] == "approval_required"
                with open_registry() as store:
                    store.approvals.answer(waiting["approval"], store.at(str(supernal)), approve=True)
                assert text(await said(client)) == "created Log in"
                assert (await said(client)).is_error
            asking = Client(server_of(registry, name="supernal"), mode=era, elicitation_callback=person)
            async with asking as client:
                assert text(await said(client)) == "created Log in"

    anyio.run(story)
