"""`remit enable`, `disable`, `prune` and `undo`, as a user meets them."""

import json
from pathlib import Path
from typing import Any

import click
import pytest

from remit.cli.switch_commands import chosen_numbers
from support.builders import servers
from support.databases import run_sql
from support.sandbox import Sandbox
from support.terminal import on_terminal


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    sandbox.write(path / ".mcp.json", servers("till", "scale"))
    with sandbox.registry() as registry:
        here = registry.at(str(path))
        for name in ("weigh", "tare"):
            registry.usage.report_tool(
                f"mcp__scale__{name}", here, description="Weigh it", input_schema={"type": "object"}
            )
        registry.usage.record("mcp__till__ring", here, session_id="s1", succeeded=True)
    return path


def verdict(sandbox: Sandbox, name: str, shop: Path) -> str:
    return answer(sandbox, "why", name, cwd=shop)["verdict"]


def answer(sandbox: Sandbox, *arguments: str, cwd: Path) -> dict[str, Any]:
    return json.loads(sandbox.remit(*arguments, "--json", cwd=cwd).stdout)


def test_a_server_is_disabled_here_and_enabled_again(sandbox: Sandbox, shop: Path) -> None:
    done = sandbox.remit("disable", "scale", cwd=shop)
    assert done.returncode == 0
    assert done.stdout.startswith("Disabled in remit.local.toml: `scale` (2 tools, about ")
    assert done.stderr == (
        "warning: Remit is not installed in Claude Code, which still offers `scale`\n"
        "hint: run `remit install claude-code`\n"
        "hint: `remit undo` takes this back; so does `remit enable scale`\n"
        "hint: `remit.local.toml` is yours alone; add it to `.gitignore` to keep it out of commits\n"
    )
    mine = shop / "remit.local.toml"
    assert mine.read_text() == '[tools."mcp__scale__*"]\nai_enabled = false\n'
    assert verdict(sandbox, "mcp__scale__weigh", shop) == verdict(sandbox, "scale", shop) == "hidden"
    assert verdict(sandbox, "till", shop) == "visible"
    assert "Enabled in remit.local.toml: `scale`" in sandbox.remit("enable", "scale", cwd=shop).stdout
    assert verdict(sandbox, "mcp__scale__weigh", shop) == "visible"
    assert not mine.exists()


def test_comments_and_other_rules_stay(sandbox: Sandbox, shop: Path) -> None:
    text = '# mine\ntoken_budget = 1_000 # small\n\n[tools."mcp__till__*"]   # careful\napproval = true\n'
    mine = sandbox.write(shop / "remit.local.toml", text)
    sandbox.remit("disable", "till", "mcp__scale__t*", cwd=shop)
    assert mine.read_text() == (
        '# mine\ntoken_budget = 1_000 # small\n\n[tools."mcp__till__*"]   # careful\nai_enabled = false\n'
        'approval = true\n\n[tools."mcp__scale__t*"]\nai_enabled = false\n'
    )
    sandbox.remit("enable", "mcp__scale__t*", "till", cwd=shop)
    assert mine.read_text() == text


def test_a_tool_a_skill_and_a_built_in_can_be_named(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".claude/skills/deploy/SKILL.md", "---\ndescription: Ship it\n---\n")
    done = sandbox.remit("disable", "mcp__scale__weigh", "/deploy", "WebFetch", cwd=shop)
    assert done.returncode == 0, done.stderr
    rules = (shop / "remit.local.toml").read_text()
    assert all(f'[tools."{name}"]' in rules for name in ("mcp__scale__weigh", "WebFetch"))
    assert verdict(sandbox, "deploy", shop) == verdict(sandbox, "WebFetch", shop) == "hidden"


