"""`enable`, `disable`, `ask` and `undo`: what they write, name and refuse."""

from pathlib import Path

import pytest

from support.command_line import CommandLine

PERSONAL = ".config/remit/projects"


def personal(remit: CommandLine) -> Path:
    """Return the user's own file for the project."""
    [path] = (remit.home / PERSONAL).iterdir()
    return path


@pytest.fixture
def shop(remit: CommandLine) -> CommandLine:
    remit.mine(git=remit.recorded("git", "status", "push"))
    return remit


def test_a_disabled_server_is_gone_until_it_is_enabled_and_the_rule_is_outside_of_the_project(
    shop: CommandLine,
) -> None:
    shop("tools", "--refresh")
    disabled = shop("disable", "git")
    assert disabled.lines[0].startswith("Disabled in ~/.config/remit/projects/shop-")
    assert "`git` (2 tools" in disabled.out
    assert "`remit undo` takes this back; so does `remit enable git`" in disabled.err
    assert personal(shop).read_text() == '[tools."mcp__git__*"]\nai_enabled = false\n'
    assert shop("why", "git__push").out.startswith("mcp__git__push: hidden")
    assert shop("disable", "git").out.startswith("Already disabled")
    assert shop("enable", "git").out.startswith("Enabled in ")
    assert shop("why", "git__push").out.startswith("mcp__git__push: visible")
    assert not [*shop.shop.glob("remit*")]


def test_asking_is_a_rule_too_and_ends_with_off(shop: CommandLine) -> None:
    assert shop("ask", "git").out.startswith("Asks before each call in ")
    assert "approval = true" in personal(shop).read_text()
    assert shop("why", "git").out.startswith("mcp__git__*: ask")
    assert shop("ask", "git").out.startswith("Already asks")
    assert shop("ask", "--off", "git").out.startswith("No longer asks")
    assert shop("why", "git").out.startswith("mcp__git__*: visible")


def test_the_rule_can_be_for_everyone_or_for_all_projects(shop: CommandLine) -> None:
    assert "remit enable git --shared" in shop("disable", "git", "--shared").err
    assert shop("disable", "git", "--everywhere").code == 0
    assert (shop.shop / "remit.toml").read_text() == (shop.home / ".config/remit/remit.toml").read_text()
    both = shop("disable", "git", "--everywhere", "--shared")
    assert (both.code, "not both" in both.err) == (2, True)


def test_what_still_hides_a_tool_is_named_with_the_command_that_lifts_it(shop: CommandLine) -> None:
    shop("disable", "git", "--shared")
    assert "run `remit enable git --shared`" in shop("enable", "git").err
    (shop.shop / "remit.toml").unlink()
    shop.write(shop.shop / "remit.local.toml", 'block = ["mcp__git"]')
    local = shop("enable", "git")
    assert "still hidden: blocked by `mcp__git`" in local.err
    assert "edit remit.local.toml: Remit changes no such rule" in local.err
    assert (shop.shop / "remit.local.toml").read_text() == 'block = ["mcp__git"]'


def test_undo_takes_back_one_change_after_the_other_to_the_byte(shop: CommandLine) -> None:
    path = shop.write(shop.home / ".config/remit/remit.toml", "# mine\r\n[tools.x]\r\ndanger = 'low'")
    before = path.read_bytes()
    shop("disable", "git", "--everywhere")
    shop("ask", "git", "--everywhere")
    assert [line.split("  ")[2] for line in shop("undo", "--list").lines[1:]] == [
        "remit ask git --everywhere",
        "remit disable git --everywhere",
    ]
    assert shop("undo", "--yes").out == "Undone: `remit ask git --everywhere`\n"
    assert b"approval" not in path.read_bytes()
    shop("undo", "--yes")
    assert path.read_bytes() == before
    assert shop("undo", "--yes").lines == ["Nothing to undo."]


def test_nothing_is_undone_in_a_file_that_changed_since(shop: CommandLine) -> None:
    shop("disable", "git", "--everywhere")
    path = shop.home / ".config/remit/remit.toml"
    path.write_text(f"{path.read_text()}# more\n")
    refused = shop("undo", "--yes")
    assert (refused.code, "changed after `remit disable git --everywhere`" in refused.err) == (2, True)
    assert "# more" in path.read_text()


@pytest.mark.parametrize(
    "words",
    [
        "enable git",
        "ask --off git",
        "undo --yes",
        "trust --all --yes",
        "approve abc --yes",
        "uninstall claude-code --yes",
        "forget . --yes",
        "memory on --yes",
        "memory delete --yes",
    ],
)
def test_a_marker_of_a_client_refuses_what_only_a_person_may_do(shop: CommandLine, words: str) -> None:
    if words.startswith("uninstall"):
        shop.write(shop.home / ".claude/settings.json", {})
        shop.mine(remit={"command": "remit", "args": ["serve", "--install", "x"]})
    shop.variables["CLAUDECODE"] = "1"
    refused = shop(*words.split())
    assert refused.code == 2
    assert "an agent of Claude Code runs this command (`CLAUDECODE` is set)" in refused.err


def test_an_agent_may_narrow(shop: CommandLine) -> None:
    shop.variables["CLAUDECODE"] = "1"
    assert shop("disable", "git").code == 0
    assert shop("ask", "git").code == 0
    assert "no approval `abc` here" in shop("approve", "abc", "--deny").err


@pytest.mark.parametrize("words", ["undo", "trust --all", "forget .", "memory on", "memory delete"])
def test_without_a_terminal_a_person_says_yes_beforehand(shop: CommandLine, words: str) -> None:
    refused = shop(*words.split())
    assert (refused.code, "pass --yes to confirm" in refused.err) == (2, True)


def test_a_name_that_means_nothing_here_writes_nothing(shop: CommandLine) -> None:
    refused = shop("disable", "gti")
    assert (refused.code, "`gti` matches no known tool" in refused.err) == (2, True)
    assert "did you mean `git`?" in refused.err
    assert not (shop.home / PERSONAL).exists()


def test_a_file_that_is_no_toml_is_named_and_left(shop: CommandLine) -> None:
    path = shop.write(shop.shop / "remit.toml", "[tools")
    refused = shop("disable", "git", "--shared")
    assert (refused.code, "remit.toml" in refused.err) == (2, True)
    assert path.read_text() == "[tools"
