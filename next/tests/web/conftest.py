"""A project with two servers of its user, one that it declares itself, and its pages."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.catalogs import World
from support.web_pages import WebPages, web_pages

RULES = """\
[states.ready]
file = "ready.txt"

[tools."mcp__deploy__*"]
states = ["ready"]

[tools."mcp__notes__wipe"]
ai_enabled = false

[tools."mcp__notes__write"]
approval = true
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path)
    monkeypatch.setenv("HOME", str(world.home))
    monkeypatch.delenv("REMIT_HOME", raising=False)
    world.servers("notes", "deploy")
    world.shared(RULES)
    world.lists(
        "notes",
        *(
            {"name": name, "description": f"{name.title()} a note.", "inputSchema": {"type": "object"}}
            for name in ("read", "wipe", "write")
        ),
    )
    world.lists("deploy", {"name": "release", "description": "Release the shop.", "inputSchema": {}})
    return world


@pytest.fixture
def pages(world: World) -> Iterator[WebPages]:
    with web_pages(world) as running:
        yield running


@pytest.fixture
def browser(pages: WebPages) -> Iterator[httpx2.Client]:
    with pages.browser() as client:
        yield client


def of_project(world: World, command: str = "npx") -> None:
    """Let the project declare a server, which its user approved in the client."""
    server = {"command": command, "args": ["-y", "@acme/till"], "env": {"REGION": "eu"}}
    world.write(world.shop / ".mcp.json", json.dumps({"mcpServers": {"till": server}}))
    path = world.home / ".claude.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["projects"] = {
        str(world.shop): {"enabledMcpjsonServers": ["till"], "hasTrustDialogAccepted": True}
    }
    world.write(path, json.dumps(settings))