def test_a_tool_can_be_named_without_its_server(sandbox: Sandbox, shop: Path) -> None:
    assert sandbox.remit("why", "tare", cwd=shop).stdout.startswith("mcp__scale__tare: ")
    assert "Disabled in remit.local.toml: `tare`" in sandbox.remit("disable", "tare", cwd=shop).stdout
    assert (shop / "remit.local.toml").read_text() == '[tools."mcp__scale__tare"]\nai_enabled = false\n'
    assert "Enabled in remit.local.toml: `tare`" in sandbox.remit("enable", "tare", cwd=shop).stdout
    assert not (shop / "remit.local.toml").exists()


def test_a_name_that_several_tools_have_is_not_guessed(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:
        registry.usage.record("mcp__till__tare", registry.at(str(shop)), session_id="s1", succeeded=True)
    for command in ("why", "disable", "enable"):
        done = sandbox.remit(command, "tare", cwd=shop)
        assert done.returncode == 2
        assert done.stderr == (
            "error: several tools are called `tare`\n"
            "hint: name one of them: `mcp__scale__tare`, `mcp__till__tare`\n"
        )


def test_an_unknown_name_is_not_called_hidden(sandbox: Sandbox, shop: Path) -> None:
    why = sandbox.remit("why", "kubernetes", cwd=shop)
    assert (why.returncode, why.stderr) == (1, "")
    assert why.stdout == (
        "kubernetes: no server listed here has it\n"
        "servers whose tools are not known:\n"
        "  `scale`: not trusted in Remit\n    to change it: run `remit trust scale`\n"
        "  `till`: not trusted in Remit\n    to change it: run `remit trust till`\n"
    )
    disabled = sandbox.remit("disable", "kubernetes", cwd=shop).stderr
    assert disabled.endswith("hint: the tools of some servers are not known: see `remit why kubernetes`\n")
    assert sandbox.remit("why", "scale_weigh", cwd=shop).stderr == "hint: did you mean `mcp__scale__weigh`?\n"
    sandbox.write(shop / ".mcp.json", servers())
    done = sandbox.remit("why", "kubernetes", cwd=shop)
    assert (done.stdout, done.stderr) == ("kubernetes: not known here\n", "")


def test_a_new_file_of_the_users_own_is_not_to_be_committed(sandbox: Sandbox, shop: Path) -> None:
    hint = "hint: `remit.local.toml` is yours alone; add it to `.gitignore` to keep it out of commits\n"
    assert hint in sandbox.remit("disable", "till", cwd=shop).stderr
    assert hint not in sandbox.remit("disable", "scale", cwd=shop).stderr
    (shop / "remit.local.toml").unlink()
    sandbox.write(shop / ".gitignore", "*.local.toml\n")
    assert hint not in sandbox.remit("disable", "till", cwd=shop).stderr


def test_a_server_that_waits_for_both_consents_names_both(sandbox: Sandbox, shop: Path) -> None:
    (sandbox.home / ".claude/settings.json").unlink()
    steps = "start Claude Code here and approve it, then run `remit trust till` to let Remit start it too"
    assert f"    to change it: {steps}\n" in sandbox.remit("why", "ring_up", cwd=shop).stdout
    full = sandbox.remit("why", "mcp__till__ring_up", cwd=shop).stdout
    assert f"to change it: {steps}\n" in full
    assert "not known yet whether `till` has this tool\n" in full
    assert "scan --connect" not in full
    assert f"    fix: {steps}\n" in sandbox.remit("doctor", cwd=shop).stdout
    listed = sandbox.remit("trust", cwd=shop)
    assert "till (project, .mcp.json): not trusted; waiting for approval in Claude Code" in listed.stdout
    assert "hint: `remit trust NAME` trusts one of them" in listed.stderr
    assert sandbox.remit("trust", "till", "--yes", cwd=shop).stdout == (
        "trusted: till\n  still waiting for approval in Claude Code: start Claude Code here and approve it\n"
    )
    scanned = " ".join(sandbox.remit("scan", cwd=shop).stdout.split())
    assert "approve it, then run `remit trust NAME` to let Remit start it too scale (project" in scanned


def test_why_says_that_a_client_without_remit_still_offers_a_hidden_tool(
    sandbox: Sandbox, shop: Path
) -> None:
    missing = (
        "warning: Remit is not installed in Claude Code, which still offers `mcp__scale__tare`\n"
        "hint: run `remit install claude-code`\n"
    )
    assert sandbox.remit("why", "tare", cwd=shop).stderr == ""
    sandbox.remit("disable", "tare", cwd=shop)
    assert sandbox.remit("why", "tare", cwd=shop).stderr == missing
    sandbox.remit("install", "claude-code", "--yes", cwd=shop)
    assert missing not in sandbox.remit("why", "tare", cwd=shop).stderr
    sandbox.remit("uninstall", "claude-code", "--yes", cwd=shop)
    sandbox.remit("enable", "tare", cwd=shop)
    sandbox.write(shop / ".claude/settings.json", '{"permissions": {"deny": ["mcp__scale__tare"]}}')
    denied = sandbox.remit("why", "tare", cwd=shop)
    assert "denies it: `permissions.deny`" in denied.stdout
    assert denied.stderr == ""


def test_everywhere_and_shared_choose_the_file(sandbox: Sandbox, shop: Path) -> None:
    blog = sandbox.project("blog")
    sandbox.write_state("wiki")
    done = sandbox.remit("disable", "wiki", "--everywhere", cwd=shop)
    assert "Disabled in ~/.config/remit/remit.toml: `wiki`" in done.stdout
    assert "`remit enable wiki --everywhere`" in done.stderr
    assert verdict(sandbox, "wiki", blog) == "hidden"
    assert "Disabled in remit.toml: `till`" in sandbox.remit("disable", "till", "--shared", cwd=shop).stdout
    assert (shop / "remit.toml").stat().st_mode & 0o777 == 0o644
    both = sandbox.remit("disable", "till", "--shared", "--everywhere", cwd=shop)
    assert (both.returncode, "not both" in both.stderr) == (2, True)


def test_enable_names_every_other_file_that_still_hides_the_tool(sandbox: Sandbox, shop: Path) -> None:
    sandbox.remit("disable", "scale", cwd=shop)
    sandbox.remit("disable", "mcp__scale__weigh", "--shared", cwd=shop)
    sandbox.remit("disable", "mcp__scale__w*", "--everywhere", cwd=shop)
    sandbox.write(shop / "app/remit.toml", '[tools."mcp__scale__*"]\nai_enabled = false\n')
    done = sandbox.remit("enable", "mcp__scale__weigh", cwd=shop / "app")
    assert " is not disabled in " in done.stdout
    for hint in (
        "run `remit enable 'mcp__scale__*'`",
        "run `remit enable mcp__scale__weigh --shared`",
        "run `remit enable 'mcp__scale__w*' --everywhere`",
        f"remove the rule from {shop / 'app/remit.toml'}",
    ):
        assert f"hint: {hint}\n" in done.stderr


def test_enable_says_what_else_hides_the_tool(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / "remit.toml", '[servers.scale]\nblock = ["weigh"]\n')
    done = sandbox.remit("enable", "mcp__scale__weigh", cwd=shop)
    assert done.stdout == "`mcp__scale__weigh` is not disabled in remit.local.toml\n"
    assert "still hidden: blocked by `weigh`" in done.stderr
    assert "hint: remove `weigh` from" in done.stderr


def test_a_rule_in_another_spelling_is_the_same_rule(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / "remit.local.toml", '[tools."scale__*"]\nai_enabled = false\n')
    assert "Enabled in" in sandbox.remit("enable", "scale", cwd=shop).stdout
    assert verdict(sandbox, "scale", shop) == "visible"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("scal", "did you mean `scale`?"), ("mcp__nope__*", "`remit tools --all` lists the known tools")],
)
def test_a_name_that_matches_nothing_is_an_error(sandbox: Sandbox, shop: Path, name: str, hint: str) -> None:
    failed = sandbox.remit("disable", name, cwd=shop)
    assert failed.returncode == 2
    assert failed.stderr == f"error: `{name}` matches no known tool\nhint: {hint}\n"
    assert not (shop / "remit.local.toml").exists()


