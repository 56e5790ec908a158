"""What becomes of a call that a client makes by itself."""

import tomllib
from dataclasses import replace

import pytest

from remit.configuration.config_model import ConfigurationFile, ConfigurationLayer, LoadedFile
from remit.configuration.file_parser import read
from remit.configuration.policy_compiler import compile_policy
from remit.decision.agents import AgentProfile
from remit.decision.client_calls.calling_agents import agent_context
from remit.decision.client_calls.direct_calls import decide_call, depends_on_catalog
from remit.decision.client_reports import ClientCall
from remit.decision.context import Context
from remit.decision.decide import Verdict
from remit.decision.gates import Gate
from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.policy_rules import Mode
from remit.decision.scopes import Scope
from remit.decision.tools import Tool, Winner
from support.builders import CLIENT, context, server

MACHINE = ConfigurationFile(ConfigurationLayer.MACHINE, "/home/ada/.config/remit/remit.toml")
GIT = server("git")
COMMIT = GIT._replace(name="mcp__git__commit", kind=Kind.MCP_TOOL)


def ruled(text: str = "", *, mode: Mode | None = None) -> Context:
    content, mistakes = read(tomllib.loads(text))
    assert mistakes == []
    return replace(context(), policy=compile_policy([LoadedFile(MACHINE, content)], {}).policy, mode=mode)


def declared(name: str, kind: Kind, *, status: ConfigStatus = ConfigStatus.ENABLED) -> Tool:
    made = Tool(name, kind, CLIENT, Scope.GLOBAL, "/file", Authority.CONFIG, config_status=status)
    return made._replace(profile=AgentProfile()) if kind is Kind.SUBAGENT else made


REMIT = server("remit")._replace(config_status=ConfigStatus.ITSELF)
INSTALLED = replace(context(), starts_servers=True)


def test_what_is_in_force_goes_on() -> None:
    assert decide_call(ClientCall("mcp__git__commit"), [GIT, COMMIT], context()).is_available


def test_a_client_without_remit_may_call_what_it_started_itself() -> None:
    till = server("till", scope=Scope.PROJECT, is_trusted=False)
    assert decide_call(ClientCall("mcp__till__ring"), [till], context()).is_available


def test_with_remit_in_the_client_a_projects_server_must_be_trusted_even_if_the_client_started_it() -> None:
    till, call = server("till", scope=Scope.PROJECT, is_trusted=False), ClientCall("mcp__till__ring")
    found = decide_call(call, [till], INSTALLED)
    assert (found.verdict, found.gate) == (Verdict.HIDDEN, Gate.CONFIG)
    assert "not trusted" in found.reason
    assert decide_call(call, [till._replace(is_trusted=True)], INSTALLED).is_available


def resources(label: str) -> ClientCall:
    return ClientCall("ReadMcpResourceTool", reached=label)


def test_resources_are_decided_like_calls_of_their_server() -> None:
    till = server("till", scope=Scope.PROJECT, is_trusted=False)
    catalog = [REMIT, GIT, till]
    assert decide_call(resources("git"), catalog, INSTALLED).is_available
    assert decide_call(resources("remit"), catalog, INSTALLED).is_available
    assert "not trusted" in decide_call(resources("till"), catalog, INSTALLED).reason
    own = server("till")
    assert "not trusted" in decide_call(resources("till"), [*catalog, own], INSTALLED).reason
    assert decide_call(resources("till"), [REMIT, own], INSTALLED).is_available
    assert decide_call(resources("till"), catalog, context()).is_available
    blocked = decide_call(resources("git"), catalog, ruled('block = ["mcp__git__*"]'))
    assert (blocked.verdict, blocked.gate) == (Verdict.HIDDEN, Gate.POLICY)
    blocked = decide_call(resources("git"), catalog, ruled('block = ["ReadMcpResourceTool"]'))
    assert blocked.gate is Gate.POLICY


def test_resources_of_a_server_in_the_gateways_place_are_refused() -> None:
    hostile = server("remit", scope=Scope.PROJECT, is_trusted=False)._replace(agent="clerk")
    assert not decide_call(resources("remit"), [REMIT, hostile], INSTALLED).is_available


