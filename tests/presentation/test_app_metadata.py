"""The metadata of MCP Apps in tools and results."""

from typing import Any

import pytest

from remit.presentation.app_metadata import (
    has_app,
    is_for_app,
    is_for_model,
    page_of,
    readdressed,
    supports_apps,
)

PAGE = "ui://time/view.html"


def tool(**meta: object) -> dict[str, Any]:
    return {"name": "get-time", "_meta": meta}


@pytest.mark.parametrize(
    ("meta", "page"),
    [
        ({"ui": {"resourceUri": PAGE}}, PAGE),
        ({"ui/resourceUri": PAGE}, PAGE),
        ({"ui": {"resourceUri": PAGE}, "ui/resourceUri": "ui://old"}, PAGE),
        ({"ui": {"resourceUri": "https://elsewhere"}}, None),
        ({"ui": {"resourceUri": 5}}, None),
        ({"ui": "text"}, None),
        ({}, None),
    ],
)
def test_a_tool_names_its_page(meta: dict[str, object], page: str | None) -> None:
    assert page_of(tool(**meta)) == page


def test_who_may_call_a_tool_follows_from_its_visibility() -> None:
    assert [
        is_for_model(each) and is_for_app(each) for each in ({}, tool(), tool(ui={"visibility": []}))
    ] == [True] * 3
    only_app, only_model = tool(ui={"visibility": ["app"]}), tool(ui={"visibility": ["model"]})
    assert (is_for_model(only_app), is_for_app(only_app)) == (False, True)
    assert (is_for_model(only_model), is_for_app(only_model)) == (True, False)
    assert has_app(only_app)
    assert has_app(tool(**{"ui/resourceUri": PAGE}))
    assert not has_app(tool(other=1))


def test_a_new_address_of_a_page_changes_nothing_else() -> None:
    given = {
        **tool(**{"ui": {"resourceUri": PAGE, "visibility": ["app"]}, "ui/resourceUri": PAGE, "x": 1}),
        "a": 2,
    }
    made = readdressed(given, lambda _: "ui://other/view.html")
    assert made == {
        "name": "get-time",
        "a": 2,
        "_meta": {
            "ui": {"resourceUri": "ui://other/view.html", "visibility": ["app"]},
            "ui/resourceUri": "ui://other/view.html",
            "x": 1,
        },
    }
    assert readdressed(given, lambda page: page) is given
    old = readdressed(tool(**{"ui/resourceUri": PAGE}), lambda _: "ui://b")
    assert old["_meta"] == {"ui/resourceUri": "ui://b"}
    new = readdressed(tool(ui={"resourceUri": PAGE}), lambda _: "ui://b")
    assert new["_meta"] == {"ui": {"resourceUri": "ui://b"}}
    plain = tool(x=1)
    assert readdressed(plain, lambda _: "ui://b") is plain


def test_a_client_declares_that_it_shows_pages() -> None:
    declared = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}
    assert supports_apps(declared)
    assert not supports_apps({"extensions": {}})
    assert not supports_apps({})