def test_disabling_twice_changes_nothing(sandbox: Sandbox, shop: Path) -> None:
    sandbox.remit("disable", "till", cwd=shop)
    again = sandbox.remit("disable", "till", cwd=shop)
    assert again.returncode == 0
    assert "takes this back" not in again.stderr
    assert again.stdout.startswith("Already disabled in remit.local.toml: `till`")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('tools = {"mcp__till__*" = {danger = "safe"}}\n', "cannot be edited in place"),
        ("[broken", "the file is not valid TOML"),
        (b"\xff", "is not UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_edited_is_left_alone(
    sandbox: Sandbox, shop: Path, content: str | bytes, message: str
) -> None:
    mine = sandbox.write(shop / "remit.local.toml", content)
    before = mine.read_bytes()
    failed = sandbox.remit("disable", "till", cwd=shop)
    assert failed.returncode == 2
    assert message in failed.stderr
    assert mine.read_bytes() == before


def test_undo_takes_back_one_change_after_the_other(sandbox: Sandbox, shop: Path) -> None:
    mine = sandbox.write(shop / "remit.local.toml", "# mine, without an end of line")
    before = mine.read_bytes()
    sandbox.remit("disable", "till", cwd=shop)
    between = mine.read_bytes()
    sandbox.remit("disable", "scale", cwd=shop)
    done = sandbox.remit("undo", "--yes", cwd=sandbox.root)
    assert done.stdout == "Undone: `remit disable scale`\n"
    assert str(mine) in done.stderr
    assert mine.read_bytes() == between
    assert sandbox.remit("undo", "--yes", cwd=shop).stdout == "Undone: `remit disable till`\n"
    assert mine.read_bytes() == before
    nothing = sandbox.remit("undo", "--yes", cwd=shop)
    assert (nothing.returncode, nothing.stdout) == (1, "Nothing to undo.\n")