def test_resources_of_all_servers_and_of_an_unknown_one_are_not_simply_read() -> None:
    everything = decide_call(resources(""), [REMIT, GIT], INSTALLED)
    assert everything.verdict is Verdict.HIDDEN
    assert "name the server" in everything.reason
    assert decide_call(resources(""), [GIT], context()).is_available
    assert decide_call(resources("claude.ai Notes"), [REMIT, GIT], INSTALLED).verdict is Verdict.ASK
    assert decide_call(resources("claude.ai Notes"), [GIT], context()).is_available


RING = ClientCall("mcp__till__ring", server="till", source="project")
TILL = server("till", scope=Scope.PROJECT, is_trusted=True)
OTHER = Winner(Scope.LOCAL, "/home/ada/.claude.json")


def is_available(call: ClientCall, *rows: Tool) -> bool:
    return decide_call(call, [REMIT, GIT, *rows], INSTALLED).is_available


def test_a_projects_server_that_no_scanned_file_declares_is_refused() -> None:
    found = decide_call(RING, [REMIT, GIT, server("wiki", scope=Scope.PROJECT)], INSTALLED)
    assert (found.verdict, found.gate) == (Verdict.HIDDEN, Gate.CONFIG)
    assert "not trusted" in found.reason
    assert not is_available(RING, server("till"))
    assert not is_available(RING, TILL._replace(config_status=None))
    assert not is_available(RING, TILL._replace(authority=Authority.REPORT))
    assert is_available(RING, TILL)
    assert decide_call(RING, [], context()).is_available


@pytest.mark.parametrize("source", ["user", "local", "managed", "enterprise", "dynamic", "sdk", "claudeai"])
def test_a_server_that_no_repository_can_declare_needs_no_declaration(source: str) -> None:
    assert is_available(RING._replace(source=source))


@pytest.mark.parametrize("source", ["project", "plugin", "agent", "something-new"])
def test_a_server_of_any_other_source_does(source: str) -> None:
    assert not is_available(RING._replace(source=source), server("till"))


def test_a_server_without_a_source_is_the_one_that_its_name_belongs_to() -> None:
    call = ClientCall("mcp__till__ring")
    assert not is_available(call)
    assert not is_available(call._replace(server="other"), TILL)
    assert not is_available(call, TILL._replace(is_trusted=False))
    assert is_available(call, TILL)
    assert is_available(call._replace(server="till"), server("till"))
    assert is_available(ClientCall("Read"))
    assert not is_available(ClientCall("ring", server="till", source="project"), TILL)


def test_of_declarations_with_one_name_those_in_force_must_be_trusted() -> None:
    above = TILL._replace(dir="/code", is_trusted=False, shadowed_by=OTHER)
    assert is_available(RING, TILL, above)
    assert not is_available(RING, above._replace(is_trusted=True), TILL._replace(is_trusted=False))


def test_another_plugins_server_does_not_stand_for_one_of_a_similar_name() -> None:
    users = server("spell", scope=Scope.PLUGIN)._replace(plugin="a_b", name="mcp__plugin_a_b_spell__*")
    call = ClientCall("mcp__plugin_a_b_spell__go", server="spell", source="plugin", label="plugin:a_b:spell")
    assert is_available(call, users)
    assert not is_available(call._replace(label="plugin:a.b:spell"), users)
    assert not is_available(call, users._replace(is_trusted=False))


def test_a_server_whose_name_only_looks_like_a_plugins_must_be_trusted() -> None:
    label = "plugin:x:y"
    named = server(label, scope=Scope.PROJECT, is_trusted=False)._replace(name="mcp__plugin_x_y__*")
    call = ClientCall("mcp__plugin_x_y__go", server=label, source="project", label=label)
    assert not is_available(call, named)
    assert is_available(call, named._replace(is_trusted=True))


def test_remits_own_memory_does_not_stand_for_a_projects_server_of_that_name() -> None:
    own = server("remit-memory")._replace(source="Remit")
    theirs = server("remit-memory", scope=Scope.PROJECT, is_trusted=False)._replace(shadowed_by=OTHER)
    call = ClientCall("mcp__remit-memory__search", server="remit-memory", source="project")
    assert not is_available(call, own)
    assert not is_available(call, own, theirs)
    assert not is_available(call, own, theirs._replace(is_trusted=True))


