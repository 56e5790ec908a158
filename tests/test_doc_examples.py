"""Every command that a page shows exists as it is written, and those that need no live server run."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from remit.cli.app import app
from support.builders import servers
from support.listed_tools import list_tools, tool
from support.sandbox import Sandbox

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
UNREAL = re.compile(r"[|…<>\[\]]|\.\.\.")  # stands for a choice or for something left out
NOT_RUN = {  # what they would do to this machine, or what they need of it
    "--watch": "runs until it is stopped",
    "api": "a team's project, which needs a real PostgreSQL",
    "approve": "asks about a call that waits",
    "credential": "has tests of its own, and reads what a person types",
    "eval": "reads a folder of tools of the reader's own",
    "install": "has tests of its own, with the real clients",
    "login": "signs in to a server",
    "names": "generates files from a program of the reader's own",
    "serve": "runs until it is stopped",
    "store": "has tests of its own, with a real PostgreSQL",
    "team": "has tests of its own, with a real PostgreSQL",
    "uninstall": "has tests of its own, with the real clients",
    "web": "runs until it is stopped",
}
SHOP = {
    ".mcp.json": servers("till", "scale", "postgres", "playwright", "github", "tracker", "notes"),
    ".claude/agents/auditor.md": "---\nname: auditor\ndescription: d\nmcpServers: [postgres]\n---\n",
    ".claude/agents/lead.md": "---\nname: lead\ndescription: d\nallowedAgents: [scout]\n---\n",
    ".claude/agents/scout.md": "---\nname: scout\ndescription: d\ninheritParentMcps: true\n---\n",
    "remit.toml": "[states.online]\npush = true\n",
    "tools.jsonl": json.dumps({"id": "1", "name": "read", "description": "Read a file."}) + "\n",
}


def _lines(page: Path) -> Iterator[str]:
    """Yield the command lines of a page: those after a prompt, and those in the text."""
    text = page.read_text(encoding="utf-8")
    for line in re.findall(r"^\$ (?:sudo )?(remit\b.*)$", text, re.MULTILINE):
        yield line.partition(" #")[0].partition(" | ")[0].strip()
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for span in re.findall(r"`(remit [a-z-][^`\n]*)`", prose):
        if not UNREAL.search(span):
            yield span


SHOWN = sorted({line for page in PAGES for line in _lines(page)})
RUN = [
    line
    for page in PAGES
    for line in re.findall(r"^\$ (remit\b[^#|\n]*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    if not {*shlex.split(line)[1:]} & NOT_RUN.keys()
]


@pytest.mark.parametrize("line", SHOWN)
def test_a_command_that_a_page_shows_exists_with_its_options(line: str) -> None:
    arguments = shlex.split(line)[1:]
    with click.Context(app) as context:
        command: click.Command = app
        while isinstance(command, click.Group):
            name = next((each for each in arguments if not each.startswith("-")), None)
            if name is None:
                break
            found = command.get_command(context, name)
            assert found is not None, f"`{line}`: no command `{name}`"
            command = found
            arguments.remove(name)
        options = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    given = {each.partition("=")[0] for each in arguments if each.startswith("-") and each not in ("-", "--")}
    passes_on = command.context_settings.get(
        "ignore_unknown_options"
    )  # the rest is for a client's own command
    assert passes_on or given <= {*options, "-C", "--help", "-h", "--version"}, f"`{line}`"


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    for name, content in SHOP.items():
        sandbox.write(path / name, content)
    with sandbox.registry() as registry:
        for name in ("mcp__github__delete_repository", "mcp__git__git_push"):
            registry.usage.report_tool(name, registry.at(str(path)))
    sandbox.remit("memory", "export", "--all", "--output", "memory.jsonl", cwd=path)
    return path


@pytest.mark.long
@pytest.mark.parametrize("line", sorted({line.strip() for line in RUN}))
def test_a_command_after_a_prompt_runs(sandbox: Sandbox, shop: Path, line: str) -> None:
    done = sandbox.remit(*shlex.split(line)[1:], cwd=shop)
    # 1: not found here, declined, or errors found, as the pages say. 2: a mistake in the command itself, or a
    # question that nobody can answer here.
    assert done.returncode in (0, 1) or "not a terminal" in done.stderr, f"`{line}`: {done.stderr}"
    assert "Traceback" not in done.stderr


def test_the_python_example_of_the_readme_runs_as_pasted(sandbox: Sandbox) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    sandbox.write_state("git")
    shop = sandbox.project("shop")
    with sandbox.registry() as registry:
        list_tools(registry, shop, tool("status", "Show the status."), server="git")
    example = f"import os\nos.chdir({str(shop)!r})\n{example}"
    lines = sandbox.python(example).splitlines()
    assert "mcp__git__status visible" in lines
    assert not any("*" in line for line in lines)
    assert lines[-1] == "[{'name': 'weather', 'description': 'Tell the weather.'}]"


def test_the_values_in_the_guide_to_python_tools_are_those_of_its_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs/guides/python-tools.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(import asyncio.*?)^```", text, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "supernal.yaml").touch()
    names: dict[str, object] = {}
    exec(example, names)  # noqa: S102 - the guide's own
    for expression, value in re.findall(
        r"^(registry\.\S+\)(?:\.\w+)*)  # ([\[\"].*)$", example, re.MULTILINE
    ):
        assert str(eval(expression, names)) == str(json.loads(value)), expression  # noqa: S307 - the same
