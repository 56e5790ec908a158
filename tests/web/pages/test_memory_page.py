"""Memory in the browser: a list, a search, one artifact, and what a person does about it."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from remit.memory.memory_scopes import memory_id
from support.memory_calls import decide, start
from support.sandbox import Sandbox
from support.web_pages import form, unlock, web_pages


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    with sandbox.memory() as memory:
        id = memory_id(memory.workspace.project)
        start(memory, id)
        decide(memory, id, "Use SQLite <i>", "It is one file")
    return path


@pytest.fixture
def browser(sandbox: Sandbox, shop: Path) -> Iterator[httpx2.Client]:
    with web_pages(sandbox, shop) as pages, pages.browser() as client:
        unlock(client)
        yield client


def decision(client: httpx2.Client) -> str:
    (found,) = client.get("/memory.json?kind=decision").json()["artifacts"]
    return found["id"]


def act(client: httpx2.Client, **fields: str) -> httpx2.Response:
    return client.post("/memory/act", **form(client, "/memory", **fields))


def test_the_page_has_the_same_artifacts_as_the_command(
    sandbox: Sandbox, shop: Path, browser: httpx2.Client
) -> None:
    told = json.loads(sandbox.remit("memory", "list", "--json", cwd=shop).stdout)
    assert browser.get("/memory.json").json() == told
    assert "Use SQLite &lt;i&gt;" in browser.get("/memory").text
    shown = json.loads(sandbox.remit("memory", "show", decision(browser), "--json", cwd=shop).stdout)
    assert browser.get(f"/memory.json?id={decision(browser)}").json() == {**shown, "history": []}


def test_a_search_finds_artifacts_with_their_scores(browser: httpx2.Client) -> None:
    page = browser.get("/memory?q=sqlite", headers={"hx-request": "true"}).text
    assert "Use SQLite" in page
    assert "Score" in page
    assert "Nothing matches" in browser.get("/memory?q=sqlite&kind=entity").text


def test_a_correction_keeps_the_former_text_in_the_history(browser: httpx2.Client) -> None:
    done = act(
        browser,
        id=decision(browser),
        do="correct",
        **{"field.title": "Use PostgreSQL", "field.rationale": "It is one file"},
    )
    assert done.status_code == 303
    told = browser.get(f"/memory.json?id={decision(browser)}").json()
    assert told["content"]["title"] == "Use PostgreSQL"
    assert [each["content"]["title"] for each in told["history"]] == ["Use SQLite <i>"]
    assert "History" in browser.get(done.headers["location"]).text


def test_an_artifact_is_expired_confirmed_and_deleted(browser: httpx2.Client) -> None:
    id = decision(browser)
    assert act(browser, id=id, do="expire").status_code == 303
    assert browser.get("/memory.json?kind=decision").json()["artifacts"] == []
    assert len(browser.get("/memory.json?kind=decision&all=1").json()["artifacts"]) == 1
    assert act(browser, id=id, do="confirm").status_code == 303
    assert decision(browser) == id
    assert act(browser, id=id, do="delete").status_code == 303
    assert browser.get(f"/memory.json?id={id}").status_code == 400


def test_what_breaks_a_rule_is_refused_and_changes_nothing(browser: httpx2.Client) -> None:
    id = decision(browser)
    assert act(browser, id=id, do="correct", **{"field.title": " "}).status_code == 400
    assert act(browser, id=id, do="explode").status_code == 400
    assert act(browser, id="decision-none", do="delete").status_code == 400
    assert decision(browser) == id
