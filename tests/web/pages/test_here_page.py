"""Here: what it lists, as `remit tools --all` does, and what it does with names from hostile files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.builders import servers
from support.sandbox import Sandbox
from support.web_pages import WebPages, web_pages

POLICY = """\
[states.ready]
file = "ready.txt"

[tools."mcp__git__*"]
states = ["ready"]

[servers.files]
block = ["*"]
"""


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers("git", "files", "mail"))
    sandbox.write(shop / "remit.toml", POLICY)
    sandbox.write(shop / ".claude/commands/deploy.md", "Deploy it.")
    return shop


@pytest.fixture
def pages(sandbox: Sandbox, shop: Path) -> Iterator[WebPages]:
    with web_pages(sandbox, shop) as made:
        yield made


def listed(sandbox: Sandbox, shop: Path, *options: str) -> dict[str, Any]:
    return json.loads(sandbox.remit("tools", "--all", "--json", *options, cwd=shop).stdout)


def test_the_json_is_that_of_the_command(sandbox: Sandbox, shop: Path, pages: WebPages) -> None:
    with pages.browser() as browser:
        assert browser.get("/here.json").json() == listed(sandbox, shop)
        for option in ("--client=all", "--mode=plan"):
            name, value = option.removeprefix("--").split("=")
            assert browser.get("/here.json", params={name: value}).json() == listed(sandbox, shop, option)


def test_a_change_shows_at_once(sandbox: Sandbox, shop: Path, pages: WebPages) -> None:
    with pages.browser() as browser:
        before = browser.get("/here.json").json()
        sandbox.write(shop / "ready.txt", "")
        after = browser.get("/here.json").json()
    assert (before["states"]["ready"], after["states"]["ready"]) == (False, True)
    assert after == listed(sandbox, shop)


def test_a_hidden_tool_is_listed_with_its_gate_and_reason(pages: WebPages) -> None:
    with pages.browser() as browser:
        page = browser.get("/here").text
    assert '<span class="chip gate">policy</span>' in page
    assert '<span class="chip gate">state</span>' in page
    assert "remit.toml line 8" in page


def test_the_filter_finds_words_of_names_and_reasons(pages: WebPages) -> None:
    with pages.browser() as browser:
        found = browser.get("/here", params={"q": "POLICY files"}, headers={"hx-request": "true"}).text
        assert "<html" not in found
        assert ("files" in found, "mail" in found, "<b>1</b> match" in found) == (True, False, True)
        assert "No tool matches." in browser.get("/here", params={"q": "no such thing"}).text


def test_hidden_and_available_tools_can_be_shown_alone(pages: WebPages) -> None:
    with pages.browser() as browser:
        hidden = browser.get("/here.json", params={"show": "hidden"}).json()["tools"]
        available = browser.get("/here.json", params={"show": "available"}).json()["tools"]
    assert {tool["verdict"] for tool in hidden} == {"hidden"}
    assert "hidden" not in {tool["verdict"] for tool in available}


def test_a_client_agent_or_mode_that_does_not_exist_is_an_error_with_a_hint(pages: WebPages) -> None:
    with pages.browser() as browser:
        for params in ({"client": "nope"}, {"agent": "nope"}, {"mode": "nope"}):
            assert browser.get("/here", params=params).status_code == 400
            assert "nope" in browser.get("/here.json", params=params).json()["error"]


@pytest.mark.long
def test_long_lists_are_paged(sandbox: Sandbox, shop: Path) -> None:
    for number in range(200):
        sandbox.write(shop / f".claude/commands/command{number:03}.md", "Do it.")
    with web_pages(sandbox, shop) as pages, pages.browser() as browser:
        first, second = browser.get("/here").text, browser.get("/here", params={"page": "2"}).text
        beyond = browser.get("/here", params={"page": "999"}).text
    assert "1 to 150 of 204" in first
    assert "151 to 204 of 204" in second
    assert "151 to 204 of 204" in beyond


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><img src=x>', "a\u202eb\u200bc", "x\x1b[2Jy"]
)
def test_hostile_names_are_shown_as_text(sandbox: Sandbox, shop: Path, name: str) -> None:
    sandbox.write(shop / ".mcp.json", servers(**{name: {"command": "true"}}))
    with web_pages(sandbox, shop) as pages, pages.browser() as browser:
        page = browser.get("/here").text
    assert name not in page
    assert not {*"\u202e\u200b\x1b"} & {*page}


def test_one_tool_needs_approval(sandbox: Sandbox, shop: Path, pages: WebPages) -> None:
    sandbox.write(shop / "remit.toml", '[tools."/deploy"]\napproval = true\n')
    with pages.browser() as browser:
        assert "<b>1</b> needs approval" in browser.get("/here").text
