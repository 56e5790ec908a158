"""Claude Code's `permissions`, from its settings files to the decision."""

from pathlib import Path
from typing import Any

import pytest

from remit.clients.claude.permission_settings import MAX_RULES, SettingsText, read_permissions
from remit.clients.parsing.client_reader import ParsedFile
from remit.clients.parsing.entry_fields import EntryFields
from remit.decision.decide import Decision
from remit.decision.gates import Gate
from remit.decision.settings_rules import SettingsLevel
from remit.install.install_record import EditedFile, Format, WrittenKey
from support.builders import servers
from support.processes import git
from support.sandbox import Sandbox

SETTINGS = ".claude/settings.json"
LOCAL = ".claude/settings.local.json"


def permissions(**lists: object) -> dict[str, Any]:
    return {"permissions": lists}


def declare(sandbox: Sandbox, *, is_trusted: bool = True) -> None:
    shop = sandbox.project("shop")
    trust(sandbox, shop, is_trusted=is_trusted)


def trust(sandbox: Sandbox, project: Path, *, is_trusted: bool) -> None:
    projects = {str(project): {"hasTrustDialogAccepted": is_trusted}}
    sandbox.write(sandbox.home / ".claude.json", {**servers("git"), "projects": projects})


def decision(sandbox: Sandbox, name: str = "mcp__git__reset") -> Decision:
    registry = sandbox.registry()
    return registry.explain(name, registry.at(str(sandbox.root / "code/shop"))).decision


def policy(sandbox: Sandbox, name: str = "mcp__git__reset") -> str:
    """What the gate `policy` says."""
    registry = sandbox.registry()
    gates = registry.explain(name, registry.at(str(sandbox.root / "code/shop"))).gates
    return next(result.detail or result.reason for gate, result in gates if gate is Gate.POLICY)


def problems(sandbox: Sandbox) -> list[str]:
    registry = sandbox.registry()
    here = registry.at(str(sandbox.root / "code/shop"))
    registry.refresh(here)
    return [f"{problem.place}: {problem.reason}" for problem in registry.problems(here)]


def test_a_denied_tool_is_hidden_with_its_rule_file_and_line(sandbox: Sandbox) -> None:
    declare(sandbox)
    text = '{\n  "permissions": {\n    "deny": [\n      "Bash",\n      "mcp__git__reset"\n    ]\n  }\n}\n'
    sandbox.write(sandbox.home / SETTINGS, text)
    found = decision(sandbox)
    assert (found.verdict, found.gate) == ("hidden", "policy")
    place = "`permissions.deny` in ~/.claude/settings.json line 5"
    assert found.detail == f"the client's rule `mcp__git__reset` denies it: {place}"
    assert found.unlock == f"remove `mcp__git__reset` from {place}"
    assert decision(sandbox, "mcp__git__status").verdict == "visible"


def test_a_tool_that_the_client_asks_about_needs_approval_at_the_last_gate(sandbox: Sandbox) -> None:
    declare(sandbox)
    sandbox.write(sandbox.home / SETTINGS, permissions(ask=["mcp__git__reset"], allow=["mcp__git"]))
    found = decision(sandbox)
    assert (found.verdict, found.gate, found.asked_by_client) == ("ask", "danger", True)
    assert "rule `mcp__git__reset` asks about it: `permissions.ask` in ~/.claude/settings.json line 1" in (
        found.detail or ""
    )


def test_rules_that_allow_and_rules_about_arguments_are_shown(sandbox: Sandbox) -> None:
    declare(sandbox)
    limits = [f"Bash(git {word}:*)" for word in ("push", "reset", "clean", "rebase", "stash", "gc")]
    rules = permissions(allow=["mcp__git__reset"], deny=limits)
    sandbox.write(sandbox.home / SETTINGS, {"env": {"ask": "x"}, **rules})
    assert "`mcp__git__reset` (`permissions.allow` in ~/.claude/settings.json line 1)" in policy(sandbox)
    registry = sandbox.registry()
    here = registry.at(str(sandbox.root / "code/shop"))
    registry.usage.record("Bash", here)
    assert decision(sandbox, "Bash").verdict == "visible"
    assert "`Bash(git push:*)`" in policy(sandbox, "Bash")
    assert "and 1 more" in policy(sandbox, "Bash")


def test_every_level_may_deny(sandbox: Sandbox) -> None:
    declare(sandbox, is_trusted=False)
    shop, machine = sandbox.root / "code/shop", sandbox.root / "machine/etc/claude-code"
    for path in (sandbox.home / SETTINGS, shop / SETTINGS, shop / LOCAL, machine / "managed-settings.json"):
        assert decision(sandbox).verdict == "visible"
        sandbox.write(path, permissions(deny=["mcp__git__reset"]))
        assert decision(sandbox).gate == "policy"
        path.unlink()


def test_an_untrusted_repository_allows_nothing(sandbox: Sandbox) -> None:
    declare(sandbox, is_trusted=False)
    shop = sandbox.root / "code/shop"
    sandbox.write(shop / SETTINGS, permissions(allow=["mcp__git__reset"]))
    assert "allow" not in policy(sandbox)
    trust(sandbox, shop, is_trusted=True)
    assert "`permissions.allow` in .claude/settings.json" in policy(sandbox)


