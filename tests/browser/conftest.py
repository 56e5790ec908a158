"""One browser for all tests, and a project with a rule, a state and two servers."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.builders import servers
from support.listed_tools import list_tools, tool
from support.sandbox import Sandbox
from support.web_pages import WebPages, web_pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser

if find_spec("playwright") is None:  # only `make test-web` installs it
    collect_ignore_glob = ["test_*.py"]

POLICY = """\
[states.ready]
file = "ready.txt"

[tools."mcp__deploy__*"]
states = ["ready"]

[tools."mcp__notes__wipe"]
ai_enabled = false
"""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from support.real_browser import chromium

    with chromium() as started:
        yield started


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers("notes", "deploy"))
    sandbox.write(shop / "remit.toml", POLICY)
    sandbox.write(
        shop / ".claude/agents/reviewer.md", "---\nname: reviewer\ndescription: Reviews.\n---\nReview."
    )
    with sandbox.registry() as registry:
        tools = (
            tool("read", "Read a note."),
            tool("wipe", "Delete every note."),
            tool("write", "Write a note."),
        )
        list_tools(registry, shop, *tools)
        list_tools(registry, shop, tool("release", "Release the shop to production."), server="deploy")
    return shop


@pytest.fixture
def pages(sandbox: Sandbox, shop: Path) -> Iterator[WebPages]:
    with web_pages(sandbox, shop) as made:
        yield made
