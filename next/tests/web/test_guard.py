"""Requests that are refused: without the cookie, for another host, of another page, with a used link."""

import hashlib
import socket
import time
from urllib.parse import urlsplit

import httpx2
from starlette.datastructures import Headers

from remit.web.guard import MAX_SESSIONS, cookie
from remit.web.pages import ACTIONS, PAGES
from support.web_pages import WebPages, form

PATHS = [
    *("/", "/static/page.css", "/events", "/nowhere", "/sign-out"),
    *(f"{page.path}{end}" for page in PAGES for end in ("", ".json")),
]
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def test_nothing_is_reachable_without_the_cookie(pages: WebPages) -> None:
    pages.link()
    for path in PATHS:
        answer = httpx2.get(f"{pages.url}{path}")
        assert (answer.status_code, "notes" in answer.text) == (401, False), path


def test_a_request_for_another_host_is_refused_before_anything_else(browser: httpx2.Client) -> None:
    port = browser.base_url.port
    for host in ("evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example"):
        headers = {"host": host, "origin": "http://evil.example"}
        assert browser.get("/here", headers=headers).status_code == 421, host
        assert httpx2.get(f"{browser.base_url}/here", headers={"host": host}).status_code == 421, host
    assert browser.get("/here", headers={"host": f"localhost:{port}"}).status_code == 200


def test_a_request_with_two_hosts_is_refused(pages: WebPages) -> None:
    port = urlsplit(pages.url).port
    with socket.create_connection(("127.0.0.1", port or 0)) as connection:
        host = f"Host: 127.0.0.1:{port}\r\n"
        connection.sendall(f"GET / HTTP/1.1\r\n{host}{host}Connection: close\r\n\r\n".encode())
        assert connection.recv(100).split()[1] in (b"400", b"421")


def test_a_request_of_another_page_is_refused_before_its_cookie_counts(browser: httpx2.Client) -> None:
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        assert browser.get("/here", headers={"origin": origin}).status_code == 403, origin
        assert httpx2.get(f"{browser.base_url}/here", headers={"origin": origin}).status_code == 403
    for site in ("cross-site", "same-site"):
        assert browser.get("/here.json", headers={"sec-fetch-site": site}).status_code == 403


def test_a_link_works_once_and_a_look_at_it_does_not_use_it_up(pages: WebPages) -> None:
    link = pages.link()
    assert httpx2.head(link).status_code == 401
    opened = httpx2.get(link)
    assert (opened.status_code, opened.headers["location"]) == (303, "/")
    replayed = httpx2.get(link)
    assert (replayed.status_code, "set-cookie" in replayed.headers) == (403, False)
    assert httpx2.get(f"{pages.url}/open/").status_code == 403


def test_a_new_link_ends_the_one_before_that_nobody_opened(pages: WebPages) -> None:
    first, second = pages.link(), pages.link()
    assert httpx2.get(first).status_code == 403
    assert httpx2.get(second).status_code == 303


def test_the_cookie_has_the_port_and_neither_scripts_nor_other_sites_get_it(pages: WebPages) -> None:
    link = pages.link()
    name, *traits = httpx2.get(link).headers["set-cookie"].split("; ")
    assert sorted(traits) == ["HttpOnly", "Path=/", "SameSite=Strict"]
    assert name.startswith(f"remit_{urlsplit(pages.url).port}=")
    assert link.rpartition("/")[2] not in name


def test_a_hostile_cookie_is_read_in_no_time() -> None:
    hostile = 'x="' + "\\" * 60_000 + "; remit_1=mine"
    began = time.monotonic()
    assert cookie(Headers({"cookie": hostile}), "remit_1") == "mine"
    assert time.monotonic() - began < 0.1


def test_the_oldest_session_ends_when_there_are_too_many(pages: WebPages) -> None:
    with pages.browser() as first:
        for _ in range(MAX_SESSIONS):
            httpx2.get(pages.link())
        assert first.get("/calls").status_code == 401


def test_every_answer_confines_its_page(browser: httpx2.Client) -> None:
    answers = [browser.get(path) for path in ("/", "/here.json", "/static/page.js", "/nowhere")]
    for answer in (*answers, httpx2.get(str(browser.base_url))):
        assert answer.headers["content-security-policy"] == CSP
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "same-origin"


def test_static_files_are_only_those_of_the_page(browser: httpx2.Client) -> None:
    assert browser.get("/static/page.css").status_code == 200
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/x"):
        assert browser.get(path).status_code == 404, path


def test_a_form_needs_the_origin_and_the_token_of_its_session(pages: WebPages) -> None:
    with pages.browser() as browser, pages.browser() as other:
        mine, foreign = form(browser), form(other)
        for path in ("/sign-out", *(action.path for action in ACTIONS)):
            assert browser.post(path, data=mine["data"]).status_code == 403, path
            assert browser.post(path, headers=mine["headers"]).status_code == 403, path
            assert browser.post(path, **foreign).status_code == 403, path
            assert browser.post(path, json=mine["data"], headers=mine["headers"]).status_code == 403, path
        assert browser.get("/calls").status_code == 200


def test_a_form_that_is_too_long_is_refused(browser: httpx2.Client) -> None:
    assert browser.post("/sign-out", **form(browser, text="x" * 2**18)).status_code == 403
    assert browser.get("/calls").status_code == 200


def test_a_session_ends_when_its_browser_signs_out(browser: httpx2.Client) -> None:
    kept = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    assert "Signed out" in browser.post("/sign-out", **form(browser)).text
    assert httpx2.get(f"{browser.base_url}/here", headers={"cookie": kept}).status_code == 401


def test_the_address_of_a_static_file_changes_with_its_content(browser: httpx2.Client) -> None:
    style = next(part for part in browser.get("/").text.split('"') if part.startswith("/static/page.css"))
    answer = browser.get(style)
    digest = hashlib.sha256(answer.content).hexdigest()
    assert digest.startswith(style.partition("?v=")[2])
    assert "immutable" in answer.headers["cache-control"]
