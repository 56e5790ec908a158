"""Suggestions on the command line, as a user meets them."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.builders import servers
from support.databases import run_sql
from support.sandbox import Sandbox


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    sandbox.write(path / ".mcp.json", servers("till", "scale"))
    with sandbox.registry() as registry:
        here = registry.at(str(path))
        registry.usage.report_tool(
            "mcp__scale__weigh", here, description="Weigh it", input_schema={"type": "object"}
        )
        for number in range(4):
            registry.usage.record("mcp__till__ring", here, session_id="s1", succeeded=number > 0)
        registry.usage.record("Read", here, session_id="s2", succeeded=True)
    return path


def answer(sandbox: Sandbox, *arguments: str, cwd: Path) -> dict[str, Any]:
    return json.loads(sandbox.remit(*arguments, "--json", cwd=cwd).stdout)


def test_suggest_shows_what_would_be_said_and_why(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:
        registry.index(registry.at(str(shop)))
    shown = sandbox.remit("suggest", "please weigh it on the scale", cwd=shop)
    assert shown.returncode == 0
    assert "mcp__scale__weigh: it fits the request" in shown.stdout
    told = answer(sandbox, "suggest", "please weigh it on the scale", "--session", "s9", cwd=shop)
    assert told["said"][0]["name"] == "mcp__scale__weigh"
    assert told["said"][0]["cause"] == "prompt"
    assert told["session"] == "s9"
    assert told["text"].startswith("Tools that may help here")
    assert run_sql(sandbox.database, "select * from suggestions") == []


def test_suggest_says_why_something_is_not_said(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        registry.index(here)
        registry.usage.record("mcp__scale__weigh", here, session_id="s3")
    shown = sandbox.remit("suggest", "please weigh it on the scale", cwd=shop)
    assert shown.returncode == 1
    assert "No suggestions now." in shown.stdout
    assert "it was used in this session" in shown.stdout
    assert sandbox.remit("suggest", cwd=shop).returncode == 1
