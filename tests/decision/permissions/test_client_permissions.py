"""A client's permission rules, as Claude Code 2.1.325 was observed to apply them."""

from dataclasses import replace

import pytest

from remit.decision.decide import Verdict, decide
from remit.decision.gates import Gate
from remit.decision.kinds import Authority, Kind
from remit.decision.permissions.client_permissions import (
    MAX_PATTERNS,
    ClientPermissions,
    PermissionEffect,
    PermissionRule,
    bounded,
)
from remit.decision.policy_rules import ConfigLocation, Mode
from remit.decision.scopes import Scope
from remit.decision.tool_names import tool_name
from remit.decision.tools import Tool
from support.builders import CLIENT, context, server

FILE = ConfigLocation("/home/ada/.claude/settings.json", "permissions.deny", 3)
DENY, ASK, ALLOW = PermissionEffect.DENY, PermissionEffect.ASK, PermissionEffect.ALLOW


def rules(effect: PermissionEffect, *texts: str) -> list[PermissionRule]:
    return [PermissionRule(effect, text, FILE) for text in texts]


def tool(label: str, own: str, plugin: str | None = None) -> Tool:
    name = tool_name(label, own, plugin)
    return server(label)._replace(name=name, kind=Kind.MCP_TOOL, plugin=plugin)


def builtin(name: str) -> Tool:
    return Tool(name, Kind.BUILTIN, CLIENT, Scope.GLOBAL, "hook", Authority.HOOK)


TOOLS = {
    "status": tool("git", "status"),
    "reset": tool("git", "reset"),
    "deep": tool("git", "x__deep"),
    "other": tool("git__x", "status"),
    "go": tool("a.b", "go"),
    "Bash": builtin("Bash"),
}
GIT = ["status", "reset", "deep"]


def denied(*texts: str) -> list[str]:
    found = ClientPermissions(rules(DENY, *texts))
    return [key for key, each in TOOLS.items() if found.denying(each)]


def allowed(*texts: str) -> list[str]:
    found = ClientPermissions(rules(ALLOW, *texts))
    return [key for key, each in TOOLS.items() if found.allowing(each)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mcp__git__status", ["status"]),
        ("mcp__git", [*GIT, "other"]),
        ("mcp__git__x", ["other"]),
        ("mcp__git__*", [*GIT, "other"]),
        ("mcp__git__s*", ["status"]),
        ("mcp__*", [*GIT, "other", "go"]),
        ("mcp__*__status", ["status", "other"]),
        ("*__status", ["status", "other"]),
        ("mcp__a_b", ["go"]),
        ("*", [*TOOLS]),
        ("Bash", ["Bash"]),
        ("Bash(*)", ["Bash"]),
        ("B*", ["Bash"]),
        ("mcp__remit__git__status", ["status"]),
        ("mcp__remit__git__*", [*GIT, "other"]),
    ],
)
def test_a_rule_that_denies_matches_generously(text: str, expected: list[str]) -> None:
    assert denied(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mcp__git__status", ["status"]),
        ("mcp__git", GIT),
        ("mcp__git__*", GIT),
        ("mcp__git__**", GIT),
        ("mcp__git__x", []),
        ("mcp__git__x__*", ["deep", "other"]),
        ("mcp__git__x*", ["deep"]),
        ("mcp__*", []),
        ("mcp__git*", []),
        ("*", []),
        ("B*", []),
        ("Bash", ["Bash"]),
        ("mcp__remit__git__status", ["status"]),
    ],
)
def test_a_rule_that_allows_matches_strictly(text: str, expected: list[str]) -> None:
    assert allowed(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "git",
        "bash",
        "mcp__",
        "mcp__git__",
        "mcp__a.b",
        "mcp__GIT__status",
        "mcp__git__st?tus",
        " mcp__git__status ",
        "mcp__git()",
        "mcp__git(*)",
        "mcp__git__status(*)",
        "mcp__git__*(*)",
        "Bash(",
        "Bash()",
        "Bash(git push:*)",
        "mcp__remit",
        "mcp__remit__*",
        "mcp__remit__call_tool",
        "mcp__remit__git",
    ],
)
def test_what_the_client_ignores_or_applies_to_arguments_or_the_gateway_matches_no_whole_tool(
    text: str,
) -> None:
    assert denied(text) == []
    assert allowed(text) == []