def test_undo_takes_back_an_install(sandbox: Sandbox, shop: Path) -> None:
    state = sandbox.write_state("wiki")
    files = {path: path.read_bytes() for path in sandbox.home.rglob("*") if path.is_file()}
    assert sandbox.remit("install", "claude-code", "--yes", cwd=shop).returncode == 0
    assert state.read_bytes() != files[state]
    assert sandbox.remit("undo", "--yes", cwd=shop).stdout == "Undone: `remit install claude-code`\n"
    assert {path: path.read_bytes() for path in sandbox.home.rglob("*") if path.is_file()} == files
    assert sandbox.remit("uninstall", "claude-code", "--yes", cwd=shop).returncode == 1


def test_undoing_an_uninstall_says_that_remit_is_installed_again(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write_state("wiki")
    sandbox.remit("install", "claude-code", "--yes", cwd=shop)
    sandbox.remit("uninstall", "claude-code", "--yes", cwd=shop)
    done = sandbox.remit("undo", "--yes", cwd=shop)
    assert "Undoing it installs Remit in Claude Code again.\n" in done.stderr
    assert done.stdout == (
        "Undone: `remit uninstall claude-code`\nRemit is installed in Claude Code again.\n"
    )


@pytest.mark.long
def test_after_an_install_the_clients_own_rules_follow_and_undo_takes_both_back(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write_state("wiki")
    sandbox.remit("install", "claude-code", "--yes", cwd=shop)
    settings = sandbox.home / ".claude/settings.json"
    before = settings.read_bytes()
    sandbox.remit("disable", "wiki", "--everywhere", cwd=shop)
    assert "mcp__wiki" in settings.read_text()
    sandbox.remit("undo", "--yes", cwd=shop)
    assert settings.read_bytes() == before
    assert not (sandbox.home / ".config/remit/remit.toml").exists()
    sandbox.remit("disable", "wiki", "--everywhere", cwd=shop)
    sandbox.remit("enable", "wiki", "--everywhere", cwd=shop)
    assert "mcp__wiki" not in settings.read_text()


def test_why_says_how_to_enable_a_disabled_tool(sandbox: Sandbox, shop: Path) -> None:
    sandbox.remit("disable", "scale", cwd=shop)
    why = sandbox.remit("why", "mcp__scale__weigh", cwd=shop).stdout
    assert "to change it: run `remit enable mcp__scale__weigh`\n" in why
    assert "hidden, disabled in remit.local.toml line 2\n" in why


def test_undo_refuses_where_a_file_changed_since(sandbox: Sandbox, shop: Path) -> None:
    sandbox.remit("disable", "till", cwd=shop)
    mine = shop / "remit.local.toml"
    mine.write_text(mine.read_text() + "# more\n")
    failed = sandbox.remit("undo", "--yes", cwd=shop)
    assert failed.returncode == 2
    assert f"error: {mine} changed after `remit disable till`; nothing was undone" in failed.stderr
    assert mine.read_text().endswith("# more\n")


@pytest.mark.long
def test_undo_lists_the_last_changes_and_skips_those_that_leave_nothing(sandbox: Sandbox, shop: Path) -> None:
    assert sandbox.remit("undo", "--list", cwd=shop).stdout == "Nothing to undo.\n"
    for command in ("disable", "enable"):
        sandbox.remit(command, "till", cwd=shop)
    lines = sandbox.remit("undo", "--list", cwd=shop).stdout.splitlines()
    assert ["remit enable till" in lines[1], "remit disable till" in lines[2]] == [True, True]
    sandbox.write(shop / "remit.local.toml", "token_budget = 1_000\n")
    done = sandbox.remit("undo", "--yes", cwd=shop)
    assert done.stdout == "Nothing to undo.\n"
    assert "Skipped `remit disable till`: it leaves nothing to undo.\n" in done.stderr
    for _ in range(6):
        for command in ("disable", "enable"):
            sandbox.remit(command, "till", cwd=shop)
    assert sandbox.remit("undo", "--list", cwd=shop).stdout.endswith("\nand 2 earlier changes\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tools", "--server", "tlil"), "hint: did you mean `till`?"),
        (("trust", "tlil"), "hint: did you mean `till`?"),
        (("uninstall", "cluade-code"), "Remit cannot be removed from `cluade-code`\nhint: did you mean"),
        (("install", "nothing-like-it"), "Remit cannot be installed in `nothing-like-it`\nhint: expected"),
    ],
)
def test_a_misspelled_name_has_suggestions(
    sandbox: Sandbox, shop: Path, arguments: tuple[str, ...], said: str
) -> None:
    assert said in sandbox.remit(*arguments, cwd=shop).stderr


