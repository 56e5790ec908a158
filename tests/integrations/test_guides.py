"""The program of each framework's guide, run as it stands with a scripted model."""

import os
import re
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.openai_model import offered, openai_model, turns
from support.processes import server_command
from support.sandbox import Sandbox
from support.scripted_model import Request, ToolCall

GUIDES = Path(__file__).parents[2] / "docs/guides"


def block(page: str, language: str) -> str:
    """Return the first block of code in a language on a page."""
    text = (GUIDES / page).read_text(encoding="utf-8")
    found = re.search(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert found is not None, f"{page} has no block of {language}"
    return found[1]


@pytest.mark.parametrize(
    ("framework", "page"),
    [("langchain", "langchain.md"), ("pydantic_ai", "pydantic-ai.md"), ("agents", "openai-agents.md")],
)
@pytest.mark.parametrize(("answer", "is_published"), [("y", True), ("n", False)])
def test_the_guides_program_publishes_only_after_a_yes(
    sandbox: Sandbox, framework: str, page: str, answer: str, is_published: bool
) -> None:
    if find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed; `make test-frameworks` installs it")
    root = sandbox.project("blog")
    sandbox.write(root / "remit.toml", block(page, "toml"))
    program = sandbox.write(root / "program.py", block(page, "python"))
    heard: list[Request] = []

    def script(asked: Request) -> ToolCall | None:
        heard.append(asked)
        return ToolCall("publish", {"title": "Hello"}) if turns(asked) == 0 else None

    with openai_model(script, said="I am done.") as url:
        ran = subprocess.run(
            [sys.executable, program],
            cwd=root,
            env={**sandbox.environment, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"},
            input=f"{answer}\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    assert "publish" in ran.stdout
    assert ran.stdout.rstrip().endswith("I am done.")
    assert [offered(asked) for asked in heard] == [["publish"], ["publish"]]
    assert ("Published Hello" in str(heard[-1])) is is_published


def test_the_openai_agents_program_uses_trusted_servers_through_the_gateway(sandbox: Sandbox) -> None:
    if find_spec("agents") is None:
        pytest.skip("OpenAI Agents is not installed; `make test-frameworks` installs it")
    root = sandbox.project("shop")
    command, *arguments = server_command("by_hand.py")
    sandbox.write(root / ".mcp.json", {"mcpServers": {"time": {"command": command, "args": arguments}}})
    program = sandbox.write(root / "program.py", block("gateway.md", "python"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{sandbox.environment['PATH']}"
    own = {"HOME": str(sandbox.home), "PATH": path}  # the SDK passes no other variables to a server
    run = partial(
        subprocess.run,
        cwd=root,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    for prepare in (["trust", "--all", "--yes"], ["scan", "--connect", "--headless"]):
        prepared = run(["remit", *prepare], env=own)
        assert prepared.returncode == 0, prepared.stderr
        assert f"$ remit {' '.join(prepare)}\n" in (GUIDES / "gateway.md").read_text(encoding="utf-8")
    heard: list[Request] = []

    def script(asked: Request) -> ToolCall | None:
        heard.append(asked)
        return ToolCall("time__echo", {"text": "noon"}) if turns(asked) == 0 else None

    with openai_model(script, said="It is noon.") as url:
        environment = {**own, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
        ran = run([sys.executable, program], env=environment)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.rstrip().endswith("It is noon.")
    assert "time__echo" in offered(heard[0])
    assert "noon" in str(heard[-1])


@pytest.mark.parametrize(
    "page", ["fastmcp.md", "gateway.md", "langchain.md", "openai-agents.md", "pydantic-ai.md"]
)
def test_a_guides_program_is_short(page: str) -> None:
    assert len(block(page, "python").splitlines()) <= 30


@pytest.mark.anyio
async def test_the_guides_fastmcp_server_asks_before_it_publishes(sandbox: Sandbox) -> None:
    fastmcp = pytest.importorskip("fastmcp", reason="FastMCP is not installed")
    from fastmcp.client.transports import StdioTransport

    root = sandbox.project("blog")
    sandbox.write(root / "remit.toml", block("fastmcp.md", "toml"))
    sandbox.write(root / "server.py", block("fastmcp.md", "python"))

    async def answer(message: str, *_: object) -> dict[str, bool]:
        assert "publish" in message
        return {"approve": True}

    environment = {**sandbox.environment, "FASTMCP_SHOW_SERVER_BANNER": "false"}
    transport = StdioTransport(sys.executable, ["server.py"], cwd=str(root), env=environment)
    async with fastmcp.Client(transport, elicitation_handler=answer) as client:
        assert {tool.name for tool in await client.list_tools()} == {"search_tools", "call_tool"}
        found = await client.call_tool("search_tools", {"query": "put an article online"})
        assert [each["name"] for each in found.structured_content["result"]] == ["publish"]
        called = {"name": "publish", "arguments": {"title": "Hello"}}
        assert (await client.call_tool("call_tool", called)).content[0].text == "Published Hello"
        hidden = await client.call_tool("delete_blog", {}, raise_on_error=False)
        assert hidden.is_error
        assert "by policy" in hidden.content[0].text
