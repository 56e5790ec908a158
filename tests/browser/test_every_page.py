"""Every page in a real browser: it renders, fits, can be read by everybody, and trusts no name."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from attacks.ingredients.names import TRICKS
from remit.decision.tool_names import storable
from remit.web.site_pages import PAGES
from support.builders import servers
from support.listed_tools import list_tools, tool
from support.real_browser import opened, serious_findings
from support.sandbox import Sandbox
from support.web_pages import WebPages, web_pages

PATHS = [
    *(page.path for page in PAGES),
    "/why/notes",
    "/why/mcp__notes__wipe",
    "/why/nothing",
    "/search?q=write+a+note",
]


@pytest.mark.parametrize("width", [400, 1280, 2000])
def test_every_page_fits_its_window(browser: Browser, pages: WebPages, width: int) -> None:
    with opened(browser, pages) as page:
        page.set_viewport_size({"width": width, "height": 900})
        for path in PATHS:
            page.goto(pages.url + path)
            expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_has_a_serious_finding_of_axe(browser: Browser, pages: WebPages, theme: str) -> None:
    with opened(browser, pages, color_scheme=theme) as page:
        found: dict[str, list[str]] = {}
        for path in PATHS:
            page.goto(pages.url + path)
            found[path] = serious_findings(page)
    assert {path: findings for path, findings in found.items() if findings} == {}


def test_hostile_names_and_words_are_text(sandbox: Sandbox, shop: Path, browser: Browser) -> None:
    names = [storable(name) for name in TRICKS if name.strip()]
    sandbox.write(shop / ".mcp.json", servers("notes", **{name: {"command": "true"} for name in names}))
    with sandbox.registry() as registry:
        told = [tool(f"tool{number}", name * 3) for number, name in enumerate(names)]
        list_tools(
            registry, shop, *told, tool("img", '"><img src=x onerror=alert(1)><style>*{display:none}</style>')
        )
    with web_pages(sandbox, shop) as pages, opened(browser, pages) as page:
        for path in PATHS:
            page.goto(pages.url + path)
        page.goto(f"{pages.url}/here")
        expect(page.get_by_role("link", name="<script>alert(1)</script>").first).to_be_visible()
        page.get_by_role("searchbox").fill("onerror")
        expect(page.get_by_text("<img src=x onerror=alert(1)>")).to_be_visible()
        shown = page.inner_text("body")
    assert not {*"\u202e\u2066\u200b\ufeff\U000e0041\x1b\x9b"} & {*shown}


def test_pages_work_without_scripts(browser: Browser, pages: WebPages) -> None:
    with opened(browser, pages, java_script_enabled=False) as page:
        page.get_by_role("searchbox").fill("wipe")
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_text("1 match")).to_be_visible()
        page.get_by_role("link", name="wipe").click()
        expect(page.get_by_text("hidden by policy")).to_be_visible()
        for path in PATHS:
            page.goto(pages.url + path)
            expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
