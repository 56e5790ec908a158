"""What people do on the pages: filter, follow a state, ask why, enter the code, sign out."""

import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from support.real_browser import opened
from support.sandbox import Sandbox
from support.web_pages import CODE, WebPages


def mark(page: Page) -> None:
    """Leave a mark that a reload would remove."""
    page.evaluate("window.notReloaded = true")


def is_marked(page: Page) -> bool:
    return page.evaluate("window.notReloaded === true")


def test_the_list_follows_what_is_typed(browser: Browser, pages: WebPages) -> None:
    with opened(browser, pages) as page:
        mark(page)
        expect(page.get_by_role("link", name="release")).to_be_visible()
        page.get_by_role("searchbox").press_sequentially("wipe")
        expect(page.get_by_role("link", name="release")).to_have_count(0)
        expect(page.get_by_role("link", name="wipe")).to_be_visible()
        expect(page.get_by_text("disabled in remit.toml line 8")).to_be_visible()
        assert page.url.endswith("q=wipe&show=&client=claude-code&agent=&mode=")
        assert is_marked(page)


def test_a_state_that_changes_changes_the_page_without_a_reload(
    sandbox: Sandbox, shop: Path, browser: Browser, pages: WebPages
) -> None:
    with opened(browser, pages) as page:
        mark(page)
        state = page.locator(".state", has_text="ready")
        expect(state).to_contain_text("false")
        sandbox.write(shop / "ready.txt", "")
        expect(state).to_contain_text("true")
        expect(page.locator("tr.visible", has_text="release")).to_be_visible()
        (shop / "ready.txt").unlink()
        expect(state).to_contain_text("false")
        assert is_marked(page)


def test_the_tools_of_another_agent_mode_or_client_are_chosen(browser: Browser, pages: WebPages) -> None:
    with opened(browser, pages) as page:
        page.get_by_label("Mode").select_option("plan")
        expect(page).to_have_url(re.compile("mode=plan"))
        page.get_by_label("Agent").select_option("reviewer")
        expect(page).to_have_url(re.compile("agent=reviewer"))
        page.get_by_role("link", name="Cost").click()
        assert "mode=plan" in page.url
        assert "agent=reviewer" in page.url


def test_a_hidden_tool_says_why_and_its_command_can_be_copied(browser: Browser, pages: WebPages) -> None:
    with opened(browser, pages, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.get_by_role("link", name="wipe").click()
        expect(page.locator(".path .stopped")).to_contain_text("policy")
        page.get_by_role("button", name="Copy").first.click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == "remit enable mcp__notes__wipe"


def test_the_code_of_the_terminal_lets_the_browser_decide(browser: Browser, pages: WebPages) -> None:
    with opened(browser, pages) as page:
        page.get_by_text("View only").click()
        page.get_by_label("Code from the terminal").fill(CODE.lower())
        page.get_by_role("button", name="Unlock").click()
        expect(page.get_by_text("may decide")).to_be_visible()
        expect(page.get_by_text("You can decide now")).to_be_visible()
        page.reload()
        expect(page.get_by_text("You can decide now")).to_have_count(0)
        expect(page.get_by_text("may decide")).to_be_visible()


def test_a_query_shows_scores_as_it_is_typed(browser: Browser, pages: WebPages) -> None:
    with opened(browser, pages) as page:
        page.get_by_role("link", name="Search").click()
        page.get_by_role("searchbox").press_sequentially("read a note")
        expect(page.get_by_role("row", name="mcp__notes__read")).to_be_visible()
        expect(page.get_by_role("columnheader", name="Meaning")).to_be_visible()


def test_after_signing_out_nothing_can_be_seen(browser: Browser, pages: WebPages) -> None:
    with opened(browser, pages) as page:
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Signed out")).to_be_visible()
        assert page.request.get(f"{pages.url}/here").status == 401


def test_a_whole_story_with_the_keyboard_alone(browser: Browser, pages: WebPages) -> None:
    with opened(browser, pages) as page:
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.type("wipe")
        expect(page.get_by_role("link", name="release")).to_have_count(0)
        tab_to(page, "wipe")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="mcp__notes__wipe")).to_be_visible()
        tab_to(page, "View only")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.type(CODE)
        page.keyboard.press("Enter")
        expect(page.get_by_text("may decide")).to_be_visible()
        tab_to(page, "Sign out")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Signed out")).to_be_visible()


def tab_to(page: Page, name: str) -> None:
    """Press Tab until what has the focus has a name."""
    for _ in range(60):
        if page.evaluate("document.activeElement.textContent.trim()") == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reaches {name}")
