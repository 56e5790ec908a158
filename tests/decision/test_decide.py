from dataclasses import replace

import pytest

from remit.decision.agents import Agent, AgentProfile
from remit.decision.context import shorten
from remit.decision.decide import GATES, UNKNOWN, Verdict, decide, explain
from remit.decision.definitions.project_lock import LockedServer, ProjectLock, relative
from remit.decision.gate_rules import status_reason
from remit.decision.gates import Gate
from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.policy import Policy
from remit.decision.scopes import Scope
from remit.decision.tools import Tool, Winner
from support.builders import BLOG, CLIENT, SHOP, context, server


def organic(name: str, authority: Authority) -> Tool:
    return Tool(
        name=name, kind=Kind.BUILTIN, client=CLIENT, scope=Scope.GLOBAL, source="hook", authority=authority
    )


def test_a_declared_tool_is_visible_and_says_where_it_is_declared() -> None:
    decision = decide(server(), context())
    assert (decision.verdict, decision.gate) == (Verdict.VISIBLE, None)
    assert decision.full_reason == "declared in ~/.claude.json"
    assert decision.is_available


def test_a_tool_of_another_project_is_answered_like_one_that_does_not_exist() -> None:
    decision = decide(server(scope=Scope.LOCAL, workspace=BLOG), context(SHOP))
    assert decision == UNKNOWN


def test_a_tool_of_another_client_is_hidden_at_config() -> None:
    decision = decide(server(client="cursor"), context())
    assert (decision.gate, decision.full_reason) == (Gate.CONFIG, "declared for cursor")
    assert not decision.is_available


def test_an_inventory_asks_no_client() -> None:
    assert decide(server(client="cursor"), context(client=None)).is_available


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (ConfigStatus.DISABLED, "disabled in the client"),
        (ConfigStatus.REJECTED, "rejected in the client"),
        (ConfigStatus.PENDING, "waiting for approval"),
        (ConfigStatus.DENIED, "denied by a policy in the client's settings"),
        (ConfigStatus.ITSELF, "is Remit itself"),
        (None, "no longer configured"),
    ],
)
def test_what_the_clients_settings_switch_off_is_hidden_at_config(
    status: ConfigStatus | None, says: str
) -> None:
    decision = decide(server(config_status=status), context())
    assert decision.gate is Gate.CONFIG
    assert says in decision.full_reason
    assert "~/.claude.json" in decision.full_reason


def test_what_a_status_means_can_be_said_without_a_tool() -> None:
    assert status_reason(ConfigStatus.PENDING, "claude-code") == "waiting for approval in Claude Code"
    assert status_reason(ConfigStatus.DENIED, "codex") == "denied by a policy in the client's settings"


def test_a_stale_tool_is_hidden_and_says_how_to_get_it_back() -> None:
    decision = decide(server(status=ToolStatus.STALE), context())
    assert decision.gate is Gate.CONFIG
    assert decision.unlock == "declare it again in ~/.claude.json"


def test_a_demoted_tool_is_visible_and_says_how_often_it_failed() -> None:
    tool = server(status=ToolStatus.DEMOTED)._replace(outcomes="+----")
    decision = decide(tool, context())
    assert decision.is_available
    assert decision.full_reason == "declared in ~/.claude.json; 4 of its last 5 calls here failed"


def test_a_shadowed_tool_is_hidden_at_precedence_and_names_the_winner_and_its_file() -> None:
    winner = Winner(scope=Scope.LOCAL, source="/home/ada/.claude.json")
    decision = decide(server(shadowed_by=winner), context())
    assert decision.gate is Gate.PRECEDENCE
    assert decision.full_reason == "shadowed by the local declaration in ~/.claude.json"


def test_the_first_gate_that_objects_wins() -> None:
    winner = Winner(scope=Scope.LOCAL, source="/x")
    tool = server(config_status=ConfigStatus.DISABLED, shadowed_by=winner)
    assert decide(tool, context()).gate is Gate.CONFIG


