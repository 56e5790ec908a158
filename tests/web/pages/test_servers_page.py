"""Servers: what is declared here, how it runs in this project's gateways, and what it wrote."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remit.gateway.transports.status_files import StatusFiles
from remit.upstream.oauth.token_store import FileTokenStore, StoredToken
from support.builders import servers
from support.sandbox import Sandbox
from support.web_pages import WebPages, web_pages

URL = "https://mcp.example.com/mcp"


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers("git"))
    sandbox.write(
        sandbox.home / ".claude.json", servers(tracker={"type": "http", "url": URL}, wiki={"command": "wiki"})
    )
    sandbox.write(shop / "remit.toml", '[servers.wiki]\nblock = ["*"]\n')
    return shop


@pytest.fixture
def pages(sandbox: Sandbox, shop: Path) -> Iterator[WebPages]:
    with web_pages(sandbox, shop) as made:
        yield made


def publish(sandbox: Sandbox, directory: Path, **upstream: Any) -> None:
    status: dict[str, Any] = {
        "server": "git",
        "health": "up",
        "calls": 3,
        "errors": 1,
        "p50_ms": 2.0,
        "p95_ms": 9.0,
        "failure": None,
        "hint": None,
        "restarts": 2,
        "output": [],
        **upstream,
    }
    endpoint = {"directory": str(directory), "client": "claude-code"}
    running = {"started_at": 1, "url": None, "endpoints": [endpoint], "upstreams": [status]}
    StatusFiles(str(sandbox.root / "data")).publish(running)


def test_the_json_is_that_of_the_command(sandbox: Sandbox, shop: Path, pages: WebPages) -> None:
    publish(sandbox, shop)
    with pages.browser() as browser:
        shown = browser.get("/servers.json").json()
    assert shown == json.loads(sandbox.remit("status", "--json", cwd=shop).stdout)
    assert [each["server"] for each in shown["servers"]] == ["git", "tracker", "wiki"]


def test_a_running_server_shows_its_health_restarts_and_times(
    sandbox: Sandbox, shop: Path, pages: WebPages
) -> None:
    publish(sandbox, shop, failure="was killed", health="down")
    with pages.browser() as browser:
        page = browser.get("/servers").text
    assert '<span class="chip stop">down</span>' in page
    assert "was killed" in page
    for label, count in (("calls", "3"), ("errors", "1"), ("restarts", "2"), ("p50, p95 ms", "2, 9")):
        assert f'data-label="{label}">{count}</td>' in page


def test_the_log_of_a_server_is_shown_as_text(sandbox: Sandbox, shop: Path, pages: WebPages) -> None:
    publish(sandbox, shop, output=["started", "<b>loud</b> \x1b[31mred"])
    with pages.browser() as browser:
        page = browser.get("/servers").text
    assert "Log of git" in page
    assert "started\n&lt;b&gt;loud&lt;/b&gt; \\x1b[31mred" in page


def test_the_gateway_of_another_project_is_not_shown(sandbox: Sandbox, pages: WebPages) -> None:
    publish(sandbox, sandbox.project("blog"))
    with pages.browser() as browser:
        page = browser.get("/servers").text
    assert "no gateway is running for this project" in page
    assert str(os.getpid()) not in page


def test_a_hidden_server_has_its_gate_and_reason(pages: WebPages) -> None:
    with pages.browser() as browser:
        page = browser.get("/servers").text
    assert '<span class="chip gate">policy</span>' in page


def test_a_remote_server_shows_whether_there_is_a_token(sandbox: Sandbox, pages: WebPages) -> None:
    tokens = FileTokenStore(str(sandbox.root / "data"))
    token: dict[str, Any] = {"token_endpoint": "https://example.com/token", "access_token": "x"}
    with pages.browser() as browser:

        def states() -> dict[str, str | None]:
            found = browser.get("/servers.json").json()["servers"]
            return {each["server"]: each["sign_in"] for each in found}

        assert states() == {"git": None, "tracker": "signed out", "wiki": None}
        tokens.save(URL, StoredToken(**token, expires_at=1.0))
        assert states()["tracker"] == "expired"
        tokens.save(URL, StoredToken(**token))
        assert states()["tracker"] == "signed in"


def test_a_server_that_is_no_longer_declared_and_remits_own_are_not_counted(
    sandbox: Sandbox, shop: Path, pages: WebPages
) -> None:
    sandbox.remit("install", "claude-code", "--yes", cwd=shop)
    sandbox.remit("uninstall", "claude-code", "--yes", cwd=shop)
    with pages.browser() as browser:
        assert "<b>3</b> declared here" in browser.get("/servers").text
        shown = {each["server"] for each in browser.get("/servers.json").json()["servers"]}
    assert shown == {"git", "tracker", "wiki"}
