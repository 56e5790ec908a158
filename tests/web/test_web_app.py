"""The code and where it leads: back to the page where a person entered it."""

from collections.abc import Iterator

import httpx2
import pytest

from support.builders import servers
from support.sandbox import Sandbox
from support.web_pages import CODE, fields_of, form, web_pages


@pytest.fixture
def browser(sandbox: Sandbox) -> Iterator[httpx2.Client]:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers("till"))
    with web_pages(sandbox, shop) as pages, pages.browser() as client:
        yield client


def enter(browser: httpx2.Client, code: str, **fields: str) -> httpx2.Response:
    return browser.post("/code", **form(browser, **fields, code=code))


def test_the_right_code_after_a_wrong_one_returns_to_the_first_page(browser: httpx2.Client) -> None:
    first = fields_of(browser.get("/waiting?mode=plan").text, "/code")
    wrong = enter(browser, "WRONG", **first)
    assert wrong.status_code == 403
    assert wrong.text.count('name="next" value="/waiting?mode=plan"') == 2  # in both forms
    assert "Wrong code" in wrong.text
    right = enter(browser, CODE, **fields_of(wrong.text, "/code"))
    assert 'href="/waiting?mode=plan"' in right.text


@pytest.mark.long
@pytest.mark.parametrize("elsewhere", ["//evil.example", "https://evil.example", "/\\evil.example", ""])
def test_the_code_leads_to_no_other_site(browser: httpx2.Client, elsewhere: str) -> None:
    assert 'href="/"' in enter(browser, CODE, next=elsewhere).text


def test_a_decision_with_a_wrong_code_is_sent_again_with_the_right_one(browser: httpx2.Client) -> None:
    token = "0" * 64
    sent = form(browser, "/waiting", token=token, answer="accept", mode="plan", code="WRONG", proof="x")
    refused = browser.post("/waiting/trust", **sent).text
    again = fields_of(refused, "/waiting/trust")
    assert again == {"csrf": again["csrf"], "token": token, "answer": "accept", "mode": "plan"}
    assert 'name="next" value="/waiting?mode=plan"' in refused


def test_a_tab_with_the_proof_of_a_locked_session_is_told(browser: httpx2.Client) -> None:
    assert '<html lang="en" class="locked">' in browser.get("/here").text
    enter(browser, CODE)
    assert '<html lang="en">' in browser.get("/here").text


def test_without_a_terminal_no_page_asks_for_the_code(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    with web_pages(sandbox, shop, code=None) as pages, pages.browser() as browser:
        simulated = browser.post("/simulate", **form(browser, "/simulate", text='block = ["Bash"]')).text
        refused = browser.post("/simulate/write", **form(browser, "/simulate", text='block = ["Bash"]')).text
    assert "The change to the file" in simulated
    assert "runs without a terminal" in refused
    assert 'name="code"' not in simulated + refused
