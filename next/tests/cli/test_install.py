"""`install`, `uninstall` and `init`: what they show, ask, write and take back."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.installed import Installed

SKILL = "---\nname: {0}\ndescription: d\n---\nx\n"


@pytest.fixture
def shop(installed: Installed) -> Installed:
    installed.write(
        installed.home / ".claude.json",
        {
            "mcpServers": {"git": installed.recorded("git", "status", "push")},
            "projects": {str(installed.shop): {}},
        },
    )
    installed.write(installed.home / ".claude/settings.json", '{"model": "opus"}\n')
    return installed


def settings(shop: Installed) -> dict[str, Any]:
    return json.loads((shop.home / ".claude/settings.json").read_text())


def copies(shop: Installed) -> dict[str, Any]:
    """Return what Remit wrote into the user's settings of the project."""
    path = shop.shop / ".claude/settings.local.json"
    return json.loads(path.read_text()) if path.exists() else {}


def test_a_dry_run_shows_servers_hooks_rules_and_files_and_changes_nothing(shop: Installed) -> None:
    before = shop.files()
    shown = shop("install", "claude-code", "--dry-run")
    summary = {line.split()[0]: line for line in shown.err.splitlines() if line.startswith("  ")}
    assert "`git`; Claude Code stops loading them itself" in summary["serves"]
    assert "SessionStart" in summary["hooks"]
    assert "PreToolUse (tools of servers)" in summary["hooks"]
    assert "deny Edit(" in shown.err
    assert summary["files"].endswith("~/.claude.json and ~/.claude/settings.json")
    assert summary["undo"].endswith("remit uninstall claude-code")
    assert "+++ " + str(shop.home / ".claude/settings.json") in shown.out
    assert shop.files() == before


def test_a_dry_run_shows_no_secret_of_what_it_would_replace(shop: Installed) -> None:
    secret = "ghp_" + "a1B2" * 9
    shop.write(shop.home / ".claude/settings.json", {"env": {"TOKEN": secret}, "hooks": {}})
    assert secret not in shop("install", "claude-code", "--dry-run").out
    shop("install", "claude-code", "--yes")
    path = shop.home / ".claude/settings.json"
    path.write_text(
        path.read_text().replace('"SessionStart": [', f'"{secret}": [], "SessionStart": ["{secret}",')
    )
    assert secret not in shop("uninstall", "claude-code", "--dry-run").out


def test_one_question_shows_the_diff_on_request_and_no_changes_nothing(shop: Installed) -> None:
    before = shop.files()
    declined = shop.answering("install", "claude-code", answers="dn")
    assert declined.out.count("Install Remit in Claude Code?") == 2
    assert "+++ " in declined.out
    assert (declined.code, shop.files()) == (1, before)


def test_the_question_offers_less_and_shows_that_first(shop: Installed) -> None:
    shown = shop.answering("install", "claude-code", answers="cy").out
    assert shown.count("Install Remit in Claude Code?") == 2
    assert "a section at session start and the count of uses, nothing else" in shown
    assert "permissions" not in settings(shop)


def test_an_install_ends_where_it_began_to_the_byte(shop: Installed) -> None:
    before = shop.files()
    done = shop.answering("install", "claude-code", answers="y")
    assert "Installed in Claude Code: changed ~/.claude.json and ~/.claude/settings.json." in done.out
    assert settings(shop)["deniedMcpServers"]
    assert shop("install", "claude-code", "--yes").out.startswith("Already installed")
    assert shop("uninstall", "--yes").out.startswith("Removed from Claude Code: restored ")
    assert {name: data for name, data in shop.files().items() if "remit" not in name} == before


def test_undo_and_undo_again_restores_an_install_too(shop: Installed) -> None:
    before = shop.files()
    shop("install", "claude-code", "--yes")
    assert shop("undo", "--yes").out == "Undone: `remit install claude-code`\n"
    assert shop.files() == before


def test_without_a_terminal_it_wants_yes(shop: Installed) -> None:
    refused = shop("install", "claude-code")
    assert (refused.code, "pass --yes to confirm" in refused.err) == (2, True)