def test_a_server_in_the_definition_of_a_projects_agent_must_be_trusted() -> None:
    inline = TILL._replace(agent="clerk", is_trusted=False)
    call = RING._replace(source="agent", agent="clerk")
    assert not is_available(call, inline)
    assert not is_available(call, TILL)
    assert not is_available(RING, TILL._replace(agent="clerk"))
    assert is_available(call, inline._replace(is_trusted=True))
    assert is_available(call, inline._replace(scope=Scope.GLOBAL, is_trusted=None))
    assert is_available(call, inline._replace(is_trusted=True), inline._replace(agent="other"))
    assert not is_available(call._replace(agent="helper"), inline)


@pytest.mark.parametrize(
    "call",
    [
        ClientCall("mcp__remit__wipe", server="remit", source="project"),
        ClientCall("mcp__remit__wipe", server="remit", source="dynamic"),
        ClientCall("mcp__remit__till__ring", server="remit__till", source="user"),
    ],
)
def test_only_the_installed_gateway_has_tools_of_its_name(call: ClientCall) -> None:
    found = decide_call(call, [REMIT], INSTALLED)
    assert (found.verdict, found.gate) == (Verdict.HIDDEN, Gate.CONFIG)
    assert "another server uses the name `remit`" in found.reason
    ours = ClientCall("mcp__remit__wipe", server="remit", source="user")
    assert decide_call(ours, [REMIT], INSTALLED).is_available
    assert decide_call(ClientCall("mcp__remit__wipe"), [REMIT], INSTALLED).is_available


def test_without_the_gateway_in_force_no_tool_of_its_name_is_called() -> None:
    call, other = ClientCall("mcp__remit__wipe", server="remit", source="user"), server("remit")
    hidden = REMIT._replace(shadowed_by=Winner(other.scope, other.source))
    assert not decide_call(call, [other, hidden], INSTALLED).is_available
    assert not decide_call(call, [], INSTALLED).is_available


def test_what_is_blocked_is_refused_with_the_reason() -> None:
    found = decide_call(ClientCall("mcp__git__commit"), [GIT, COMMIT], ruled('block = ["mcp__git__*"]'))
    assert (found.verdict, found.gate) == (Verdict.HIDDEN, Gate.POLICY)
    assert "blocked by `mcp__git__*`" in found.reason


def test_what_needs_approval_is_asked_about() -> None:
    found = decide_call(
        ClientCall("mcp__git__commit"), [GIT, COMMIT], ruled('[tools."mcp__git__*"]\napproval = true')
    )
    assert found.verdict is Verdict.ASK


def test_a_tool_that_was_never_seen_is_judged_by_its_name() -> None:
    assert decide_call(ClientCall("mcp__new__thing"), [], context()).is_available
    assert decide_call(ClientCall("Read"), [], context()).is_available
    assert not decide_call(ClientCall("mcp__new__thing"), [], ruled('block = ["mcp__new__*"]')).is_available
    assert not decide_call(ClientCall("Read"), [], ruled('allow = ["Write"]')).is_available


def test_a_tool_that_was_never_seen_has_the_status_of_its_server() -> None:
    off = GIT._replace(config_status=ConfigStatus.DISABLED)
    found = decide_call(ClientCall("mcp__git__push"), [off], context())
    assert (found.verdict, found.gate) == (Verdict.HIDDEN, Gate.CONFIG)


@pytest.mark.parametrize("source", ["dynamic", "sdk", "claudeai", "something-new"])
def test_a_server_that_no_file_declares_does_not_stand_for_one_of_the_same_name(source: str) -> None:
    off = GIT._replace(config_status=ConfigStatus.DISABLED)
    gone = off._replace(name="mcp__git__push", kind=Kind.MCP_TOOL)
    call = ClientCall("mcp__git__push", server="git", source=source)
    assert decide_call(call, [off, gone], context()).is_available
    assert not decide_call(call, [off, gone], ruled('block = ["mcp__git__push"]')).is_available
    assert not decide_call(call._replace(source="project"), [off, gone], context()).is_available