def test_an_explanation_lists_every_gate_in_order_with_its_reason() -> None:
    gates = explain(server(config_status=ConfigStatus.DISABLED), context())
    assert [(gate, result.passed) for gate, result in gates] == [
        (Gate.SCOPE, True),
        (Gate.CONFIG, False),
        (Gate.PRECEDENCE, True),
        (Gate.AGENT, True),
        (Gate.POLICY, True),
        (Gate.DEFINITION, True),
        (Gate.STATE, True),
        (Gate.DANGER, True),
    ]
    assert all(result.full_reason for _, result in gates)


@pytest.mark.parametrize("scope", list(Scope))
def test_every_scope_explains_itself(scope: Scope) -> None:
    here = SHOP._replace(team=SHOP.project) if scope is Scope.TEAM else SHOP
    assert explain(server(scope=scope), context(here))[0].result.full_reason.startswith(scope)


@pytest.mark.parametrize(
    ("authority", "reason"), [(Authority.HOOK, "seen in use"), (Authority.REPORT, "reported by an agent")]
)
def test_a_tool_that_no_file_declares_is_visible_and_says_who_told(authority: Authority, reason: str) -> None:
    assert decide(organic("Sum", authority), context()).full_reason == reason


def test_a_servers_tool_is_visible_because_of_its_server() -> None:
    tool = Tool(
        name="mcp__git__commit",
        kind=Kind.MCP_TOOL,
        client=CLIENT,
        scope=Scope.GLOBAL,
        server="git",
        source="/home/ada/.claude.json",
        authority=Authority.CONFIG,
        config_status=ConfigStatus.ENABLED,
    )
    assert decide(tool, context()).full_reason == "its server `git` is declared in ~/.claude.json"


def test_a_command_to_copy_does_nothing_else_whatever_a_repository_calls_its_server() -> None:
    waiting = server("till; rm -rf ~", scope=Scope.PROJECT, is_trusted=False)
    unlock = decide(waiting, replace(context(), starts_servers=True)).unlock
    assert unlock == "look at it with `remit trust`, then run `remit trust 'till; rm -rf ~'`"


def test_a_projects_server_is_hidden_from_those_who_would_start_it_until_it_is_trusted() -> None:
    starting = replace(context(), starts_servers=True)
    waiting = server("till", scope=Scope.PROJECT, is_trusted=False)
    decision = decide(waiting, starting)
    assert (decision.gate, decision.full_reason) == (Gate.CONFIG, "declared in ~/.claude.json, not trusted")
    assert decision.unlock == "look at it with `remit trust`, then run `remit trust till`"
    assert decide(server("till", scope=Scope.PROJECT, is_trusted=True), starting).is_available
    assert decide(server("git", is_trusted=None), starting).is_available


def test_a_server_in_the_definition_of_a_projects_agent_needs_trust() -> None:
    brought = server("till", scope=Scope.PROJECT, is_trusted=False)._replace(agent="auditor")
    auditor = Agent(name="auditor", profile=AgentProfile())
    installed = replace(context(), starts_servers=True, agent=auditor)
    assert "not trusted" in decide(brought, installed).full_reason
    assert decide(brought._replace(is_trusted=True), installed).is_available


def test_where_the_client_starts_its_servers_the_clients_rules_are_all_that_counts() -> None:
    assert decide(server("till", scope=Scope.PROJECT, is_trusted=False), context()).is_available


def test_a_server_that_waits_for_approval_waits_whoever_trusts_it() -> None:
    trusted = server(scope=Scope.PROJECT, config_status=ConfigStatus.PENDING, is_trusted=True)
    assert "waiting for approval" in decide(trusted, replace(context(), starts_servers=True)).full_reason


