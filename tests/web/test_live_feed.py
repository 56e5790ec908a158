"""Pages are told of changes, while they are open."""

from pathlib import Path

import pytest

from support.builders import servers
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


def test_the_page_ends_with_its_streams_open(sandbox: Sandbox, shop: Path) -> None:
    with web_pages(sandbox, shop) as pages, pages.browser() as browser:
        open_stream = browser.send(browser.build_request("GET", "/events"), stream=True)
        assert open_stream.status_code == 200