def test_three_levels(shop: Installed) -> None:
    shop("install", "claude-code", "--context-only", "--yes")
    assert settings(shop)["hooks"].keys() == {
        "SessionStart",
        "PostToolUse",
        "PostToolUseFailure",
        "UserPromptExpansion",
    }
    assert "permissions" not in settings(shop)
    shop("install", "claude-code", "--hooks-only", "--yes")
    assert "PreToolUse" in settings(shop)["hooks"]
    assert "remit" not in json.loads((shop.home / ".claude.json").read_text())["mcpServers"]
    shop("install", "claude-code", "--yes")
    assert "remit" in json.loads((shop.home / ".claude.json").read_text())["mcpServers"]


def test_rules_that_change_are_copied_into_the_clients_own_settings(shop: Installed) -> None:
    shop.write(shop.home / ".claude/skills/polish/SKILL.md", SKILL.format("polish"))
    shop("install", "claude-code", "--yes")
    assert shop("disable", "git").err.startswith("Changed Claude Code's own settings, too.")
    assert "mcp__git__*" in copies(shop)["permissions"]["deny"]
    shop("disable", "polish")
    assert copies(shop)["skillOverrides"] == {"polish": "off"}
    shop("ask", "WebSearch")
    assert "WebSearch" in copies(shop)["permissions"]["ask"]
    assert _before_calls(shop)[0] == "Skill|SlashCommand|WebSearch"
    shop("enable", "git", "polish")
    shop("ask", "--off", "WebSearch")
    assert not copies(shop)
    assert _before_calls(shop) == ["^mcp__.*$"]


def _before_calls(shop: Installed) -> list[str]:
    return [group["matcher"] for group in settings(shop)["hooks"]["PreToolUse"]]


def test_remit_itself_is_not_disabled_by_a_rule_that_does_nothing(shop: Installed) -> None:
    shop("install", "claude-code", "--yes")
    refused = shop("disable", "remit")

    assert refused.code == 2
    assert "`remit uninstall claude-code` removes it" in refused.err
    assert shop("disable", "git").code == 0


def test_a_rule_for_all_projects_is_copied_into_the_users_settings(shop: Installed) -> None:
    shop("install", "claude-code", "--yes")
    shop("disable", "git__push", "--everywhere")
    assert "mcp__git__push" in settings(shop)["permissions"]["deny"]
    assert not copies(shop)
    shop("undo", "--yes")
    assert "mcp__git__push" not in settings(shop)["permissions"]["deny"]


def test_a_state_that_changes_shows_and_hides_a_skill_in_the_client(shop: Installed) -> None:
    shop.write(shop.home / ".claude/skills/deploy/SKILL.md", SKILL.format("deploy"))
    rule = '[states.tested]\nkind = "workflow"\n[tools.deploy]\nstates = ["tested"]\n'
    shop.write(shop.shop / "remit.toml", rule)
    shop("install", "claude-code", "--yes")
    assert copies(shop)["skillOverrides"] == {"deploy": "off"}
    shop("states", "set", "tested")
    assert not copies(shop)
    shop("states", "clear", "tested")
    assert copies(shop)["skillOverrides"] == {"deploy": "off"}


def test_an_invalid_file_of_remits_refuses_the_install(shop: Installed) -> None:
    path = shop.write(shop.shop / "remit.toml", "moed = 'plan'\n")
    refused = shop("install", "claude-code", "--yes")
    assert refused.code == 2
    assert f"{path} is invalid, so nothing was installed" in refused.err
    assert "hooks" not in settings(shop)


def test_servers_that_the_client_has_approved_are_shown_and_not_trusted_without_a_word(
    shop: Installed,
) -> None:
    shop.shared(shop.shop, db={"command": "/bin/db", "args": ["--all"]})
    approved = {
        "projects": {str(shop.shop): {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["db"]}}
    }
    shop.write(shop.home / ".claude.json", approved)
    shown = shop("install", "claude-code", "--yes")
    assert "runs /bin/db --all" in shown.err
    assert "warning: not trusted, so Remit does not serve them: db" in shown.err
    assert "not trusted" in shop("why", "db").out
    shop("uninstall", "--yes")
    asked = shop.answering("install", "claude-code", answers="yy")
    assert "Trust `db`, so Remit may start it as shown?" in asked.out
    assert "trusted: db" in asked.out
    assert shop("why", "db").out.startswith("mcp__db__*: visible")


