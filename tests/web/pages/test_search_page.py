"""Search: the results of an agent's search, with their scores."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.builders import servers
from support.listed_tools import list_tools, tool
from support.sandbox import Sandbox
from support.web_pages import WebPages, web_pages

QUERY = "send an email to a customer"


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers("mail"))
    sandbox.write(shop / "remit.toml", '[servers.mail]\nblock = ["drop*"]\n')
    with sandbox.registry() as registry:
        tools = (
            tool("send", "Send an email to a customer."),
            tool("drop_emails", "Delete emails of a customer."),
        )
        list_tools(registry, shop, *tools, server="mail")
    return shop


@pytest.fixture
def pages(sandbox: Sandbox, shop: Path) -> Iterator[WebPages]:
    with web_pages(sandbox, shop) as made:
        yield made


@pytest.mark.long
@pytest.mark.parametrize("query", [QUERY, "zqxv wvutsr"])
def test_the_json_is_that_of_the_command(sandbox: Sandbox, shop: Path, pages: WebPages, query: str) -> None:
    with pages.browser() as browser:
        plain = browser.get("/search.json", params={"q": query}).json()
        everything = browser.get("/search.json", params={"q": query, "all": "1", "limit": "3"}).json()
    assert plain == json.loads(sandbox.remit("search", query, "--json", cwd=shop).stdout)
    options = ("--all", "--limit", "3", "--json")
    assert everything == json.loads(sandbox.remit("search", query, *options, cwd=shop).stdout)


def test_a_result_has_its_scores_by_words_and_by_meaning(pages: WebPages) -> None:
    with pages.browser() as browser:
        (match,) = browser.get("/search.json", params={"q": QUERY}).json()["matches"]
        page = browser.get("/search", params={"q": QUERY}).text
    assert match["words"] > 0
    assert 0.5 < match["meaning"] <= 1
    assert f"{match['meaning']:.2f}" in page


def test_hidden_tools_are_shown_only_if_asked_for(pages: WebPages) -> None:
    with pages.browser() as browser:
        assert "drop_emails" not in browser.get("/search", params={"q": QUERY}).text
        assert "drop_emails" in browser.get("/search", params={"q": QUERY, "all": "1"}).text


def test_without_a_query_the_page_explains_itself(pages: WebPages) -> None:
    with pages.browser() as browser:
        assert "Describe a task" in browser.get("/search").text
        assert browser.get("/search.json").json()["tools"] == []
