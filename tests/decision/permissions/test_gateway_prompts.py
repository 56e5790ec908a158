"""Calls through the gateway: whether the client asks follows its rules about the inner tool."""

from dataclasses import replace

import pytest

from remit.decision.client_calls.direct_calls import decide_call
from remit.decision.client_reports import ClientCall
from remit.decision.decide import Decision, Verdict
from remit.decision.gates import Gate
from remit.decision.kinds import Authority, ConfigStatus, Kind
from remit.decision.permissions.client_permissions import ClientPermissions, PermissionEffect, PermissionRule
from remit.decision.permissions.gateway_prompts import permission_step
from remit.decision.policy_rules import ConfigLocation
from remit.decision.scopes import Scope
from remit.decision.tool_names import REMIT
from remit.decision.tools import Tool, Winner
from support.builders import CLIENT, context, server

REMIT_ROW = server("remit", config_status=ConfigStatus.ITSELF)
GIT = server("git")
STATUS = GIT._replace(name="mcp__git__status", kind=Kind.MCP_TOOL)
MODES = ("default", "acceptEdits", "plan", "auto", "bypassPermissions", "dontAsk")
DIRECT = ClientCall("mcp__remit__git__status", server="remit", source="user", mode="default")
THROUGH = DIRECT._replace(through="mcp__remit__call_tool")


def decided(
    call: ClientCall,
    *,
    allow: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
    tools: tuple[Tool, ...] = (REMIT_ROW, GIT, STATUS),
    needs_person: bool = False,
    is_installed: bool = False,
) -> Decision:
    lists = ((PermissionEffect.ALLOW, allow), (PermissionEffect.ASK, ask), (PermissionEffect.DENY, deny))
    found = [
        PermissionRule(effect, text, ConfigLocation("/s", f"permissions.{effect}"))
        for effect, texts in lists
        for text in texts
    ]
    permissions = {CLIENT: ClientPermissions(found)} if found else {}
    place = replace(context(), permissions=permissions, starts_servers=is_installed)
    return decide_call(call, tools, place, lambda _tool: needs_person)


def answer(found: Decision) -> str | None:
    """Return the hook's answer to the client."""
    if found.verdict is Verdict.VISIBLE:
        return "allow" if found.lifts_prompt else None
    return {Verdict.ASK: "ask", Verdict.HIDDEN: "deny"}[found.verdict]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", [DIRECT, THROUGH])
def test_a_rule_that_allows_the_inner_tool_lifts_the_clients_prompt(call: ClientCall, mode: str) -> None:
    assert answer(decided(call._replace(mode=mode), allow=("mcp__git__status",))) == "allow"
    assert answer(decided(call._replace(mode=mode), allow=("mcp__remit__git__status",))) == "allow"


@pytest.mark.parametrize(
    "change",
    [
        {"source": "project"},
        {"source": None},
        {"server": "other"},
        {"server": None},
    ],
)
def test_nothing_is_lifted_for_a_server_that_is_not_certainly_the_gateway(
    change: dict[str, str | None],
) -> None:
    assert answer(decided(DIRECT._replace(**change), allow=("mcp__git__status",))) is None


def test_nothing_is_lifted_while_another_declaration_shadows_the_gateway() -> None:
    shadowed = REMIT_ROW._replace(shadowed_by=Winner(Scope.PROJECT, "/code/shop/.mcp.json"))
    rows = (shadowed, GIT, STATUS)
    assert answer(decided(DIRECT, allow=("mcp__git__status",), tools=rows)) is None
    assert answer(decided(DIRECT, allow=("mcp__git__status",), tools=(GIT, STATUS))) is None


def test_nothing_is_lifted_for_a_tool_that_was_only_reported() -> None:
    reported = STATUS._replace(authority=Authority.REPORT)
    assert answer(decided(DIRECT, allow=("mcp__git",), tools=(REMIT_ROW, GIT, reported))) is None


def test_nothing_is_lifted_for_a_tool_that_is_not_listed() -> None:
    rows = (REMIT_ROW, GIT)
    assert answer(decided(DIRECT, allow=("mcp__git",), tools=rows)) is None
    assert answer(decided(THROUGH, allow=("mcp__git",), tools=rows)) == "ask"
    assert answer(decided(DIRECT, deny=("mcp__git",), tools=rows)) == "deny"
    assert answer(decided(DIRECT, ask=("mcp__git",), tools=rows)) == "ask"


@pytest.mark.parametrize(("mode", "expected"), [*((mode, "ask") for mode in MODES[:-1]), ("dontAsk", "deny")])
@pytest.mark.parametrize("call", [DIRECT, THROUGH])
def test_a_rule_that_asks_about_the_inner_tool_asks_in_every_mode(
    call: ClientCall, mode: str, expected: str
) -> None:
    allow = ("mcp__git", "mcp__remit")
    found = decided(call._replace(mode=mode), ask=("mcp__git__status",), allow=allow)
    assert (answer(found), found.gate, found.asked_by_client) == (expected, Gate.DANGER, True)


@pytest.mark.parametrize("call", [DIRECT, THROUGH])
def test_a_denied_inner_tool_is_refused_by_the_rule(call: ClientCall) -> None:
    found = decided(call, deny=("mcp__git__status",), allow=("mcp__git__status",))
    assert (answer(found), found.gate) == ("deny", Gate.POLICY)
    assert "`mcp__git__status`" in found.reason


