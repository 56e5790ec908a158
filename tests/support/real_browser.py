"""Debian's Chromium, driven by Playwright: pages that must not report an error or break their policy."""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from support.web_pages import WebPages

AXE = Path(os.environ.get("REMIT_TEST_AXE", "/nowhere"))  # the file of axe-core
CHROMIUM = shutil.which("chromium")
REASON = "`make test-web` installs Chromium and runs this"
SECONDS = 20_000  # milliseconds to wait for anything: other tests may run beside this one

_REPORT_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
"""


@contextmanager
def chromium() -> Generator[Browser]:
    if CHROMIUM is None:
        pytest.skip(REASON)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, pages: WebPages, **options: Any) -> Generator[Page]:
    """Open the one-time link in a browser of its own, and fail if its pages report an error."""
    with watched(browser, **options) as page:
        page.goto(pages.link())
        yield page


@contextmanager
def watched(browser: Browser, **options: Any) -> Generator[Page]:
    """Open a page in a browser of its own, and fail if it reports an error."""
    faults: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
    context.set_default_timeout(SECONDS)
    context.add_init_script(_REPORT_VIOLATIONS)
    _listen(context, faults)
    try:
        yield context.new_page()
    finally:
        context.close()
    assert not faults, faults  # an assertion of pytest is not rewritten here


def _listen(context: BrowserContext, faults: list[str]) -> None:
    context.on("console", lambda said: faults.append(said.text) if _is_fault(said) else None)
    context.on("weberror", lambda error: faults.append(str(error.error)))
    context.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))


def _is_fault(said: ConsoleMessage) -> bool:
    """Whether a page reports an error; one that is left while it asks for news aborts that request."""
    return said.type == "error" and not said.text.startswith(("htmx:sendAbort", "htmx:afterRequest"))


def serious_findings(page: Page) -> list[str]:
    """Scan a page with axe-core, and name what is serious or worse."""
    if not AXE.exists():
        pytest.skip(REASON)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
