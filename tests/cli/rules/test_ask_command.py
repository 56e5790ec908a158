"""A person is asked before each call of a tool."""

import json
from pathlib import Path

import pytest

from support.sandbox import Sandbox

INACTIVE = (
    "warning: Remit is not installed in Claude Code, which calls `git` without asking\n"
    "hint: run `remit install claude-code`\n"
)


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("git", "web")
    return sandbox.project("shop")


def verdict(sandbox: Sandbox, shop: Path, name: str) -> str:
    return json.loads(sandbox.remit("why", name, "--json", cwd=shop).stdout)["verdict"]


def test_a_tool_is_asked_about_until_the_rule_is_gone(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".gitignore", "/remit.local.toml\n")
    told = sandbox.remit("ask", "git", cwd=shop)
    assert told.stdout == "Asks before each call in remit.local.toml: `git`\n"
    assert told.stderr == f"{INACTIVE}hint: `remit undo` takes this back; so does `remit ask --off git`\n"
    assert (shop / "remit.local.toml").read_text() == '[tools."mcp__git__*"]\napproval = true\n'
    assert verdict(sandbox, shop, "git") == "ask"
    again = sandbox.remit("ask", "git", cwd=shop)
    assert (again.stdout, again.stderr) == ("Already asks in remit.local.toml: `git`\n", INACTIVE)
    assert INACTIVE in sandbox.remit("why", "git", cwd=shop).stderr
    told = sandbox.remit("ask", "--off", "git", cwd=shop)
    assert told.stdout == "No longer asks in remit.local.toml: `git`\n"
    assert told.stderr.endswith("so does `remit ask git`\n")
    assert verdict(sandbox, shop, "git") == "visible"
    told = sandbox.remit("ask", "--off", "git", cwd=shop)
    assert (told.stdout, told.stderr) == ("No rule asks in remit.local.toml: `git`\n", "")


def test_where_remit_is_installed_a_new_rule_comes_without_a_warning(sandbox: Sandbox, shop: Path) -> None:
    sandbox.remit("install", "claude-code", "--yes", cwd=shop)
    for command in ("ask", "disable"):
        assert "not installed" not in sandbox.remit(command, "git", cwd=shop).stderr
    assert "not installed" not in sandbox.remit("why", "git", cwd=shop).stderr


def test_another_file_that_still_asks_is_named(sandbox: Sandbox, shop: Path) -> None:
    sandbox.remit("ask", "git", "web", "--shared", cwd=shop)
    assert sorted((shop / "remit.toml").read_text().split("\n\n")) == [
        '[tools."mcp__git__*"]\napproval = true',
        '[tools."mcp__web__*"]\napproval = true\n',
    ]
    sandbox.remit("ask", "git", cwd=shop)
    told = sandbox.remit("ask", "--off", "git", cwd=shop)
    assert "still asks: " in told.stderr
    assert "remit.toml" in told.stderr


def test_undo_takes_the_rule_back(sandbox: Sandbox, shop: Path) -> None:
    sandbox.remit("ask", "git", "--everywhere", cwd=shop)
    assert verdict(sandbox, shop, "git") == "ask"
    assert sandbox.remit("undo", "--yes", cwd=shop).returncode == 0
    assert verdict(sandbox, shop, "git") == "visible"


def test_a_name_that_matches_nothing_writes_nothing(sandbox: Sandbox, shop: Path) -> None:
    told = sandbox.remit("ask", "nothing", cwd=shop)
    assert told.returncode == 2
    assert "`nothing` matches no known tool" in told.stderr
    assert not (shop / "remit.local.toml").exists()