def test_uninstall_where_remit_is_not_installed_does_nothing_and_exits_with_1(shop: Installed) -> None:
    before = shop.files()
    done = shop("uninstall", "codex", "--yes")

    assert (done.code, done.err) == (1, "error: Remit is not installed in Codex\n")
    assert shop.files() == before


def test_uninstall_needs_no_store_and_no_other_record(shop: Installed) -> None:
    before = settings(shop)
    shop("install", "claude-code", "--yes")
    data = shop.home / ".local/share/remit"
    shop.write(data / "installs/codex.json", "{")
    shop.write(data / "remit.sqlite", "no database")
    assert shop("uninstall", "claude-code", "--yes").code == 0
    assert settings(shop) == before


def test_uninstall_says_what_stays_and_where_remit_is(shop: Installed) -> None:
    shop("install", "claude-code", "--yes")
    shop("install", "codex", "--yes")
    several = shop("uninstall")
    assert several.code == 1
    assert "Codex: remit uninstall codex" in several.out
    left = shop("uninstall", "codex", "--yes")
    assert "Still on the disk:" in left.err
    assert "~/.local/share/remit: history, trust, memory" in left.err
    shop("uninstall", "--yes")
    assert shop("uninstall").lines == ["Remit is not installed in any client."]


def test_what_changed_after_the_install_is_named_when_it_ends(shop: Installed) -> None:
    shop("install", "claude-code", "--yes")
    path = shop.home / ".claude/settings.json"
    path.write_text(path.read_text().replace('"opus"', '"haiku"'))
    shop("uninstall", "--yes")
    assert settings(shop) == {"model": "haiku"}


@pytest.mark.parametrize("client", ["codex", "gemini-cli", "opencode", "cursor", "vscode", "claude-desktop"])
def test_every_client_gets_its_gateway_and_gives_it_back(shop: Installed, client: str) -> None:
    before = shop.files()
    done = shop("install", client, "--yes")
    assert (done.code, "changed " in done.out) == (0, True)
    assert shop("uninstall", client, "--yes").code == 0
    assert shop.files() == before


def test_init_measures_installs_and_asks_about_memory_apart(shop: Installed) -> None:
    shown = shop.answering("init", answers="yyn")
    steps = [shown.out.index(title) for title in ("1. Clients", "2. Tools", "3. Install", "4. Memory")]
    assert steps == sorted(steps)
    assert "Start these servers now?" in shown.out
    assert "Installed in Claude Code" in shown.out
    assert "Memory stays off" in shown.out
    assert settings(shop)["hooks"]


def test_init_with_yes_answers_all_but_trust_and_memory(shop: Installed) -> None:
    shown = shop("init", "--yes")
    assert "Installed in Claude Code" in shown.out
    assert "Memory stays off" in shown.out
    assert shop.starts("git") == 1


def test_init_asks_for_trust_before_it_measures(shop: Installed) -> None:
    shop.shared(shop.shop, db=shop.recorded("db", "query"))
    approved = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["db"]}
    shop.write(shop.home / ".claude.json", {"projects": {str(shop.shop): approved}})
    shown = shop.answering("init", answers="yynn").out
    assert shown.index("trusted: db") < shown.index("Start these servers now?")
    assert shop.starts("db") == 1
    assert "db          1" in shown


def test_an_installation_that_may_vanish_is_named(shop: Installed) -> None:
    assert "warning: this Remit is in a temporary directory, " in shop("install", "codex", "--yes").err


def test_init_without_a_client_says_so(installed: Installed) -> None:
    shutil.rmtree(installed.home / ".claude")
    alone = installed("init", "--yes")
    assert (alone.code, alone.out.startswith("No client was found")) == (1, True)


def test_managed_needs_an_administrator(shop: Installed, tmp_path: Path) -> None:
    del tmp_path
    refused = shop("install", "cursor", "--managed", "--yes")
    assert (refused.code, "Remit cannot be installed in `cursor`" in refused.err) == (1, True)