def test_undo_asks_first(sandbox: Sandbox, shop: Path) -> None:
    sandbox.remit("disable", "till", cwd=shop)
    assert "not a terminal: pass --yes to confirm" in sandbox.remit("undo", cwd=shop).stderr
    refused = on_terminal(sandbox, ["undo"], shop, typed="n\n")
    assert (refused.code, "Undo it? [y/N]" in refused.shown) == (1, True)
    assert (shop / "remit.local.toml").exists()
    assert on_terminal(sandbox, ["undo"], shop, typed="y\n").code == 0
    assert not (shop / "remit.local.toml").exists()


def age(sandbox: Sandbox) -> None:
    run_sql(sandbox.database, "update tools set discovered_at = 0")


def test_prune_suggests_what_was_not_used_for_long_and_changes_nothing_unasked(
    sandbox: Sandbox, shop: Path
) -> None:
    run_sql(sandbox.database, "update tools set discovered_at = 1000 * unixepoch()")
    assert (
        "Nothing to prune.\nA tool is suggested when it was not used"
        in sandbox.remit("prune", cwd=shop).stdout
    )
    age(sandbox)
    shown = sandbox.remit("prune", cwd=shop)
    assert shown.returncode == 0
    assert "  1  mcp__scale__*" in shown.stdout
    assert "never used here" in shown.stdout
    assert "Disabling all of them saves about " in shown.stdout
    assert "`remit prune --yes`" in shown.stderr
    assert not (shop / "remit.local.toml").exists()