def test_of_servers_that_are_named_alike_the_one_that_is_called_is_meant() -> None:
    dotted = server("a.b")._replace(name="mcp__a_b__go", kind=Kind.MCP_TOOL)
    plain = dotted._replace(server="a_b", config_status=ConfigStatus.DISABLED)
    assert decide_call(ClientCall("mcp__a_b__go", server="a.b"), [dotted, plain], context()).is_available
    assert not decide_call(ClientCall("mcp__a_b__go", server="a_b"), [dotted, plain], context()).is_available
    assert decide_call(ClientCall("mcp__a_b__go", server="other"), [dotted, plain], context()).is_available


def test_another_clients_rows_count_for_nothing() -> None:
    assert decide_call(
        ClientCall("mcp__git__commit"), [COMMIT._replace(client="cursor")], context()
    ).is_available


@pytest.mark.parametrize(
    ("starter", "name", "kind"),
    [
        ("Skill", "deploy", Kind.SKILL),
        ("Skill", "/deploy", Kind.SLASH_COMMAND),
        ("SlashCommand", "/deploy", Kind.SLASH_COMMAND),
        ("Agent", "deploy", Kind.SUBAGENT),
        ("Task", "deploy", Kind.SUBAGENT),
    ],
)
def test_what_a_tool_starts_is_judged_too(starter: str, name: str, kind: Kind) -> None:
    call, rows = ClientCall(starter, subject="deploy"), [declared(name, kind)]
    assert decide_call(call, rows, context()).is_available
    found = decide_call(call, rows, ruled(f'[tools."{name}"]\nai_enabled = false'))
    assert "switched off for AI" in found.reason
    assert not decide_call(call, rows, ruled(f'block = ["{starter}"]')).is_available


def test_only_the_starter_counts_of_what_no_file_declares() -> None:
    assert decide_call(ClientCall("Skill", subject="unheard-of"), [], context()).is_available


@pytest.mark.parametrize("mode", ["plan", "dontAsk"])
def test_a_clients_mode_makes_it_narrower(mode: str) -> None:
    here = ruled('[tools."mcp__git__commit"]\napproval = true\ndanger = "moderate"')
    assert (
        decide_call(ClientCall("mcp__git__commit", mode=mode), [GIT, COMMIT], here).verdict is Verdict.HIDDEN
    )


@pytest.mark.parametrize("mode", ["bypassPermissions", "acceptEdits", "default", "unheard-of"])
def test_a_clients_mode_makes_nothing_wider(mode: str) -> None:
    here = ruled('mode = "dontAsk"\n[tools."mcp__git__commit"]\napproval = true')
    assert (
        decide_call(ClientCall("mcp__git__commit", mode=mode), [GIT, COMMIT], here).verdict is Verdict.HIDDEN
    )


def test_in_plan_mode_a_client_keeps_its_own_tools_to_the_plan() -> None:
    assert decide_call(ClientCall("Write", mode="plan"), [], context()).is_available
    assert not decide_call(
        ClientCall("Write", mode="dontAsk"), [], ruled("[tools.Write]\napproval = true")
    ).is_available


def with_agent(profile: AgentProfile) -> list[Tool]:
    return [GIT, COMMIT, declared("auditor", Kind.SUBAGENT)._replace(profile=profile)]


def test_an_agents_lists_count_for_its_calls() -> None:
    rows = with_agent(AgentProfile(denied_tools=("mcp__git__commit",)))
    found = decide_call(ClientCall("mcp__git__commit", agent="auditor"), rows, context())
    assert (found.verdict, found.gate) == (Verdict.HIDDEN, Gate.AGENT)
    assert decide_call(ClientCall("mcp__git__commit"), rows, context()).is_available


def test_of_an_agent_that_is_not_known_its_name_counts() -> None:
    here = ruled('[agents.Explore]\nblock = ["mcp__git__*"]')
    assert not decide_call(ClientCall("mcp__git__commit", agent="Explore"), [GIT, COMMIT], here).is_available
    assert decide_call(ClientCall("mcp__git__commit", agent="Plan"), [GIT, COMMIT], here).is_available
    assert decide_call(ClientCall("mcp__git__commit"), [GIT, COMMIT], here).is_available


def test_the_main_session_is_nobodys_agent() -> None:
    assert agent_context(None, with_agent(AgentProfile()), context()).agent is None


def test_what_goes_through_the_gateway_is_left_to_it() -> None:
    own = ClientCall("mcp__remit__git__commit")
    assert own.is_own
    assert decide_call(own, [GIT, COMMIT], ruled('block = ["mcp__git__*"]')).is_available
    assert decide_call(
        own._replace(agent="auditor"), [GIT, COMMIT], ruled('block = ["mcp__git__*"]')
    ).is_available


