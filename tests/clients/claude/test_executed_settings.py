"""What of a repository's settings makes Claude Code itself run code."""

import json
from pathlib import Path

import pytest

from remit.clients.claude.executed_settings import executed_settings
from remit.clients.parsing.entry_fields import EntryFields
from remit.decision.settings_rules import ExecutedSetting
from support.processes import git
from support.sandbox import Sandbox

TOKEN = "ghp_" + "k3J9x" * 6


def found(content: object) -> list[tuple[str, str]]:
    return [(each.key, each.command) for each in executed_settings(EntryFields(content), "settings.json")]


def executed(sandbox: Sandbox, directory: Path) -> list[ExecutedSetting]:
    registry = sandbox.registry()
    return [each for setup in registry.examine(registry.at(str(directory))) for each in setup.executed]


def hooks(*handlers: object) -> dict[str, object]:
    return {"hooks": {"PreToolUse": [{"hooks": list(handlers)}]}}


def test_hooks_are_named_with_their_commands() -> None:
    shell = {"type": "command", "command": "sh .claude/hook.sh"}
    exec_form = {"type": "command", "command": "/bin/sh", "args": ["-c", "touch x", 3]}
    assert found(hooks(shell, exec_form)) == [
        ("PreToolUse", "sh .claude/hook.sh"),
        ("PreToolUse", "/bin/sh -c touch x"),
    ]


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"hooks": [], "env": [], "statusLine": "x", "apiKeyHelper": {}},
        {"hooks": {"Stop": {}}},
        {"hooks": {"Stop": [3, {"hooks": 3}]}},
        hooks({"type": "prompt", "prompt": "Is that all?"}, "sh"),
        {
            "env": {
                "TOKEN": "t",
                "NODE_ENV": "test",
                "LOG_DIR": "logs",
                "GIT_AUTHOR_NAME": "Ada",
                "APP_HOME": "x",
            }
        },
    ],
)
def test_settings_that_run_nothing_are_not_named(content: dict[str, object]) -> None:
    assert found(content) == []


def test_commands_of_other_settings_are_named() -> None:
    content = {"statusLine": {"type": "command", "command": "./status.sh"}, "apiKeyHelper": "./key.sh"}
    assert found(content) == [("apiKeyHelper", "./key.sh"), ("statusLine", "./status.sh")]


def test_variables_that_steer_code_are_named_without_their_values() -> None:
    assert found({"env": {"LD_PRELOAD": "./x.so", "PATH": "./bin", "LANG": "C"}}) == [
        ("LD_PRELOAD", ""),
        ("PATH", ""),
    ]


def test_secrets_are_hidden_and_long_commands_are_cut() -> None:
    ((_, command),) = found({"apiKeyHelper": f"./key.sh --token {TOKEN} " + "x " * 20})
    assert command == "./key.sh --token *** " + "x " * 9 + "…"


def test_the_settings_of_a_repository_are_looked_at_and_the_users_are_not(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    content = {"statusLine": {"command": "./status.sh"}}
    sandbox.write(sandbox.home / ".claude/settings.json", content)
    assert executed(sandbox, shop) == []
    assert executed(sandbox, sandbox.home) == []
    path = sandbox.write(shop / ".claude/settings.json", content)
    assert executed(sandbox, shop) == [ExecutedSetting(str(path), "statusLine", "./status.sh")]


def test_personal_settings_are_the_users_unless_git_tracks_them(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop", git=False)
    sandbox.write(shop / ".claude/settings.local.json", json.dumps({"apiKeyHelper": "./key.sh"}))
    assert len(executed(sandbox, shop)) == 1  # nothing tells who wrote it
    git("init", cwd=shop)
    sandbox.write(shop / "a", "")
    git("add", "a", cwd=shop)
    assert executed(sandbox, shop) == []
    git("add", "--force", ".claude/settings.local.json", cwd=shop)
    assert len(executed(sandbox, shop)) == 1