def test_prune_disables_everything_with_yes_and_undo_takes_it_back(sandbox: Sandbox, shop: Path) -> None:
    age(sandbox)
    mine = sandbox.write(shop / "remit.local.toml", "# mine, without an end of line")
    before = mine.read_bytes()
    assert (
        "Disabled in remit.local.toml: 1 tool or server" in sandbox.remit("prune", "--yes", cwd=shop).stdout
    )
    why = answer(sandbox, "why", "mcp__scale__weigh", cwd=shop)
    assert (why["verdict"], why["gate"]) == ("hidden", "policy")
    assert "Nothing to prune." in sandbox.remit("prune", "--yes", cwd=shop).stdout
    sandbox.remit("undo", "--yes", cwd=shop)
    assert mine.read_bytes() == before


def test_on_a_terminal_prune_asks_which(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".mcp.json", servers("till", "scale", "clock", "bell"))
    sandbox.remit("scan", cwd=shop)
    age(sandbox)
    none = on_terminal(sandbox, ["prune"], shop, typed="\n")
    assert (none.code, "Nothing changed." in none.shown) == (1, True)
    some = on_terminal(sandbox, ["prune"], shop, typed="9\n1,3\n")
    assert some.code == 0
    assert "`9` must be a number from 1 to 3" in some.shown
    assert (shop / "remit.local.toml").read_text().count("ai_enabled = false") == 2


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("all", [1, 2, 3, 4]), (" NONE ", []), ("", []), ("3 1", [1, 3]), ("2-4,1", [1, 2, 3, 4]), ("2,2", [2])],
)
def test_a_choice_is_numbers_and_ranges(text: str, numbers: list[int]) -> None:
    assert chosen_numbers(text, 4) == numbers


@pytest.mark.parametrize("text", ["0", "5", "3-2", "one", "1-9"])
def test_a_choice_that_is_none_is_asked_again(text: str) -> None:
    with pytest.raises(click.BadParameter, match="must be a number from 1 to 4"):
        chosen_numbers(text, 4)


def test_prune_as_json_says_what_it_would_do_and_does_it_only_when_told(sandbox: Sandbox, shop: Path) -> None:
    age(sandbox)
    told = answer(sandbox, "prune", cwd=shop)
    assert told["names"] == ["mcp__scale__*"]
    assert told["file"] == str(shop / "remit.local.toml")
    assert told["proposals"][0]["reason"].startswith("never used here")
    assert not (shop / "remit.local.toml").exists()
    answer(sandbox, "prune", "--yes", cwd=shop)
    assert (shop / "remit.local.toml").exists()


@pytest.mark.parametrize(
    "command",
    [("enable", "scale"), ("undo", "--yes"), ("trust", "till", "--yes")],
    ids=lambda words: words[0],
)
def test_an_agents_command_loosens_nothing(sandbox: Sandbox, shop: Path, command: tuple[str, ...]) -> None:
    sandbox.remit("disable", "scale", cwd=shop)
    mine = (shop / "remit.local.toml").read_bytes()
    sandbox.variables["CLAUDECODE"] = "1"
    done = sandbox.remit(*command, cwd=shop)
    assert done.returncode == 2
    assert "Claude Code runs this command, and only a person can" in done.stderr
    assert (shop / "remit.local.toml").read_bytes() == mine
