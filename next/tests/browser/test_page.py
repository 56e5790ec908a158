"""The page in a real browser: it fits, can be read by everybody, follows changes, and works by keyboard."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.conftest import axe, opened
from remit.bootstrap import clock
from support.catalogs import World
from support.web_pages import WebPages

PATHS = [
    *("/overview", "/here", "/waiting", "/calls", "/search", "/search?q=read+a+note", "/doctor", "/memory"),
    *("/why/notes", "/why/mcp__notes__wipe", "/why/nothing", "/nowhere"),
]


@pytest.mark.parametrize("width", [360, 800, 1280, 2000])
def test_every_page_fits_its_window(chromium: Browser, pages: WebPages, width: int) -> None:
    with opened(chromium, pages) as page:
        page.set_viewport_size({"width": width, "height": 900})
        for path in PATHS[:-1]:
            page.goto(pages.url + path)
            expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path


@pytest.mark.skipif(axe() is None, reason="axe-core is not installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_finding_of_axe(chromium: Browser, pages: WebPages, scheme: str) -> None:
    script = axe()
    assert script is not None
    with opened(chromium, pages, color_scheme=scheme) as page:
        for path in PATHS[:-1]:
            page.goto(pages.url + path)
            page.evaluate(script.read_text(encoding="utf-8"))
            violations = page.evaluate("axe.run()")["violations"]
            serious = [
                f"{item['id']}: {item['nodes'][0]['html'][:200]}"
                for item in violations
                if item["impact"] in ("serious", "critical")
            ]
            assert serious == [], path


def test_pages_work_without_scripts(chromium: Browser, pages: WebPages) -> None:
    with opened(chromium, pages, java_script_enabled=False) as page:
        page.goto(f"{pages.url}/here")
        page.get_by_role("searchbox").fill("wipe")
        page.get_by_role("button", name="Apply").click()
        expect(page.locator(".match")).to_contain_text("1 match")
        page.get_by_role("link", name="wipe").click()
        expect(page.get_by_text("stopped here")).to_be_visible()
        page.goto(f"{pages.url}/waiting")
        page.get_by_role("button", name="Trust it as shown").click()
        expect(page.get_by_text("Trusted: till")).to_be_visible()


def test_the_list_follows_what_is_typed_and_the_slash_key_goes_there(
    chromium: Browser, pages: WebPages
) -> None:
    with opened(chromium, pages) as page:
        page.goto(f"{pages.url}/here")
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.type("wipe")
        expect(page.get_by_role("link", name="release")).to_have_count(0)
        expect(page.get_by_role("link", name="wipe")).to_be_visible()
        expect(page).to_have_url(re.compile("q=wipe"))


def test_a_state_that_changes_changes_the_page_without_a_reload(
    chromium: Browser, pages: WebPages, world: World
) -> None:
    with opened(chromium, pages) as page:
        page.goto(f"{pages.url}/here")
        page.evaluate("window.notReloaded = true")
        state = page.locator(".states div", has_text="ready")
        expect(state).to_contain_text("false")
        world.write(world.shop / "ready.txt", "")
        expect(state).to_contain_text("true")
        assert page.evaluate("window.notReloaded === true")


@pytest.mark.parametrize("path", ["/waiting", "/overview"])
def test_questions_stay_where_they_are_when_others_arrive_and_end(
    chromium: Browser, pages: WebPages, world: World, path: str
) -> None:
    world.now = clock()
    with opened(chromium, pages) as page:
        page.goto(pages.url + path)
        questions = page.locator(".question")
        expect(questions).to_have_count(1)
        ids = [ask(world, "pay 1")]
        expect(questions.filter(has_text="pay 1")).to_be_visible()
        button = questions.filter(has_text="pay 1").get_by_role("button", name="Approve this call")
        trust = page.get_by_role("button", name="Trust it as shown")
        places = button.bounding_box(), trust.bounding_box()
        ids.append(ask(world, "pay 2"))
        expect(questions.filter(has_text="pay 2")).to_be_visible()
        assert (button.bounding_box(), trust.bounding_box()) == places
        world.registry.approvals.answer(ids[0], world.here(), approve=False)
        expect(questions.filter(has_text="pay 1")).to_contain_text("no longer waiting")
        expect(button).to_be_disabled()
        assert trust.bounding_box() == places[1]


def ask(world: World, text: str) -> str:
    """Let an agent make a call that asks first."""
    world.now = clock()
    context = world.here(gateway=True)
    permit = world.registry.approvals.permit("mcp__notes__write", {"text": text}, context)
    assert permit.approval is not None
    return permit.approval.id


def test_a_command_is_copied(chromium: Browser, pages: WebPages) -> None:
    with opened(chromium, pages, permissions=["clipboard-read", "clipboard-write"]) as page:
        button = page.locator(".next button")
        command = button.get_attribute("data-copy")
        button.click()
        expect(button).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == command


def test_a_tab_in_the_background_gives_its_connection_back(chromium: Browser, pages: WebPages) -> None:
    with opened(chromium, pages) as page:
        page.evaluate("EventSource.prototype.close = function () { window.isClosed = true; }")
        page.evaluate(
            "Object.defineProperty(document, 'hidden', {value: true});"
            "document.dispatchEvent(new Event('visibilitychange'))"
        )
        assert page.evaluate("window.isClosed === true")


def test_a_whole_story_with_the_keyboard_alone(chromium: Browser, pages: WebPages) -> None:
    with opened(chromium, pages) as page:
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        tab_to(page, "Trust it as shown")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Trusted: till")).to_be_visible()
        tab_to(page, "Sign out")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Signed out")).to_be_visible()


def tab_to(page: Page, name: str) -> None:
    """Press Tab until what has the focus has a name."""
    for _ in range(80):
        if page.evaluate("document.activeElement.textContent.trim()") == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reaches {name}")
