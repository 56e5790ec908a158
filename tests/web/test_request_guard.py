"""Requests that are refused: without the cookie, for another host, of another page, with a used link."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest

from remit.web.request_guard import CONTENT_SECURITY_POLICY
from remit.web.site_pages import ACTIONS, PAGES
from support.builders import servers
from support.sandbox import Sandbox
from support.web_pages import WebPages, form, web_pages

PATHS = [
    *("/", "/static/page.css", "/events", "/nowhere", "/code", "/sign-out"),
    *(f"{page.path}{end}" for page in PAGES for end in ("", ".json")),
]
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


@pytest.fixture
def pages(sandbox: Sandbox) -> Iterator[WebPages]:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers("git"))
    with web_pages(sandbox, shop) as made:
        yield made


def test_nothing_is_reachable_without_the_cookie(pages: WebPages) -> None:
    pages.link()
    for path in PATHS:
        answer = httpx2.get(f"{pages.url}{path}")
        assert (answer.status_code, "git" in answer.text) == (401, False), path


def test_a_request_for_another_host_is_refused(pages: WebPages) -> None:
    with pages.browser() as browser:
        for host in ("evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", ""):
            assert browser.get("/here", headers={"host": host}).status_code in (400, 421), host
        port = urlsplit(pages.url).port
        assert browser.get("/here", headers={"host": f"localhost:{port}"}).status_code == 200


def test_a_request_of_another_page_is_refused(pages: WebPages) -> None:
    with pages.browser() as browser:
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "https" + pages.url[4:]):
            assert browser.get("/here", headers={"origin": origin}).status_code == 403, origin
        for site in ("cross-site", "same-site"):
            assert browser.get("/here.json", headers={"sec-fetch-site": site}).status_code == 403


def test_a_link_works_once(pages: WebPages) -> None:
    link = pages.link()
    assert httpx2.get(link).status_code == 303
    replayed = httpx2.get(link)
    assert (replayed.status_code, "set-cookie" in replayed.headers) == (403, False)
    assert httpx2.get(f"{pages.url}/open/").status_code == 403


def test_looking_at_a_link_without_opening_it_does_not_use_it_up(pages: WebPages) -> None:
    link = pages.link()
    assert httpx2.head(link).status_code == 401
    assert httpx2.get(link).status_code == 303


def test_a_new_link_ends_the_one_before_that_nobody_opened(pages: WebPages) -> None:
    first = pages.link()
    second = pages.another_link()
    assert httpx2.get(first).status_code == 403
    assert httpx2.get(second).status_code == 303


def test_the_token_of_a_link_is_exchanged_for_a_cookie_that_scripts_and_other_sites_do_not_get(
    pages: WebPages,
) -> None:
    link = pages.link()
    answer = httpx2.get(link)
    assert answer.headers["location"] == "/"
    name, *traits = answer.headers["set-cookie"].split("; ")
    assert sorted(traits) == ["HttpOnly", "Path=/", "SameSite=Strict"]
    assert link.rpartition("/")[2] not in name


def test_every_answer_confines_its_page(pages: WebPages) -> None:
    assert CONTENT_SECURITY_POLICY == CSP
    with pages.browser() as browser:
        answers = [browser.get(path) for path in ("/", "/here.json", "/static/page.js", "/nowhere")]
    for answer in (*answers, httpx2.get(pages.url)):
        assert answer.headers["content-security-policy"] == CSP
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"


def test_static_files_are_only_those_of_the_page(pages: WebPages) -> None:
    with pages.browser() as browser:
        assert browser.get("/static/page.css").status_code == 200
        for path in (
            "/static/../web_app.py",
            "/static/%2e%2e/web_app.py",
            "/static/..%2fweb_app.py",
            "/static/x",
        ):
            assert browser.get(path).status_code == 404, path


def test_a_form_needs_the_origin_and_the_token_of_its_session(pages: WebPages) -> None:
    with pages.browser() as browser, pages.browser(pages.another_link()) as other:
        own, foreign = form(browser), form(other)
        for path in ("/sign-out", "/code", *(action.path for action in ACTIONS)):
            assert browser.post(path, data=own["data"]).status_code == 403, path
            assert browser.post(path, headers=own["headers"]).status_code == 403, path
            assert browser.post(path, **foreign).status_code == 403, path
            assert browser.post(path, json=own["data"], headers=own["headers"]).status_code == 403, path
        assert browser.get("/here").status_code == 200


def test_whatever_changes_something_needs_the_code(pages: WebPages) -> None:
    with pages.browser() as browser:
        for action in ACTIONS:
            assert "code" in browser.post(action.path, **form(browser)).text, action.path


def test_a_session_ends_when_its_browser_signs_out(pages: WebPages) -> None:
    with pages.browser() as browser:
        kept = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        assert "Signed out" in browser.post("/sign-out", **form(browser)).text
        assert httpx2.get(f"{pages.url}/here", headers={"cookie": kept}).status_code == 401