def test_through_the_gateway_an_agent_is_held_to_rules_of_its_own() -> None:
    own = ClientCall("mcp__remit__git__commit", agent="auditor")
    narrow = with_agent(AgentProfile(denied_tools=("mcp__git",)))
    assert decide_call(own, narrow, context()).gate is Gate.AGENT
    assert decide_call(own, with_agent(AgentProfile(servers=("wiki",))), context()).gate is Gate.AGENT
    assert decide_call(own, with_agent(AgentProfile(tools=("Read",))), context()).gate is Gate.AGENT
    assert decide_call(own, with_agent(AgentProfile()), context()).is_available
    assert decide_call(
        ClientCall("mcp__remit__discover_tools", agent="auditor"), narrow, context()
    ).is_available


@pytest.mark.parametrize("listed", ["mcp__remit", "mcp__remit__git__commit", "*"])
def test_a_list_that_has_the_name_which_is_called_admits_what_is_behind_it(listed: str) -> None:
    own = ClientCall("mcp__remit__git__commit", agent="auditor")
    assert decide_call(own, with_agent(AgentProfile(tools=(listed,))), context()).is_available
    denied = AgentProfile(tools=(listed,), denied_tools=("mcp__git__commit",))
    assert not decide_call(own, with_agent(denied), context()).is_available


def test_a_call_names_all_that_has_a_say_in_it() -> None:
    call = ClientCall("mcp__a__b__c", subject="deploy", agent="auditor")
    assert call.names == ["mcp__a__b__c", "mcp__a__b__*", "mcp__a__*", "deploy", "/deploy", "auditor"]
    called = ["mcp__remit__git__x", "mcp__remit__git__*", "mcp__remit__*"]
    assert ClientCall("mcp__remit__git__x").names == ["mcp__git__x", "mcp__git__*", *called]
    assert ClientCall("Read").names == ["Read"]


@pytest.mark.parametrize("agent", [None, "auditor"])
def test_a_server_that_is_only_called_as_remit_is_judged_as_any_other(agent: str | None) -> None:
    call, rules = ClientCall("mcp__remit__wipe", agent=agent), ruled('allow = ["mcp__git__*"]')
    assert decide_call(call, [REMIT], rules).is_available
    assert decide_call(call, [], rules).is_available
    other = server("remit", scope=Scope.PROJECT)
    outdone = REMIT._replace(shadowed_by=Winner(other.scope, other.source))
    found = decide_call(call, [other, outdone], rules)
    assert (found.verdict, found.gate) == (Verdict.HIDDEN, Gate.POLICY)
    assert decide_call(call, [other, outdone], context()).is_available


def test_a_server_that_is_not_in_force_takes_nothing_from_the_gateway() -> None:
    rules = ruled('allow = ["mcp__git__*"]')
    pending = server("remit", scope=Scope.PROJECT)._replace(config_status=ConfigStatus.PENDING)
    assert decide_call(ClientCall("mcp__remit__wipe"), [pending, REMIT], rules).is_available


def test_the_client_says_which_of_two_servers_a_name_means() -> None:
    rules, longer = ruled('allow = ["mcp__git__*"]'), server("remit__till")
    call = ClientCall("mcp__remit__till__ring", server="remit")
    assert decide_call(call, [longer, REMIT], rules).is_available
    assert not decide_call(call._replace(server="remit__till"), [longer, REMIT], rules).is_available


def test_the_declaration_that_the_client_started_counts_among_those_of_one_name() -> None:
    theirs = server("git", scope=Scope.PROJECT, config_status=ConfigStatus.DENIED)
    push = theirs._replace(name="mcp__git__commit", kind=Kind.MCP_TOOL)
    rows = [GIT, COMMIT, theirs, push]
    assert decide_call(ClientCall("mcp__git__commit", source="user"), rows, context()).is_available
    assert not decide_call(ClientCall("mcp__git__commit", source="project"), rows, context()).is_available


