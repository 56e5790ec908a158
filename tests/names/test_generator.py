"""The story of the seed: names from code, labelled with scopes, served as the states allow."""

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, TextContent

from remit.names.generator import Generator
from support.forked_commands import fork_server
from support.sandbox import Sandbox

CLI = '''
"""A program with requirements and users."""

import sys
import time
from pathlib import Path

import click


@click.group()
def cli() -> None: ...


@cli.group()
def requirement() -> None:
    """Manage requirements."""


@requirement.command("list")
def list_requirements() -> None:
    """List the requirements."""
    for path in sorted(Path("requirements").glob("*.md")):
        click.echo(path.stem)


@requirement.command()
@click.argument("title")
@click.option("--text", default="")
@click.option("--draft", is_flag=True)
def create(title: str, text: str, draft: bool) -> None:
    """Create a requirement."""
    Path("requirements").mkdir(exist_ok=True)
    Path("requirements", f"{title}.md").write_text(text)
    click.echo(f"created {title}, draft {draft}")


@requirement.command()
def check() -> None:
    """Check the requirements."""
    click.echo("no title", err=True)
    sys.exit(3)


@requirement.command()
def watch() -> None:
    """Watch the requirements."""
    time.sleep(60)


@requirement.command()
def done() -> None:
    """Leave the requirement that is being edited."""


@cli.group()
def user() -> None:
    """Manage users."""


@user.command()
@click.argument("name")
def delete(name: str) -> None:
    """Delete a user."""
    Path("deleted").write_text(name)
'''

TOOLS = '''
from remit import location_scope, tool


@tool(name="publishPost", danger="low")
@location_scope(pages=["/blog", "/posts/**"])
def publish_post(title: str, copies: int = 1) -> dict[str, object]:
    """Publish a post."""
    print("printed beside the answer")
    return {"published": [title] * copies}
'''

STATES = """
[states.project-loaded]
description = "A supernal project is loaded"
file = "supernal.yaml"
[states.has-requirements]
directory = "requirements"
[states."project.requirements.editing"]
on = "requirement.create"
off = "requirement.list"
"""

SCOPES = """
[server]
timeout = 5

[tools."requirement.*"]
states = ["project-loaded"]
namespace = "requirement"

[tools."requirement.list"]
ai_enabled = true
danger = "safe"
states = ["has-requirements"]

[tools."requirement.create"]  # by hand
ai_enabled = true
danger = "moderate"
states = ["git-initialized"]

[tools."requirement.check"]
ai_enabled = true
[tools."requirement.watch"]
ai_enabled = true
when = "state('has-requirements') && git.branch == 'slow'"
[tools."requirement.done"]
ai_enabled = true
states = ["project.requirements"]

[tools."user.delete"]
ai_enabled = false
danger = "destructive"
"""


@pytest.fixture(name="supernal")
def supernal_project(sandbox: Sandbox) -> Path:
    """A project, and beside it the package whose commands work on it."""
    project = sandbox.project("shop", git=False)
    sandbox.write(project / "remit.toml", STATES)
    package = sandbox.root / "lib" / "supernal"
    sandbox.write(package / "__init__.py", "")
    sandbox.write(package / "cli.py", CLI)
    sandbox.write(package / "tools.py", TOOLS)
    sandbox.variables["PYTHONPATH"] = str(package.parent)
    return project


def generated(sandbox: Sandbox) -> Path:
    """Generate all three files, with the scopes that a person wrote."""
    made = sandbox.root / "made"
    made.mkdir(exist_ok=True)
    sandbox.write(made / "scopes.toml", SCOPES)
    generator = Generator()
    names, scopes, server = (str(made / name) for name in ("names.py", "scopes.toml", "server.py"))
    generator.write(generator.names(str(sandbox.root / "lib" / "supernal"), as_json=False), names)
    generator.write_scopes(generator.scopes(names, scopes), scopes)
    generator.write(generator.server(names, scopes), server)
    return made / "server.py"


def with_client(
    sandbox: Sandbox, command: Sequence[str], cwd: Path, use: Callable[[Client], Awaitable[None]]
) -> None:
    async def run() -> None:
        program, *words = command
        started = StdioServerParameters(command=program, args=words, env=sandbox.environment, cwd=str(cwd))
        with open(os.devnull, "w") as silence:
            async with Client(stdio_client(started, errlog=silence)) as client:
                await use(client)

    anyio.run(run)


