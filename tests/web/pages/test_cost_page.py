"""Cost: tokens by server and tool, used and unused, before and after, and what to prune."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.usage.reports import DAY, PATIENCE
from support.builders import servers
from support.listed_tools import list_tools, tool
from support.sandbox import Sandbox
from support.web_pages import WebPages, web_pages


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    shop = sandbox.project("shop")
    sandbox.time = time.time_ns() // 1_000_000  # as for the commands
    sandbox.write(shop / ".mcp.json", servers("notes", "mail"))
    with sandbox.registry() as registry:
        list_tools(registry, shop, tool("read", "Read a note."), tool("write", "Write a note."))
        list_tools(registry, shop, tool("send", "Send mail. " * 9), server="mail")
        registry.usage.record("mcp__notes__read", registry.at(str(shop)))
    return shop


@pytest.fixture
def pages(sandbox: Sandbox, shop: Path) -> Iterator[WebPages]:
    with web_pages(sandbox, shop) as made:
        yield made


def test_the_json_is_that_of_usage_and_prune(sandbox: Sandbox, shop: Path, pages: WebPages) -> None:
    with pages.browser() as browser:
        shown = browser.get("/cost.json").json()
    prune = json.loads(sandbox.remit("prune", "--json", cwd=shop).stdout)
    assert shown.pop("prune") == {name: value for name, value in prune.items() if name != "file"}
    assert shown == json.loads(sandbox.remit("usage", "--json", cwd=shop).stdout)


def test_each_server_has_a_bar_of_what_was_used_and_what_never_was(pages: WebPages) -> None:
    with pages.browser() as browser:
        costs = {
            each["name"]: each["tokens"]
            for each in browser.get("/here.json").json()["tools"]
            if each["tokens"]
        }
        page = browser.get("/cost").text
    read, write = costs["mcp__notes__read"], costs["mcp__notes__write"]
    assert f'aria-label="{read} tokens used, {write} never used"' in page
    assert f'aria-label="0 tokens used, {costs["mcp__mail__send"]} never used"' in page
    assert page.index("mcp__mail__send") < page.index("mcp__notes__read")


def test_a_server_that_was_never_used_is_proposed_with_the_command(sandbox: Sandbox, shop: Path) -> None:
    sandbox.time += (PATIENCE + 1) * DAY
    with web_pages(sandbox, shop) as pages, pages.browser() as browser:
        page = browser.get("/cost").text
    assert "never used here, in 15 days" in page
    assert 'data-copy="remit prune"' in page


def test_without_a_known_cost_the_page_says_what_to_do(sandbox: Sandbox) -> None:
    blog = sandbox.project("blog")
    sandbox.write(blog / ".mcp.json", servers("git"))
    with web_pages(sandbox, blog) as pages, pages.browser() as browser:
        assert "remit scan --connect" in browser.get("/cost").text


@pytest.mark.parametrize(("client", "searches"), [("claude-code", True), ("cursor", False)])
def test_the_saving_is_compared_with_what_the_client_would_send(
    sandbox: Sandbox, shop: Path, client: str, searches: bool
) -> None:
    with web_pages(sandbox, shop, client=client) as pages, pages.browser() as browser:
        page = browser.get("/cost").text
    assert ("sends only the names of tools by default" in page) is searches
    assert ("<dt>Without Remit</dt>" in page) is not searches
