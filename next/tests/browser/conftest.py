"""One Chromium for all tests; what a page reports as an error fails its test. Skipped where there is none."""

import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.catalogs import World
from support.web_pages import WebPages, web_pages
from web.conftest import of_project, world

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

__all__ = ["world"]
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None or find_spec("playwright") is None:
    collect_ignore_glob = ["test_*.py"]

SECONDS = 20_000  # milliseconds to wait for anything
_REPORT_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
"""


@pytest.fixture(scope="session")
def chromium() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture
def pages(world: World) -> Iterator[WebPages]:
    of_project(world)
    with web_pages(world, has_memory=True) as running:
        yield running


@contextmanager
def opened(browser: "Browser", pages: WebPages, **options: Any) -> "Generator[Page]":
    """Open a one-time link in a browser of its own, and fail if its pages report an error."""
    faults: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
    context.set_default_timeout(SECONDS)
    context.add_init_script(_REPORT_VIOLATIONS)
    context.on("console", lambda message: faults.append(message.text) if _is_fault(message) else None)
    context.on("weberror", lambda error: faults.append(str(error.error)))
    context.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
    try:
        page = context.new_page()
        page.goto(pages.link())
        yield page
    finally:
        context.close()
    assert not faults, faults


def _is_fault(message: "ConsoleMessage") -> bool:
    """Return whether a page reports an error; one that is left while it asks for news aborts that request."""
    return message.type == "error" and not message.text.startswith(("htmx:sendAbort", "htmx:afterRequest"))


def axe() -> Path | None:
    """Return the file of axe-core, if `make test-outside` installed it."""
    path = os.environ.get("REMIT_TEST_AXE")
    return None if path is None else Path(path)