def test_a_server_that_needs_two_consents_names_both_in_order() -> None:
    waiting = server("till", scope=Scope.PROJECT, config_status=ConfigStatus.PENDING, is_trusted=False)
    decision = decide(waiting, context())
    assert decision.reason == "waiting for approval in Claude Code, and not trusted in Remit"
    assert decision.unlock == (
        "start Claude Code here and approve it, then run `remit trust till` to let Remit start it too"
    )
    assert decide(waiting._replace(is_trusted=True), context()).unlock == (
        "start Claude Code here and approve it"
    )


def listed_tool(**facts: bool | ToolStatus) -> Tool:
    made = server("till", scope=Scope.PROJECT)
    return made._replace(name="mcp__till__ring", kind=Kind.MCP_TOOL, **facts)


def test_a_tool_that_its_server_no_longer_lists_is_hidden_and_says_so() -> None:
    decision = decide(listed_tool(is_unlisted=True, status=ToolStatus.STALE), context())
    assert (decision.gate, decision.full_reason) == (Gate.CONFIG, "its server `till` no longer lists it")
    assert decision.unlock == "run `remit scan --connect`"


def test_a_tool_that_was_listed_before_its_entry_changed_is_visible_and_says_so() -> None:
    decision = decide(listed_tool(is_outdated=True), context())
    assert decision.is_available
    assert decision.full_reason.endswith("(changed since its tools were listed)")


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("/code/shop/.mcp.json", ".mcp.json"),
        ("/code/shop/a/.mcp.json", "a/.mcp.json"),
        ("/home/ada/.claude.json", "~/.claude.json"),
        ("/code/shopping/.mcp.json", "/code/shopping/.mcp.json"),
        ("hook", "hook"),
    ],
)
def test_paths_are_written_as_seen_from_the_workspace(path: str, short: str) -> None:
    assert shorten(path, context()) == short


def test_the_table_has_every_gate_in_order() -> None:
    assert [gate for gate, _ in GATES] == list(Gate)


@pytest.mark.parametrize("kind", [Kind.MCP_TOOL, Kind.MCP_SERVER])
@pytest.mark.parametrize(
    ("authority", "why"), [(Authority.HOOK, "seen in use"), (Authority.REPORT, "reported by an agent")]
)
def test_what_was_only_reported_is_never_served(kind: Kind, authority: Authority, why: str) -> None:
    for is_placed in (False, True):
        reported = listed_tool(is_placed=is_placed)._replace(authority=authority, kind=kind)
        decision = decide(reported, replace(context(), starts_servers=True))
        assert (decision.gate, decision.reason) == (
            Gate.CONFIG,
            f"{why}, but no server that Remit starts lists it",
        )
        assert decide(reported, context()).is_available


def test_what_was_seen_of_a_server_that_left_says_so() -> None:
    seen = listed_tool(status=ToolStatus.STALE)._replace(authority=Authority.HOOK, config_status=None)
    assert decide(seen, context()).reason == "seen in use, but its server is no longer configured"
    placed = seen._replace(is_placed=True)
    assert decide(placed, context()).full_reason.startswith("no longer configured in")


def test_what_differs_from_the_projects_lock_is_held_unless_the_lock_is_written_anew() -> None:
    tool = server(scope=Scope.PROJECT, workspace=SHOP)
    here = replace(context(SHOP), policy=Policy(lock=ProjectLock(problem="not valid TOML")))
    decision = decide(tool, here)
    assert decision.gate is Gate.DEFINITION
    assert "`remit.lock` is invalid" in decision.reason
    assert "`remit lock --check` shows what differs" in (decision.unlock or "")
    assert decide(tool, replace(here, ignores_lock=True)).is_available


def test_a_lock_has_the_instructions_of_a_projects_servers_alone() -> None:
    tool = server(scope=Scope.PROJECT, workspace=SHOP)
    key = (relative(tool.source, SHOP.dir), tool.server or "")
    lock = ProjectLock(SHOP.dir, {key: LockedServer("e", instructions="pin")})
    assert lock.instructions_of(tool) == "pin"
    assert lock.instructions_of(tool._replace(server="other")) is None
    assert lock.instructions_of(tool._replace(scope=Scope.GLOBAL)) is None
