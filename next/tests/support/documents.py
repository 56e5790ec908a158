"""The documents: their code blocks, the commands in them, and a small world to run these in."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from support.servers import recorded

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TELLING = re.compile(r"mcp__[\w*-]+|`[^`\n]+`|\b(?:visible|hidden|asks first|available)\b")


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str


class Step(NamedTuple):
    """A command of a page, and what the page shows as its output."""

    command: str
    shown: str

    @property
    def telling(self) -> set[str]:
        """Return the names and verdicts that the real output must have, too."""
        return set(_TELLING.findall(self.shown))


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    for match in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield Block(match[1], match[2])


def steps(block: Block) -> Iterator[Step]:
    """Yield the commands of a `console` block, each with its output."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield Step(command, shown)


def commands(page: Path) -> Iterator[str]:
    """Yield every command of Remit in a page, in its blocks and in its sentences."""
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        if block.language == "console":
            yield from (step.command for step in steps(block))
        elif block.language == "sh":
            yield from block.text.splitlines()
    yield from re.findall(r"`(remit[^`\n]*)`", _BLOCK.sub("", text))


class World:
    """A home with a server of its user's, and a project with one of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.shop = home / "shop"
        (self.shop / ".git").mkdir(parents=True)
        (self.shop / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (home / ".claude").mkdir()
        tickets = self._server(
            "tickets",
            list_tickets="List the open support tickets.",
            close_ticket="Close a support ticket for good.",
        )
        orders = self._server(
            "orders", find_orders="Find the orders of a customer.", refund_order="Refund an order."
        )
        (home / ".claude.json").write_text(json.dumps({"mcpServers": {"tickets": tickets}}))
        (self.shop / ".mcp.json").write_text(json.dumps({"mcpServers": {"orders": orders}}))

    def _server(self, name: str, **tools: str) -> dict[str, object]:
        offer = [
            {"name": tool, "description": description, "inputSchema": {"type": "object"}}
            for tool, description in tools.items()
        ]
        path = self.home / f"{name}.json"
        path.write_text(json.dumps({"tools": offer}))
        return {"command": sys.executable, "args": [recorded.__file__, str(path)]}

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command of Remit in the project."""
        return self._python("-m", *shlex.split(command, comments=True))

    def run_program(self, text: str) -> subprocess.CompletedProcess[str]:
        """Run a program in the project."""
        path = self.shop / "program.py"
        path.write_text(text)
        return self._python(str(path))

    def _python(self, *words: str) -> subprocess.CompletedProcess[str]:
        kept = ("PATH", "PYTHONPATH", "SYSTEMROOT")
        variables = {name: os.environ[name] for name in kept if name in os.environ}
        if "PYTHONPATH" in variables:
            paths = map(os.path.abspath, variables["PYTHONPATH"].split(os.pathsep))
            variables["PYTHONPATH"] = os.pathsep.join(paths)
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.shop,
            env={**variables, "HOME": str(self.home)},
            capture_output=True,
            text=True,
        )

    def write(self, block: Block) -> None:
        """Write the configuration of a block that begins with the name of its file."""
        first, _, _ = block.text.partition("\n")
        if first == "# remit.toml":
            (self.shop / "remit.toml").write_text(block.text)