def test_a_server_is_denied_only_with_all_of_its_tools() -> None:
    for text in ("mcp__git", "mcp__git__*", "mcp__*"):
        assert ClientPermissions(rules(DENY, text)).denying(server("git"))
    for text in ("mcp__git__status", "mcp__git__s*", "mcp__till"):
        assert not ClientPermissions(rules(DENY, text)).denying(server("git"))


def test_the_tools_of_a_plugin_go_by_their_whole_name() -> None:
    found = ClientPermissions(rules(ALLOW, "mcp__plugin_acme_git"))
    assert found.allowing(tool("git", "status", plugin="acme"))
    assert not found.allowing(tool("git", "status"))


def test_asking_goes_by_the_same_names_as_denying() -> None:
    found = ClientPermissions(rules(ASK, "mcp__git"))
    assert found.asking(TOOLS["other"]) == PermissionRule(ASK, "mcp__git", FILE)
    assert found.asking(TOOLS["go"]) is None


def test_rules_about_arguments_are_kept() -> None:
    written = rules(DENY, "Bash(git push:*)", "Bash(rm *)")
    found = ClientPermissions(written)
    assert found.limiting(TOOLS["Bash"]) == written
    assert found.limiting(TOOLS["go"]) == ()


def test_only_the_exact_name_is_named() -> None:
    found = ClientPermissions(rules(ALLOW, "mcp__remit__x_12345678", "mcp__git"))
    assert found.names("mcp__remit__x_12345678")
    assert not found.names("mcp__remit__y")


def test_a_server_with_a_list_of_its_own_has_only_the_tools_on_it() -> None:
    listed = rules(PermissionEffect.LISTS, "mcp__git__status")
    found = ClientPermissions([*rules(PermissionEffect.RESTRICTS, "mcp__git"), *listed])
    assert [key for key, each in TOOLS.items() if found.denying(each)] == ["reset", "deep"]
    assert found.denying(server("git")) is None


def test_too_many_patterns_count_as_one_that_covers_everything() -> None:
    many = [f"mcp__{number}*" for number in range(MAX_PATTERNS + 5)]
    kept = bounded([*rules(DENY, *many), *rules(ALLOW, *many), *rules(ASK, "mcp__git")])
    assert len(kept) == 2 * MAX_PATTERNS + 2
    assert ClientPermissions(kept).denying(TOOLS["go"])
    assert not ClientPermissions(kept).allowing(TOOLS["go"])


def test_a_mode_without_questions_hides_what_the_client_asks_about() -> None:
    place = replace(context(), permissions={CLIENT: ClientPermissions(rules(ASK, "mcp__git__status"))})
    assert decide(TOOLS["status"], place).verdict is Verdict.ASK
    found = decide(TOOLS["status"], replace(place, mode=Mode.DONT_ASK))
    assert (found.verdict, found.gate) == (Verdict.HIDDEN, Gate.DANGER)
    assert decide(TOOLS["reset"], replace(place, mode=Mode.DONT_ASK)).verdict is Verdict.VISIBLE


def test_where_the_order_counts_the_last_rule_decides() -> None:
    ordered = PermissionRule(PermissionEffect.ORDERS, "", FILE)
    found = ClientPermissions([ordered, *rules(DENY, "mcp__git"), *rules(ALLOW, "mcp__*__status")])
    assert found.denying(TOOLS["reset"])
    assert not found.denying(TOOLS["status"])
    assert found.allowing(TOOLS["status"])


def test_where_the_order_counts_the_last_of_equal_rules_counts() -> None:
    ordered, deny, allow = (
        PermissionRule(PermissionEffect.ORDERS, "", FILE),
        *rules(DENY, "mcp__git"),
        *rules(ALLOW, "mcp__git"),
    )
    assert ClientPermissions([ordered, deny, allow, deny]).denying(TOOLS["status"]) == deny
    assert ClientPermissions([ordered, allow, deny, allow]).denying(TOOLS["status"]) is None
    assert ClientPermissions([ordered, allow, deny, allow]).allowing(TOOLS["status"]) == allow