@pytest.mark.parametrize("outer", ["mcp__remit", "mcp__remit__*", "mcp__remit__call_tool"])
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("default", "ask"),
        ("acceptEdits", "ask"),
        ("plan", "ask"),
        ("auto", "ask"),
        ("dontAsk", "deny"),
        ("bypassPermissions", None),
    ],
)
def test_a_permission_for_the_gateway_covers_nothing_else(
    outer: str, mode: str, expected: str | None
) -> None:
    assert answer(decided(THROUGH._replace(mode=mode), allow=(outer,))) == expected


def test_without_any_rule_the_client_asks_by_itself() -> None:
    for mode in MODES:
        assert answer(decided(DIRECT._replace(mode=mode))) is None
    assert (
        answer(decided(THROUGH)) == "ask"
    )  # the client may allow `call_tool` by a rule that nobody wrote down
    assert answer(decided(THROUGH._replace(mode="auto"))) is None


def test_a_rule_about_the_exact_name_of_an_unknown_tool_is_left_to_the_client() -> None:
    call = DIRECT._replace(name="mcp__remit__long_name_1234abcd")
    assert answer(decided(call, allow=(call.name,))) is None
    assert answer(decided(call, allow=("mcp__remit",))) == "ask"
    assert answer(decided(call._replace(through="mcp__remit__call_tool"), allow=(call.name,))) == "ask"


def test_the_gateways_own_tools_are_left_to_the_client() -> None:
    assert (
        answer(decided(DIRECT._replace(name="mcp__remit__report_available_tools"), allow=("mcp__remit",)))
        is None
    )
    memory = server("remit-memory")._replace(source=REMIT)
    save = memory._replace(name="mcp__remit-memory__save", kind=Kind.MCP_TOOL)
    call = DIRECT._replace(name="mcp__remit__remit-memory__save")
    assert answer(decided(call, allow=("mcp__remit",), tools=(REMIT_ROW, memory, save))) is None


def test_a_tool_whose_server_wants_a_person_is_asked_about_through_call_tool() -> None:
    allow = ("mcp__git__status",)
    assert answer(decided(THROUGH, allow=allow, needs_person=True)) == "ask"
    assert answer(decided(DIRECT, allow=allow, needs_person=True)) == "allow"  # the client asks by itself


def test_a_tool_hidden_for_another_reason_is_left_to_the_gateway() -> None:
    off = STATUS._replace(config_status=ConfigStatus.DISABLED)
    assert answer(decided(DIRECT, allow=("mcp__git",), tools=(REMIT_ROW, GIT, off))) is None
    assert answer(decided(DIRECT, deny=("mcp__git",), tools=(REMIT_ROW, GIT, off))) is None


def test_the_client_applies_its_rules_to_its_own_calls_itself() -> None:
    call = ClientCall("mcp__git__status", server="git", source="user")
    assert answer(decided(call, deny=("mcp__git",))) is None
    assert answer(decided(call, ask=("mcp__git",))) is None
    assert answer(decided(call, allow=("mcp__git",))) is None


@pytest.mark.parametrize(("allowed", "answered"), [("mcp__remit", "ask"), ("mcp__git__status", "allow")])
def test_a_projects_untrusted_server_of_the_same_name_changes_no_prompt(allowed: str, answered: str) -> None:
    theirs = server("git", scope=Scope.PROJECT, is_trusted=False)
    winner = Winner(theirs.scope, theirs.source)
    tools = (REMIT_ROW, theirs, GIT._replace(shadowed_by=winner), STATUS._replace(shadowed_by=winner))
    assert answer(decided(DIRECT, tools=tools, allow=(allowed,), is_installed=True)) == answered


@pytest.mark.parametrize("name", ["mcp__remit__discover_tools", "mcp__remit__why_tool"])
def test_the_client_does_not_ask_about_remits_own_tools_that_only_read(name: str) -> None:
    call = DIRECT._replace(name=name)
    assert answer(decided(call)) == "allow"
    assert answer(decided(call._replace(source="project"))) != "allow"  # another server in its place
    assert answer(decided(call._replace(name="mcp__remit__report_available_tools"))) is None


def test_a_model_reads_why_a_permission_is_missing_and_a_person_which_rule_to_add() -> None:
    found = decided(THROUGH, allow=("mcp__remit",))
    assert found.reason == (
        "no permission rule of the client allows this tool, and one for the gateway does not cover it"
    )
    assert "to allow it, add `mcp__git__status` to `permissions.allow`" in found.full_reason
    unlisted = THROUGH._replace(name="mcp__remit__lamp__on")
    assert "add `mcp__lamp__on` to `permissions.allow`" in decided(unlisted).full_reason


def test_why_names_the_rule_to_add_for_tools_that_remit_serves_without_a_permission() -> None:
    rules = ClientPermissions([PermissionRule(PermissionEffect.ALLOW, "mcp__git", ConfigLocation("/s", "a"))])
    served = replace(context(), starts_servers=True)
    assert permission_step(STATUS, replace(context(), is_installed=True)) == permission_step(STATUS, served)
    assert (permission_step(STATUS, served) or "").startswith("add `mcp__git__status` to `permissions.allow`")
    assert permission_step(STATUS, replace(served, permissions={CLIENT: rules})) is None
    assert permission_step(GIT, served) is None
    assert permission_step(STATUS, context()) is None
