"""The demo's servers do what their tools say."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from remit.demo.demo_server import DEFINITIONS, TOOLS, answer
from remit.demo.demo_world import DATA


class Served:
    """One of the servers, with data of its own."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name, self.data = name, directory / f"{name}.json"
        self.data.write_text(json.dumps(DATA[name]), "utf-8")

    def ask(self, method: str, **params: Any) -> Mapping[str, Any]:
        return answer({"method": method, "params": params}, self.name, self.data)

    def call(self, tool: str, **arguments: Any) -> str:
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return ("error: " if result.get("isError") else "") + result["content"][0]["text"]


def test_every_tool_that_is_listed_is_there_with_its_parameters() -> None:
    listed = json.loads(DEFINITIONS.read_text("utf-8"))
    assert {name: [tool["name"] for tool in tools] for name, tools in listed.items()} == {
        name: [tool.__name__ for tool in tools] for name, tools in TOOLS.items()
    }
    for name, tools in TOOLS.items():
        for tool, definition in zip(tools, listed[name], strict=True):
            taken = tool.__code__.co_varnames[1 : tool.__code__.co_argcount]
            assert {*definition["inputSchema"]["properties"]} == {*taken}, tool.__name__


def test_a_server_opens_lists_and_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    deploy = Served("deploy", tmp_path)
    assert deploy.ask("initialize")["result"]["serverInfo"]["name"] == "deploy"
    assert deploy.ask("ping")["result"] == {}
    assert len(deploy.ask("tools/list")["result"]["tools"]) == len(TOOLS["deploy"])
    assert deploy.ask("resources/list")["error"]["code"] == -32601
    assert deploy.call("explode") == "error: Unknown tool: explode"
    assert deploy.call("release").startswith("error: ")


def test_a_release_is_in_production_until_it_is_rolled_back(tmp_path: Path) -> None:
    deploy = Served("deploy", tmp_path)
    assert deploy.call("release", version="2.4.0") == "Released 2.4.0 to production. Before: 2.3.0."
    assert deploy.call("release", version="2.4.0") == "error: Production already runs 2.4.0."
    assert deploy.call("deployment_status") == "Production runs 2.4.0 (by release)."
    assert deploy.call("rollback") == "Production runs 2.3.0 again."
    assert deploy.call("list_releases", limit=1) == "2.3.0 (by rollback)"
    deploy.data.write_text('[{"version": "1.0", "by": "release"}]', "utf-8")
    assert deploy.call("rollback") == "error: No version ran before 1.0."


def test_orders_are_found_cancelled_refunded_and_added_up(tmp_path: Path) -> None:
    orders = Served("orders", tmp_path)
    assert orders.call("find_orders", customer="ada") == "1001 Ada Lovelace, 49.00 euros (shipped)"
    assert orders.call("read_order", number=1002).endswith("\n2 chairs")
    assert orders.call("cancel_order", number=1001) == "error: Order 1001 is already shipped."
    assert orders.call("cancel_order", number=1002) == "Canceled order 1002."
    assert orders.call("sales_report") == "1 orders, 49.00 euros, 49.00 on average."
    assert orders.call("refund_order", number=1001, reason="late") == "Refunded 49.00 euros for order 1001."
    assert orders.call("refund_order", number=1001, reason="late").startswith("error: ")
    assert orders.call("find_orders", status="paid") == "Nothing found."
    assert orders.call("read_order", number=7) == "error: Nothing has the number 7."


def test_tickets_are_created_commented_and_closed(tmp_path: Path) -> None:
    tickets = Served("tickets", tmp_path)
    assert tickets.call("create_ticket", title="No sound") == "Created ticket #3."
    assert tickets.call("comment_on_ticket", number=3, text="Try again") == "Commented on ticket #3."
    assert tickets.call("close_ticket", number=3) == "Ticket #3 is closed."
    assert tickets.call("read_ticket", number=3) == "#3 No sound (closed)\n\nTry again"
    assert tickets.call("list_tickets", status="open") == "#1 The shop shows yesterday's prices (open)"


def test_articles_are_written_and_published(tmp_path: Path) -> None:
    articles = Served("articles", tmp_path)
    assert articles.call("write_article", title="Hello", text="Hi") == "Created the draft “Hello”."
    assert articles.call("write_article", title="Hello", text="Hi!") == "Replaced the text of “Hello”."
    assert articles.call("publish_article", title="Hello") == "Published “Hello”."
    assert articles.call("read_article", title="Hello") == "Hi!"
    assert articles.call("list_articles", status="draft") == "Our new shop (draft)"


@pytest.mark.parametrize("name", TOOLS)
def test_the_world_has_data_for_every_server(name: str) -> None:
    assert DATA[name]
