"""Hooks and definitions that changed: the call is denied, and the next session says so once."""

from pathlib import Path

import pytest

from support.listed_tools import list_tools, tool
from support.sandbox import Sandbox

TIDY = tool("tidy", "Tidy notes.", annotations={"destructiveHint": True})
SAFE = tool("tidy", "Tidy notes.", annotations={"readOnlyHint": True})


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("notes")
    return sandbox.project("shop")


def test_a_held_tool_is_denied_until_a_person_accepts_it(sandbox: Sandbox, shop: Path) -> None:
    event = {
        "hook_event_name": "PreToolUse",
        "session_id": "s1",
        "cwd": str(shop),
        "tool_name": "mcp__notes__tidy",
        "tool_input": {},
        "mcp_server": {"name": "notes", "source": "user"},
    }
    with sandbox.registry() as registry:
        list_tools(registry, shop, TIDY)
        assert sandbox.hook(event) == {}
        list_tools(registry, shop, SAFE)
        denied = sandbox.hook(event)
        assert denied["permissionDecision"] == "deny"
        assert "(gate `definition`)" in denied["permissionDecisionReason"]
        assert "remit trust" not in denied["permissionDecisionReason"]
        context = registry.at(str(shop))
        registry.trust.pins.accept(registry.trust.pins.changed(context), context)
    assert sandbox.hook(event) == {}


def test_the_start_of_a_session_reports_a_held_tool_once(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:
        list_tools(registry, shop, TIDY)
        list_tools(registry, shop, SAFE)
        event = {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": str(shop), "source": "startup"}
        assert "1 definition of `notes` held" in sandbox.hook(event)["additionalContext"]
        assert registry.trust.pins.news(registry.at(str(shop))) == []
        assert "held" not in sandbox.hook({**event, "session_id": "s2"})["additionalContext"]
