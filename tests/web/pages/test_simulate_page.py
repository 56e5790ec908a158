"""A draft of the rules in the browser, written and undone."""

import html
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from remit.web.pages.simulate_page import digest_of
from support.builders import servers
from support.listed_tools import list_tools, tool
from support.sandbox import Sandbox
from support.web_pages import CODE, fields_of, form, unlock, web_pages

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
    assert (shop / "remit.local.toml").read_text() == before


def test_the_code_beside_the_change_writes_the_draft_into_the_chosen_file(
    browser: httpx2.Client, shop: Path
) -> None:
    fields = {"layer": "project", "text": RULES, "base": digest_of("")}
    page = post(browser, "/simulate", **fields).text
    assert 'name="code"' in page.split('action="/simulate/write"', 1)[1].split("</form>", 1)[0]
    assert post(browser, "/simulate/write", **fields).status_code == 403
    refused = post(browser, "/simulate/write", **fields, code="WRONG")
    assert refused.status_code == 403
    retry = fields_of(refused.text, "/simulate/write")
    assert retry == {**fields, "csrf": retry["csrf"]}  # nothing has to be typed again
    done = post(browser, "/simulate/write", **retry, code=CODE, keeps_proof="yes")
    assert fields_of(done.text) == {}
    assert 'name="remit-proof"' in done.text  # for the next decision of this tab
    assert 'href="/simulate?layer=project"' in done.text
    assert (shop / "remit.toml").read_text() == RULES
    assert not (shop / "remit.local.toml").read_text().count("block")
    assert "Commit it" in browser.get("/simulate?layer=project").text


def test_the_code_in_the_header_keeps_the_draft_and_the_file(browser: httpx2.Client) -> None:
    page = post(browser, "/simulate", layer="project", text=RULES + "# \u202e<b>").text
    header = fields_of(page, "/code")
    assert (header["layer"], header["text"], header["next"]) == (
        "project",
        RULES + "# \u202e<b>",
        "/simulate",
    )
    wrong = browser.post("/code", **form(browser, "/here", **header, code="WRONG")).text
    assert fields_of(wrong, "/code") == header
    right = browser.post("/code", **form(browser, "/here", **header, code=CODE)).text
    again = fields_of(right, "/simulate")
    assert browser.post("/simulate", **form(browser, "/here", **again)).text.count("+block = ") == 1


def test_what_is_posted_again_after_the_code_decides_nothing(browser: httpx2.Client) -> None:
    sent = {"next": "/simulate/write", "text": RULES, "layer": "project"}
    page = browser.post("/code", **form(browser, "/here", **sent, code=CODE)).text
    assert 'action="/simulate"' in page
    assert "/simulate/write" not in page
    sent["next"] = "/waiting/call"
    assert "<form" not in browser.post("/code", **form(browser, "/here", **sent, code=CODE)).text


def test_a_pattern_that_matches_nothing_is_named_with_those_near(
    sandbox: Sandbox, browser: httpx2.Client, shop: Path
) -> None:
    with sandbox.registry() as registry:
        list_tools(registry, shop, tool("move_file"), server="till")
    page = html.unescape(post(browser, "/simulate", text='block = ["move_file", "Bash"]').text)
    assert "<code>move_file</code> has no effect, because it does not name the tool's server" in page
    assert "<code>mcp__till__move_file</code>" in page
    assert "Disappears: 1 tool" in page


def test_an_empty_file_starts_with_an_example_of_this_project(
    sandbox: Sandbox, browser: httpx2.Client, shop: Path
) -> None:
    assert 'block = ["WebFetch"]' in drafted(browser.get("/simulate?layer=project").text)
    with sandbox.registry() as registry:
        list_tools(registry, shop, tool("sell"), server="till")
    example = drafted(browser.get("/simulate?layer=project").text)
    assert "What would change" not in post(browser, "/simulate", layer="project", text=example).text
    page = post(browser, "/simulate", layer="project", text=example.replace("# block", "block", 1)).text
    assert "Disappears: 1 tool" in page
    assert "mcp__till__sell" in page
    rest = example.replace("# block", "block", 1).replace("# [", "[").replace("# approval", "approval")
    assert "cannot be used" not in post(browser, "/simulate", layer="project", text=rest).text


def drafted(page: str) -> str:
    return html.unescape(page.split("<textarea", 1)[1].split(">\n", 1)[1].split("</textarea>", 1)[0])


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
