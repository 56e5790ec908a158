"""A draft of the rules in the browser, written and undone."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from remit.web.pages.simulate_page import digest_of
from support.builders import servers
from support.sandbox import Sandbox
from support.web_pages import form, unlock, web_pages

RULES = 'block = ["mcp__till__*"]\n'


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    sandbox.write(path / ".mcp.json", servers("till"))
    sandbox.write(path / "remit.local.toml", "# mine\tand yours\n")
    return path


@pytest.fixture
def browser(sandbox: Sandbox, shop: Path) -> Iterator[httpx2.Client]:
    with web_pages(sandbox, shop) as pages, pages.browser() as client:
        yield client


def post(client: httpx2.Client, path: str, **fields: str) -> httpx2.Response:
    return client.post(path, **form(client, "/simulate", **fields))


def test_a_draft_shows_the_change_without_the_code_and_writes_nothing(
    browser: httpx2.Client, shop: Path
) -> None:
    assert "# mine\tand yours" in browser.get("/simulate").text
    before = (shop / "remit.local.toml").read_text()
    page = post(browser, "/simulate", layer="local", text=before + 'block = ["Bash"]').text
    assert "Disappears: 1 tool" in page
    assert "+block = [&#34;Bash&#34;]" in page
    assert "Write this change" not in page
    assert (shop / "remit.local.toml").read_text() == before


def test_a_draft_is_written_as_shown_and_undone(browser: httpx2.Client, shop: Path) -> None:
    file = shop / "remit.local.toml"
    before = file.read_text()
    unlock(browser)
    fields = {
        "layer": "local",
        "text": before.replace("\n", "\r\n") + RULES.strip(),
        "base": digest_of(before),
    }
    assert "Write this change" in post(browser, "/simulate", **fields).text
    assert post(browser, "/simulate/write", **fields).status_code == 303
    assert file.read_text() == before + RULES
    assert post(browser, "/simulate/write", **fields).status_code == 400  # it was made from another text
    page = browser.get("/simulate").text
    assert "Undo the last change written here" in page
    assert post(browser, "/simulate/undo").status_code == 303
    assert file.read_text() == before
    assert post(browser, "/simulate/undo").status_code == 400


@pytest.mark.parametrize("text", ['[states.s]\nkind = "capability"\ncommand = ["touch", "ran"]', "block = ["])
def test_what_cannot_be_simulated_cannot_be_written(browser: httpx2.Client, shop: Path, text: str) -> None:
    unlock(browser)
    before = (shop / "remit.local.toml").read_text()
    assert "The draft cannot be used" in post(browser, "/simulate", text=text).text
    assert post(browser, "/simulate/write", text=text, base=digest_of(before)).status_code == 400
    assert (shop / "remit.local.toml").read_text() == before
    assert not (shop / "ran").exists()


def test_a_form_of_another_page_is_refused(browser: httpx2.Client) -> None:
    sent = form(browser, "/simulate", text=RULES)
    sent["data"]["csrf"] = "x"
    assert browser.post("/simulate", **sent).status_code == 403
    assert post(browser, "/simulate/write", text=RULES).status_code == 403
