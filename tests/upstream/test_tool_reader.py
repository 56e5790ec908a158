"""What is taken of all that a server lists."""

from typing import Any

from remit.upstream.ports import ServerLists
from remit.upstream.tool_reader import read_offer
from remit.upstream.upstream_model import Upstream

GIT = Upstream(key=("git",), label="git", client="c", permit=None, source="/f")


def test_unusable_items_are_dropped_and_the_rest_stays_unchanged() -> None:
    tool: dict[str, Any] = {"name": "log", "inputSchema": {"type": "object"}, "icons": [{"src": "x"}]}
    resource: dict[str, Any] = {"uri": "file:///a", "name": "a", "size": 7}
    offer = read_offer(
        ServerLists(
            tools=[tool, {"name": "bad"}],
            resources=[resource, {**resource, "name": "again"}, 7, {"name": "no address"}, {"uri": ""}],
            templates=[{"uriTemplate": "file:///{path}"}, {"uriTemplate": 1}],
            prompts=[{"name": "tidy"}, {"name": "endless", "x": float("inf")}, {"name": "x" * 2**20}],
            capabilities={"logging": {}},
            instructions="Half a character: \ud800",
        ),
        GIT,
    )
    assert [(item.name, item.raw) for item in offer.tools] == [
        ("mcp__git__log", '{"inputSchema": {"type": "object"}, "icons": [{"src": "x"}]}')
    ]
    assert [item.tool for item in offer.quarantined] == ["bad"]
    assert offer.extras is not None
    assert offer.extras.resources == [resource]
    assert offer.extras.templates == [{"uriTemplate": "file:///{path}"}]
    assert offer.extras.prompts == [{"name": "tidy"}]
    assert offer.extras.capabilities == {"logging": {}}
    assert offer.extras.instructions == "Half a character: \ufffd"


def test_the_number_of_items_is_limited() -> None:
    offer = read_offer(ServerLists(resources=[{"uri": f"a://{at}"} for at in range(10_001)]), GIT)
    assert offer.extras is not None
    assert len(offer.extras.resources) == 10_000
    assert offer.extras.instructions is None
