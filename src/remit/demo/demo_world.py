"""The world of `remit demo`: two projects, four servers and a policy in a temporary home."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

SERVER = Path(__file__).with_name("demo_server.py")
SETTINGS = {"env": {"ENABLE_TOOL_SEARCH": "false"}}  # the client sends every definition, as most do
POLICY = """\
token_budget = 500

[states.tests-passed]
kind = "workflow"
description = "The test suite passed"

[tools."mcp__deploy__release"]
states = ["tests-passed"]
approval = true

[tools."mcp__orders__refund_order"]
ai_enabled = false
"""
DATA: Mapping[str, list[dict[str, Any]]] = {
    "tickets": [
        {
            "number": 1,
            "title": "The shop shows yesterday's prices",
            "body": "Prices changed at midnight; the shop still shows the old ones.",
            "status": "open",
            "comments": [],
        },
        {
            "number": 2,
            "title": "Newsletter arrives twice",
            "body": "I get every newsletter twice.",
            "status": "closed",
            "comments": ["Fixed: the address was subscribed under two spellings."],
        },
    ],
    "orders": [
        {"number": 1001, "customer": "Ada Lovelace", "items": ["1 lamp"], "total": 49.0, "status": "shipped"},
        {"number": 1002, "customer": "Alan Turing", "items": ["2 chairs"], "total": 198.0, "status": "paid"},
    ],
    "deploy": [
        {"version": "2.2.0", "by": "release"},
        {"version": "2.3.0", "by": "release"},
    ],
    "articles": [
        {"title": "Why we moved", "text": "We outgrew the old office.", "status": "published"},
        {"title": "Our new shop", "text": "It opens in spring.", "status": "draft"},
    ],
}
_KEPT = ("PATH", "LANG", "LC_ALL", "TERM", "COLUMNS", "TMPDIR", "PYTHONPATH", "SYSTEMROOT", "PATHEXT", "TEMP")


class DemoWorld(NamedTuple):
    """A home directory of its own, with two projects."""

    home: Path

    @property
    def shop(self) -> Path:
        """The project with the tools `orders` and `deploy`, and a policy."""
        return self.home / "shop"

    @property
    def blog(self) -> Path:
        """The project with the tool `articles`."""
        return self.home / "blog"

    @property
    def environment(self) -> dict[str, str]:
        """The variables of every process in the demo: none that leads to the user's own files."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        homes = dict.fromkeys(("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"), str(self.home))
        return {**kept, **homes, "REMIT_HOME": str(self.home / ".remit"), "NO_COLOR": "1"}


def build_world(directory: Path) -> DemoWorld:
    """Write the demo's files into an empty directory."""
    world = DemoWorld(directory.resolve())
    for project in (world.shop, world.blog):
        (project / ".git").mkdir(parents=True)
    data = world.home / ".demo"
    data.mkdir()
    for name, records in DATA.items():
        _write(data / f"{name}.json", json.dumps(records))

    def servers(*names: str) -> dict[str, Any]:
        command = {"command": sys.executable}
        return {
            name: {**command, "args": ["-I", str(SERVER), name, str(data / f"{name}.json")]} for name in names
        }

    projects = {world.shop: servers("orders", "deploy"), world.blog: servers("articles")}
    _write(
        world.home / ".claude.json",
        json.dumps(
            {
                "mcpServers": servers("tickets"),
                "projects": {str(project): {"mcpServers": own} for project, own in projects.items()},
            },
            indent=2,
        ),
    )
    (world.home / ".claude").mkdir(exist_ok=True)
    _write(world.home / ".claude/settings.json", json.dumps(SETTINGS))
    _write(world.shop / "remit.toml", POLICY)
    return world


def _write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