async def listed(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


async def said(client: Client, tool: str, **arguments: object) -> tuple[bool, str]:
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return result.is_error, content.text


def test_commands_come_and_go_with_the_states_of_the_project(sandbox: Sandbox, supernal: Path) -> None:
    server = generated(sandbox)

    async def use(client: Client) -> None:
        assert await listed(client) == []
        is_error, text = await said(client, "requirement.create", title="R1")
        assert is_error
        assert text.startswith("`requirement.create`: state `project-loaded` does not hold")
        assert "supernal.yaml" not in text
        (supernal / "supernal.yaml").touch()
        assert await listed(client) == ["requirement.check"]
        (supernal / ".git").mkdir()
        assert await listed(client) == ["requirement.check", "requirement.create"]
        assert await said(client, "requirement.create", title="--draft", text="-x") == (
            False,
            "created --draft, draft False",
        )
        assert (supernal / "requirements" / "--draft.md").read_text() == "-x"
        assert await listed(client) == [
            "requirement.check",
            "requirement.create",
            "requirement.done",  # a requirement is being edited
            "requirement.list",
        ]
        assert await said(client, "requirement.list") == (False, "--draft")
        assert "requirement.done" not in await listed(client)
        assert await said(client, "requirement.check") == (
            True,
            "`requirement.check` exited with 3\nno title",
        )
        (supernal / "supernal.yaml").unlink()
        assert await listed(client) == []

    with_client(sandbox, fork_server().command(str(server)), supernal, use)


def test_what_is_not_for_agents_can_neither_be_seen_nor_called(sandbox: Sandbox, supernal: Path) -> None:
    server = generated(sandbox)

    async def use(client: Client) -> None:
        is_error, text = await said(client, "user.delete", name="ada")
        assert is_error
        assert "switched off for AI" in text
        with pytest.raises(MCPError, match=r"no tool is called `user\.create`"):
            await client.call_tool("user.create", {})

    with_client(sandbox, fork_server().command(str(server)), supernal, use)
    assert not (supernal / "deleted").exists()


@pytest.mark.long
def test_a_function_that_is_a_tool_is_served_on_its_pages(sandbox: Sandbox, supernal: Path) -> None:
    server = generated(sandbox)

    async def use(client: Client) -> None:
        assert await listed(client) == []
        pushed = json.dumps({"location": {"page": "/blog"}})
        assert sandbox.remit("state", "push", "--json", pushed, cwd=supernal).returncode == 0
        (tool,) = (await client.list_tools()).tools
        assert tool.name == "publishPost"
        assert tool.input_schema["required"] == ["title"]
        is_error, text = await said(client, "publishPost", title="x", copies=2)
        assert (is_error, json.loads(text)) == (False, {"published": ["x", "x"]})
        is_error, text = await said(client, "publishPost", title="x", copies="2")
        assert (is_error, text) == (True, "`copies` must be a whole number")

    with_client(sandbox, fork_server().command(str(server)), supernal, use)


@pytest.mark.long
def test_a_command_that_does_not_end_is_ended(sandbox: Sandbox, supernal: Path) -> None:
    server = generated(sandbox)
    server.write_text(server.read_text().replace('"timeout": 5.0', '"timeout": 0.5'))
    sandbox.write(supernal / ".git" / "HEAD", "ref: refs/heads/slow\n")
    sandbox.write(supernal / "supernal.yaml", "")
    sandbox.write(supernal / "requirements" / "R1.md", "")

    async def use(client: Client) -> None:
        assert await said(client, "requirement.watch") == (
            True,
            "`requirement.watch` did not end within 0.5 s",
        )
        assert "requirement.list" in await listed(client)

    with_client(sandbox, fork_server().command(str(server)), supernal, use)


@pytest.mark.usefixtures("supernal")
def test_generated_files_are_the_same_bytes_each_time_and_on_each_machine(sandbox: Sandbox) -> None:
    server = generated(sandbox)
    made = {path.name: path.read_bytes() for path in server.parent.iterdir()}
    assert set(made) == {"names.py", "scopes.toml", "server.py"}
    assert made["scopes.toml"].startswith(SCOPES.encode())
    assert not any(str(sandbox.root).encode() in data for data in made.values())
    elsewhere = sandbox.root / "elsewhere"
    (sandbox.root / "lib").rename(elsewhere)
    for words in (
        ["generate", str(elsewhere / "supernal"), "--out", "names.py"],
        ["label", "names.py"],
        ["server", "names.py", "scopes.toml", "--out", "server.py"],
    ):
        assert sandbox.remit("names", *words, "--check", cwd=server.parent).returncode == 0
        assert "is up to date" in sandbox.remit("names", *words, cwd=server.parent).stdout
    assert {path.name: path.read_bytes() for path in server.parent.iterdir()} == made
