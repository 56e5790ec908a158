"""Why: the gates, the declarations that compete, and what would change the decision."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.builders import servers
from support.sandbox import Sandbox
from support.web_pages import WebPages, web_pages

POLICY = """\
[tools."mcp__git__*"]
ai_enabled = false
"""


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", json.dumps(servers("git", "files"), indent=1))
    sandbox.write(shop / "remit.toml", POLICY)
    sandbox.write(shop / ".claude/commands/deploy.md", "Deploy it.")
    sandbox.write_state("files")
    return shop


@pytest.fixture
def pages(sandbox: Sandbox, shop: Path) -> Iterator[WebPages]:
    with web_pages(sandbox, shop) as made:
        yield made


@pytest.mark.long
@pytest.mark.parametrize("name", ["git", "mcp__git__status", "files", "/deploy", "Bash", "nothing"])
def test_the_json_is_that_of_the_command(sandbox: Sandbox, shop: Path, pages: WebPages, name: str) -> None:
    done = sandbox.remit("why", name, "--json", cwd=shop)
    with pages.browser() as browser:
        answer = browser.get(f"/why/{name.replace('/', '%2F')}.json")
    assert answer.json() == json.loads(done.stdout)
    assert (answer.status_code == 404) == (done.returncode == 1)


def test_the_gate_that_stopped_it_is_marked_and_those_after_it_are_not(pages: WebPages) -> None:
    with pages.browser() as browser:
        page = browser.get("/why/git").text
    assert page.count('<li class="stopped">') == 1
    assert '<li class="stopped"><span class="gate">policy</span>' in page
    assert page.count('<li class="later">') == 3
    assert "hidden by policy" in page


def test_competing_declarations_have_their_file_and_line(pages: WebPages) -> None:
    with pages.browser() as browser:
        page = browser.get("/why/files").text
    assert ".mcp.json line 6" in page
    assert "~/.claude.json line 1" in page
    assert page.count("counts</span>") == 1


def test_what_would_change_it_has_the_command_to_copy(pages: WebPages) -> None:
    with pages.browser() as browser:
        assert 'data-copy="remit enable' in browser.get("/why/git").text


def test_a_name_that_is_not_known_here_has_suggestions(pages: WebPages) -> None:
    with pages.browser() as browser:
        page = browser.get("/why/filed").text
    assert "no server listed here has it" in page
    assert 'href="/why/files"' in page


def test_a_tool_can_be_named_in_the_form(pages: WebPages) -> None:
    with pages.browser() as browser:
        assert "Name a tool" in browser.get("/why").text
        assert "hidden by policy" in browser.get("/why", params={"name": "git"}).text
        assert browser.get("/why.json", params={"name": "git"}).json()["gate"] == "policy"
