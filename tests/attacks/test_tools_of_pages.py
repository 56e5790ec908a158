"""A model calls tools that are meant for the page of a server alone (MCP Apps)."""

import pytest

from attacks.peers import tool
from attacks.worlds import World, require

PAGE = {"ui": {"resourceUri": "ui://clock/face", "visibility": ["app"]}}


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["flat", "search"])
def test_no_spelling_leads_a_model_to_a_tool_of_a_page(world: World, strategy: str) -> None:
    clock = world.server("clock", tool("now"), {**tool("poll"), "_meta": PAGE})
    world.declare({"clock": clock})
    with world.serve("--strategy", strategy) as gateway:
        require("answered by clock" in gateway.call("call_tool", name="clock__now"), "the clock stands still")
        for name in ("poll", "clock__poll", "mcp__clock__poll", "mcp__remit__clock__poll"):
            assert "can only be called by the page" in gateway.call("call_tool", name=name)
        require("answered by clock" in gateway.call("poll"), "the page cannot call its tool")
    assert clock.calls == ["now", "poll"]