def test_a_tool_of_the_users_server_does_not_stand_for_a_projects_server_of_that_name() -> None:
    theirs = server("git", scope=Scope.PROJECT, config_status=ConfigStatus.PENDING, is_trusted=False)
    call = ClientCall("mcp__git__commit", server="git", source="project")
    assert not decide_call(call, [GIT, COMMIT, theirs], INSTALLED).is_available
    assert not decide_call(call, [GIT, COMMIT], INSTALLED).is_available
    assert decide_call(call._replace(source="user"), [GIT, COMMIT, theirs], INSTALLED).is_available


def test_a_tool_that_the_server_lists_to_the_client_alone_goes_on() -> None:
    unlisted = COMMIT._replace(is_unlisted=True, status=ToolStatus.STALE)
    assert decide_call(ClientCall("mcp__git__commit"), [GIT, unlisted], context()).is_available


def test_a_decision_about_resources_depends_on_the_rows_of_their_server() -> None:
    assert "mcp__plugin_shop_till__*" in resources("plugin:shop:till").names
    assert resources("").names == ClientCall("ReadMcpResourceTool").names


SCOUT = declared("scout", Kind.SUBAGENT)._replace(
    profile=AgentProfile(inherits_project=False, inherits_parent=True)
)
LEAD = declared("lead", Kind.SUBAGENT)._replace(profile=AgentProfile(servers=("git",), tools=("Agent",)))
BY_SCOUT = ClientCall("mcp__git__commit", agent="scout")


def test_a_child_has_the_servers_of_the_parents_that_the_client_tells_of() -> None:
    rows = [GIT, COMMIT, SCOUT, LEAD]
    unknown = decide_call(BY_SCOUT, rows, context())
    assert (unknown.gate, unknown.unlock) == (Gate.AGENT, "name its parent with `--parent`")
    assert "its parent is not known here" in unknown.reason
    assert decide_call(BY_SCOUT._replace(parents=()), rows, context()).is_available
    assert decide_call(BY_SCOUT._replace(parents=("lead",)), rows, context()).is_available
    web = ClientCall("mcp__web__get", agent="scout", parents=("lead",))
    refused = decide_call(web, [server("web"), SCOUT, LEAD], context())
    assert "agent `lead` has only the servers it lists: `git`" in refused.reason
    assert {"scout", "lead"} <= set(web.names)


def test_a_block_for_a_parent_holds_for_its_children_and_its_tool_list_does_not() -> None:
    call = ClientCall("Bash", agent="scout", parents=("lead",))
    assert decide_call(call, [SCOUT, LEAD], context()).is_available
    blocked = decide_call(call, [SCOUT, LEAD], ruled('[agents.lead]\nblock = ["Bash"]\n'))
    assert blocked.gate is Gate.POLICY


SCOUTS = '[agents.scout]\nblock = ["mcp__git__commit"]\n'
BY_GATEWAY = ClientCall("mcp__remit__git__commit", agent="scout", parents=())
OTHER_SPELLINGS = [
    "git__commit",
    "mcp__git__commit",
    "mcp__remit__git__commit",
    "mcp__remit__mcp__git__commit",
]


@pytest.mark.parametrize("rows", [[GIT, COMMIT], [GIT]], ids=["listed", "not listed yet"])
@pytest.mark.parametrize("name", OTHER_SPELLINGS)
def test_every_spelling_of_a_tool_behind_the_gateway_is_held_to_the_agents_rules(
    name: str, rows: list[Tool]
) -> None:
    call = BY_GATEWAY._replace(name=f"mcp__remit__{name}", through="mcp__remit__call_tool")
    assert decide_call(call, rows, ruled(SCOUTS)).gate is Gate.POLICY
    assert decide_call(call._replace(agent="clerk"), rows, ruled(SCOUTS)).verdict is not Verdict.HIDDEN


def test_a_character_that_the_gateway_replaces_does_not_free_an_agent() -> None:
    status = COMMIT._replace(name="mcp__git__git_status")
    call = BY_GATEWAY._replace(name="mcp__remit__git__git.status")
    rules = ruled('[agents.scout]\nblock = ["mcp__git__git_status"]\n')
    for rows in ([GIT, status], [GIT]):
        assert decide_call(call, rows, rules).gate is Gate.POLICY
    assert {"mcp__git__git.status", "mcp__git__git_status"} <= set(call.names)


