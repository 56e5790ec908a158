"""Pages are told of changes, while they are open."""

import time
from pathlib import Path

import pytest

from support.builders import servers
from support.postgres import Databases, needs_postgres, open_everywhere
from support.sandbox import Sandbox
from support.web_pages import web_pages


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers("git"))
    return shop


def test_a_page_is_told_of_a_change_of_a_file(sandbox: Sandbox, shop: Path) -> None:
    with (
        web_pages(sandbox, shop) as pages,
        pages.browser() as browser,
        browser.stream("GET", "/events") as events,
    ):
        changes = (line for line in events.iter_lines() if line.startswith("data:"))
        assert next(changes) == "data: 1"  # something may have changed before the page listened
        sandbox.write(shop / "Makefile", "all:")
        assert next(changes) == "data: 2"


@pytest.mark.long
@needs_postgres
def test_a_page_is_told_of_a_change_in_a_shared_store_which_is_not_asked_in_between(
    sandbox: Sandbox, shop: Path, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = databases.create()
    open_everywhere(monkeypatch, address)
    with (
        web_pages(sandbox, shop) as pages,
        pages.browser() as browser,
        browser.stream("GET", "/events") as events,
    ):
        changes = (line for line in events.iter_lines() if line.startswith("data:"))
        assert next(changes) == "data: 1"
        databases.wait_for_silence(address, seconds=2, within=8)
        sandbox.write(shop / "remit.local.toml", '[states.editing]\nkind = "workflow"\n')
        assert next(changes) == "data: 2"
        assert sandbox.remit("state", "set", "editing", cwd=shop).returncode == 0
        began = time.monotonic()
        assert next(changes) == "data: 3"
        assert time.monotonic() - began < 1


@pytest.mark.long
def test_the_page_ends_with_its_streams_open(sandbox: Sandbox, shop: Path) -> None:
    with web_pages(sandbox, shop) as pages, pages.browser() as browser:
        open_stream = browser.send(browser.build_request("GET", "/events"), stream=True)
        assert open_stream.status_code == 200