def test_personal_settings_that_git_tracks_are_the_repositorys(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop", git=False)
    git("init", cwd=shop)
    sandbox.write(sandbox.home / ".claude.json", servers("git"))
    sandbox.write(shop / LOCAL, permissions(allow=["mcp__git__reset"]))
    assert "`permissions.allow` in .claude/settings.local.json" in policy(sandbox)
    git("add", "--force", LOCAL, cwd=shop)
    assert "allow" not in policy(sandbox)


def test_personal_settings_outside_of_a_checkout_are_the_users(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop", git=False)
    sandbox.write(sandbox.home / ".claude.json", servers("git"))
    sandbox.write(shop / LOCAL, permissions(allow=["mcp__git__reset"]))
    assert "`permissions.allow` in .claude/settings.local.json" in policy(sandbox)


def test_only_an_administrator_may_ignore_the_others(sandbox: Sandbox) -> None:
    declare(sandbox)
    only = {"allowManagedPermissionRulesOnly": True}
    sandbox.write(sandbox.home / SETTINGS, {**only, **permissions(deny=["mcp__git__reset"])})
    assert decision(sandbox).verdict == "hidden"
    sandbox.write(sandbox.root / "machine/etc/claude-code/managed-settings.json", only)
    assert decision(sandbox).verdict == "visible"


def test_as_in_the_client_a_list_or_mode_of_the_wrong_type_invalidates_the_file(sandbox: Sandbox) -> None:
    declare(sandbox)
    deny = ["mcp__git__reset"]
    for wrong in ({"allow": "Bash"}, {"defaultMode": "nonsense"}):
        sandbox.write(sandbox.home / SETTINGS, permissions(deny=deny, **wrong))
        assert decision(sandbox).verdict == "visible"
        assert problems(sandbox) != []
    sandbox.write(sandbox.home / SETTINGS, permissions(deny=[3, *deny], defaultMode="plan"))
    assert decision(sandbox).verdict == "hidden"
    assert problems(sandbox) == ["permissions.deny[0]: expected text"]


def test_a_broken_file_still_denies_and_no_longer_allows(sandbox: Sandbox) -> None:
    declare(sandbox)
    sandbox.write(sandbox.home / SETTINGS, permissions(deny=["mcp__git__reset"], allow=["mcp__git__status"]))
    assert decision(sandbox).verdict == "hidden"
    assert "permissions.allow" in policy(sandbox, "mcp__git__status")
    sandbox.write(sandbox.home / SETTINGS, "{")
    assert decision(sandbox).verdict == "hidden"
    assert "permissions.allow" not in policy(sandbox, "mcp__git__status")


@pytest.mark.long
def test_a_list_over_the_limit_denies_and_asks_about_everything(sandbox: Sandbox) -> None:
    declare(sandbox)
    many = [f"Tool{number}" for number in range(MAX_RULES + 1)]
    sandbox.write(sandbox.home / SETTINGS, permissions(allow=many))
    assert decision(sandbox).verdict == "visible"
    sandbox.write(sandbox.home / SETTINGS, permissions(ask=many))
    assert decision(sandbox).verdict == "ask"
    sandbox.write(sandbox.home / SETTINGS, permissions(deny=many))
    assert decision(sandbox).verdict == "hidden"
    assert problems(sandbox) == ["permissions.deny: more than 10,000 rules; all tools are denied"]


def test_rules_that_remit_wrote_are_not_the_users() -> None:
    key = WrittenKey(path=("permissions", "deny"), value="Bash", is_item=True)
    own = EditedFile(path="/s", format=Format.JSON, before="", after="", keys=[key])
    found = read_permissions(
        EntryFields(permissions(deny=["Bash", "Read"])),
        ParsedFile(source="/s"),
        level=SettingsLevel.USER,
        own=own,
        text=SettingsText(),
    )
    assert [rule.subject for rule in found] == ["Read"]


def read(level: SettingsLevel, **lists: object) -> tuple[list[str], list[str]]:
    """Read permission lists; gives the rules, and where something was noted."""
    parsed = ParsedFile(source="settings.json")
    fields = EntryFields(permissions(**lists))
    rules = read_permissions(fields, parsed, level=level, own=None, text=SettingsText())
    return [f"{rule.effect} {rule.subject}" for rule in rules], [problem.place for problem in parsed.problems]


@pytest.mark.parametrize("name", ["deny", "ask"])
@pytest.mark.parametrize(
    "void",
    [
        "git",
        "",
        7,
        "Bash(",
        "Bash()",
        "mcp__git()",
        "Bash(:*)",
        "WebSearch(a*)",
        "WebFetch(example.com)",
        "Read(x:*)",
    ],
)
def test_an_administrators_list_without_an_accepted_rule_takes_the_allow_rules_with_it(
    name: str, void: object
) -> None:
    lists = {"allow": ["mcp__git"], name: [void]}
    found, noted = read(SettingsLevel.MANAGED, **lists)
    assert "allows_tool mcp__git" not in found
    assert f"permissions.{name}" in noted
    assert "allows_tool mcp__git" in read(SettingsLevel.USER, **lists)[0]
    assert "allows_tool mcp__git" in read(SettingsLevel.MANAGED, **{**lists, name: [void, "Bash"]})[0]


@pytest.mark.parametrize(
    "accepted",
    [
        "Bash",
        "Bash(git push:*)",
        "mcp__git",
        "*__go",
        "1x",
        "WebSearch",
        "WebFetch(domain:x)",
        "Read(x)",
        "Task",
    ],
)
def test_one_accepted_rule_keeps_an_administrators_allow_rules(accepted: str) -> None:
    assert "allows_tool mcp__git" in read(SettingsLevel.MANAGED, allow=["mcp__git"], ask=["git", accepted])[0]
    assert "allows_tool mcp__git" in read(SettingsLevel.MANAGED, allow=["mcp__git"], ask=[])[0]