@pytest.mark.parametrize("served", ["commit", "git__com_0123abcd", "com_0123abcd"])
def test_a_served_name_without_its_server_or_with_a_hash_does_not_free_an_agent(served: str) -> None:
    call = BY_GATEWAY._replace(name=f"mcp__remit__{served}")
    assert decide_call(call, [GIT, COMMIT], ruled(SCOUTS)).gate is Gate.POLICY
    assert decide_call(call._replace(agent=None), [GIT, COMMIT], ruled(SCOUTS)).is_available
    reported = COMMIT._replace(name=f"mcp__{served}", authority=Authority.HOOK, config_status=None)
    assert decide_call(call, [GIT, COMMIT, reported], ruled(SCOUTS)).gate is Gate.POLICY


@pytest.mark.parametrize("served", ["git", "push", "git__x_0123abcd", "_0123abcd", "discover_tools"])
def test_a_name_of_something_else_is_left_to_the_gateway(served: str) -> None:
    call = BY_GATEWAY._replace(name=f"mcp__remit__{served}")
    assert decide_call(call, [GIT, COMMIT], ruled(SCOUTS)).is_available


def test_what_everybody_is_refused_does_not_hide_what_an_agent_is_refused() -> None:
    odd = server("mcp")
    rows = [GIT, COMMIT, odd, odd._replace(name="mcp__mcp__git__commit", kind=Kind.MCP_TOOL)]
    call = BY_GATEWAY._replace(name="mcp__remit__mcp__git__commit")
    rules = ruled('block = ["mcp__mcp__*"]\n' + SCOUTS)
    assert decide_call(call, rows, rules).gate is Gate.POLICY


@pytest.mark.parametrize(
    ("mode", "verdict", "rule"),
    [("plan", Verdict.ASK, 'danger = "moderate"'), ("dontAsk", Verdict.HIDDEN, "approval = true")],
)
def test_a_clients_mode_makes_what_is_behind_the_gateway_narrower_too(
    mode: str, verdict: Verdict, rule: str
) -> None:
    here = ruled(f'[tools."mcp__git__commit"]\n{rule}')
    call = ClientCall("mcp__remit__git__commit", mode=mode)
    found = decide_call(call, [GIT, COMMIT], here)
    assert (found.verdict, found.gate) == (verdict, Gate.DANGER)
    assert mode in found.reason
    low = ruled('[tools."mcp__git__commit"]\ndanger = "low"')
    assert decide_call(call, [GIT, COMMIT], low).is_available
    assert decide_call(call._replace(name="mcp__remit__discover_tools"), [GIT], here).is_available


ORPHAN = ClientCall("Read", agent="helper", is_orphan=True)


def test_below_an_unknown_parent_the_rules_for_every_agent_apply() -> None:
    rules = ruled('[agents."sco*"]\nblock = ["Read"]\n[agents.clerk]\nblock = ["Bash"]\n')
    found = decide_call(ORPHAN, [], rules)
    assert (found.verdict, found.gate) == (Verdict.HIDDEN, Gate.POLICY)
    assert found.reason.startswith("the agent that started this one is unknown")
    assert 'agents."sco*".block' in found.reason
    assert decide_call(ORPHAN._replace(name="Edit"), [], rules).is_available
    assert decide_call(ORPHAN._replace(is_orphan=False, parents=()), [], rules).is_available
    assert decide_call(ORPHAN, [], context()).is_available


def test_below_an_unknown_parent_the_gateways_tools_are_held_to_these_rules_too() -> None:
    call = ORPHAN._replace(name="mcp__remit__git__commit")
    assert decide_call(call, [GIT, COMMIT], ruled(SCOUTS)).gate is Gate.POLICY
    assert decide_call(call, [GIT, COMMIT], context()).is_available


def test_what_depends_on_rows_of_other_names_is_known() -> None:
    rows = [GIT, COMMIT]
    assert depends_on_catalog(ORPHAN, rows)
    assert not depends_on_catalog(BY_GATEWAY, rows)
    assert depends_on_catalog(BY_GATEWAY._replace(name="mcp__remit__commit"), rows)
    assert depends_on_catalog(ClientCall("mcp__remit__commit", mode="plan"), rows)
    assert not depends_on_catalog(ClientCall("mcp__remit__commit"), rows)
    assert not depends_on_catalog(ClientCall("Read", agent="scout"), rows)
