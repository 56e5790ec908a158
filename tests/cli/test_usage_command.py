"""Use on the command line, as a user meets it."""

import json
from pathlib import Path
from typing import Any

import pytest

from remit.cli.usage_command import chart
from support.builders import servers
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


def test_a_long_session_id_is_cut_so_that_the_table_fits_a_terminal(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        registry.usage.record("Read", here, session_id="0f3a9c52-7f6e-4a53-9a55-2d3a0c7e9b11")
    shown = sandbox.remit("usage", cwd=shop).stdout.splitlines()
    (row,) = (line for line in shown if "0f3a9c52" in line)
    assert row.split()[0] == "0f3a9c52"
    assert max(map(len, shown[1:])) <= 80


def test_usage_shows_what_was_used_how_often_and_how_much_of_it_failed(sandbox: Sandbox, shop: Path) -> None:
    shown = sandbox.remit("usage", cwd=shop).stdout.splitlines()
    rows = {line.split()[0]: line.split() for line in shown if line.startswith("  ")}
    assert rows["mcp__till__ring"][1:5] == ["tool", "4", "25", "%"]
    assert rows["mcp__till__ring"][-1] == "█" * 16
    assert rows["Read"][-1] == "█" * 4
    assert rows["s1"][-3:] == ["4", "1", "1"]
    assert any(line.startswith("never used here: 1, about ") for line in shown)
    assert "mcp__scale__*" in rows


def test_usage_as_json_has_everything(sandbox: Sandbox, shop: Path) -> None:
    told = answer(sandbox, "usage", cwd=shop)
    assert [(each["name"], each["uses"], each["failures"]) for each in told["used"]] == [
        ("mcp__till__ring", 4, 1),
        ("Read", 1, 0),
    ]
    unused = {each["name"]: each["tokens"] for each in told["unused"]}
    assert unused.keys() == {"mcp__scale__*"}
    assert unused["mcp__scale__*"] == told["unused_tokens"]
    assert [(each["session_id"], each["calls"], each["failures"]) for each in told["sessions"]] == [
        ("s2", 1, 0),
        ("s1", 4, 1),
    ]


def test_usage_of_projects_names_no_tool(sandbox: Sandbox, shop: Path) -> None:
    blog = sandbox.project("blog")
    with sandbox.registry() as registry:
        registry.usage.record("Read", registry.at(str(blog)))
    shown = sandbox.remit("usage", "--projects", cwd=shop).stdout
    assert "till" not in shown
    (first, second) = answer(sandbox, "usage", "--projects", cwd=shop)["projects"]
    assert (first["path"], first["uses"], first["failures"]) == (str(shop), 5, 1)
    assert (second["path"], second["uses"]) == (str(blog), 1)


def test_usage_says_so_where_nothing_was_used(sandbox: Sandbox) -> None:
    empty = sandbox.project("empty")
    assert "No usage recorded yet." in sandbox.remit("usage", cwd=empty).stdout


@pytest.mark.parametrize(
    ("count", "most", "drawn"),
    [(0, 10, ""), (10, 10, "█" * 16), (5, 10, "█" * 8), (1, 10_000, "▏"), (0, 0, "")],
)
def test_a_bar_is_as_long_as_its_share_and_never_nothing_for_something(
    count: int, most: int, drawn: str
) -> None:
    assert chart(count, most) == drawn
