"""The gates `policy` and `danger`, by what files say."""

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest

from remit.configuration.config_model import ConfigurationFile, ConfigurationLayer, LoadedFile
from remit.configuration.file_parser import read
from remit.configuration.policy_compiler import CompiledPolicy, compile_policy
from remit.configuration.toml_positions import positions
from remit.decision.agents import Agent, AgentProfile
from remit.decision.context import Context, FilterRefusal, ToolFilters
from remit.decision.danger import Danger
from remit.decision.decide import Decision, Verdict, decide, explain
from remit.decision.decision_index import DecisionIndex
from remit.decision.gates import Gate
from remit.decision.globs import glob, tool_globs
from remit.decision.kinds import Kind
from remit.decision.policy_rules import ConfigLocation, ListTarget, Mode, ToolList
from remit.decision.projects import Project, team_workspace
from remit.decision.scopes import Scope
from remit.decision.state_snapshot import Snapshot
from remit.decision.tool_names import REMIT
from remit.decision.tools import Tool
from support.builders import context, server

MACHINE = ConfigurationFile(ConfigurationLayer.MACHINE, "/home/ada/.config/remit/remit.toml")
PROJECT = ConfigurationFile(ConfigurationLayer.PROJECT, "/code/shop/remit.toml", "/code/shop")
LOCAL = ConfigurationFile(ConfigurationLayer.LOCAL, "/code/shop/remit.local.toml", "/code/shop")
MANAGED = ConfigurationFile(ConfigurationLayer.MANAGED, "/etc/remit/remit.toml")


def said(file: ConfigurationFile, text: str) -> LoadedFile:
    content, mistakes = read(tomllib.loads(text))
    assert mistakes == []
    return LoadedFile(file, content, positions(text))


def ruled(*files: LoadedFile, trusted: Sequence[tuple[LoadedFile, str]] = ()) -> CompiledPolicy:
    trust_requests = compile_policy(files, {}).trust_requests
    digests = {(each.file.path, each.subject): each.digest for each in trust_requests}
    keys = [(each.file.path, f"tools.{pattern}") for each, pattern in trusted]
    return compile_policy(files, {key: digests[key] for key in keys})


def here(
    *files: LoadedFile, trusted: Sequence[tuple[LoadedFile, str]] = (), mode: Mode | None = None
) -> Context:
    return replace(context(), policy=ruled(*files, trusted=trusted).policy, mode=mode)


def tool(
    own: str, label: str = "git", *, danger: Danger | None = None, is_trusted: bool | None = None
) -> Tool:
    made = server(label, is_trusted=is_trusted)
    return made._replace(name=f"mcp__{label}__{own}", kind=Kind.MCP_TOOL, danger=danger)


def machine(text: str) -> LoadedFile:
    return said(MACHINE, text)


def project(text: str) -> LoadedFile:
    return said(PROJECT, text)


def managed(text: str) -> LoadedFile:
    return said(MANAGED, text)


def verdict(tool: Tool, at: Context) -> tuple[Verdict, Gate | None]:
    decision = decide(tool, at)
    return decision.verdict, decision.gate


NOW = Snapshot()
VISIBLE = (Verdict.VISIBLE, None)
BLOCKED = (Verdict.HIDDEN, Gate.POLICY)
FORBIDDEN = (Verdict.HIDDEN, Gate.DANGER)
ASKED = (Verdict.ASK, Gate.DANGER)


def test_without_a_configuration_every_tool_passes() -> None:
    assert verdict(tool("delete_branch"), context()) == VISIBLE
    reasons = {each.gate: each.result.full_reason for each in explain(tool("delete_branch"), context())}
    assert reasons[Gate.POLICY] == "no rule applies"
    assert reasons[Gate.DANGER] == "`destructive` (its name says `delete`)"


def test_a_servers_lists_name_its_tools_as_it_does() -> None:
    at = here(project('[servers.playwright]\nallow = ["browser_*"]\nblock = ["browser_evaluate", "do.it"]'))
    assert verdict(tool("browser_click", "playwright"), at) == VISIBLE
    blocked = decide(tool("browser_evaluate", "playwright"), at)
    assert blocked.gate is Gate.POLICY
    assert (
        blocked.full_reason
        == "blocked by `browser_evaluate`: `servers.playwright.block` in remit.toml line 3"
    )
    assert blocked.unlock == "remove `browser_evaluate` from `servers.playwright.block` in remit.toml line 3"
    left_out = decide(tool("open", "playwright"), at)
    assert (
        left_out.full_reason
        == "not on the list of allowed tools: `servers.playwright.allow` in remit.toml line 2"
    )
    assert left_out.unlock == "add it to `servers.playwright.allow` in remit.toml line 2"
    assert decide(tool("do_it", "playwright"), at).full_reason.startswith("blocked by `do.it`")
    assert verdict(tool("open", "git"), at) == VISIBLE
    assert verdict(server("git")._replace(name="Read", kind=Kind.BUILTIN, server=None), at) == VISIBLE


def test_an_empty_allow_list_allows_nothing_and_an_empty_block_list_blocks_nothing() -> None:
    at = here(machine("[servers.git]\nallow = []\n[servers.web]\nblock = []"))
    assert verdict(tool("log"), at) == BLOCKED
    assert verdict(server("git"), at) == BLOCKED
    assert verdict(tool("get", "web"), at) == VISIBLE


def test_a_server_is_there_as_long_as_one_of_its_tools_may_be() -> None:
    some = here(machine('allow = ["mcp__git__log", "mcp__web__*"]'))
    assert verdict(server("git"), some) == VISIBLE
    assert verdict(server("web"), some) == VISIBLE
    assert verdict(server("mail"), some) == BLOCKED
    assert verdict(server("git"), here(machine('[servers.git]\nblock = ["log"]'))) == VISIBLE
    assert verdict(server("git"), here(machine('[servers.git]\nblock = ["*"]'))) == BLOCKED
    assert verdict(server("git"), here(machine('block = ["mcp__git"]'))) == BLOCKED


def test_blocking_beats_allowing_whichever_file_says_it() -> None:
    for allowing, blocking in ((machine, project), (project, machine), (managed, machine)):
        at = here(allowing('allow = ["*"]'), blocking('block = ["mcp__git__push"]'))
        assert verdict(tool("push"), at) == BLOCKED
        assert verdict(tool("log"), at) == VISIBLE


def test_every_allow_list_has_to_allow() -> None:
    at = here(machine('allow = ["mcp__git__*"]'), project('allow = ["*__log"]'))
    assert verdict(tool("log"), at) == VISIBLE
    assert verdict(tool("push"), at) == BLOCKED
    assert verdict(tool("log", "web"), at) == BLOCKED


def test_servers_are_named_by_patterns_and_as_clients_name_them() -> None:
    plugin = tool("run")._replace(name="mcp__plugin_ci_git__run", plugin="ci")
    assert verdict(plugin, here(machine('[servers."plugin:ci:*"]\nblock = ["run"]'))) == BLOCKED
    assert verdict(plugin, here(machine('[servers."g*"]\nblock = ["r*"]'))) == BLOCKED
    assert verdict(plugin, here(machine('[servers."*"]\nblock = ["mcp__plugin_ci_git__run"]'))) == BLOCKED
    loose = tool("run")._replace(name="mcp__other__run")  # a server whose label its name does not show
    assert verdict(loose, here(machine('[servers.git]\nblock = ["run"]'))) == BLOCKED


def test_an_agents_lists_hold_for_those_below_it() -> None:
    lead = Agent(name="lead", profile=AgentProfile())
    scout = Agent(name="scout", profile=AgentProfile(), parents=(lead,))
    at = here(machine('[agents.lead]\nblock = ["mcp__git__push"]\n[agents.scout]\nallow = ["mcp__git__*"]'))
    assert verdict(tool("push"), at) == VISIBLE  # the main session
    assert verdict(tool("push"), replace(at, agent=lead)) == BLOCKED
    assert verdict(tool("push"), replace(at, agent=scout)) == BLOCKED
    assert verdict(tool("get", "web"), replace(at, agent=lead)) == VISIBLE
    assert verdict(tool("get", "web"), replace(at, agent=scout)) == BLOCKED


def test_what_is_switched_off_for_ai_is_hidden_and_says_where() -> None:
    at = here(project('[tools."mcp__git__push"]\nai_enabled = false\n[tools."*"]\nai_enabled = true'))
    decision = decide(tool("push"), at)
    assert decision.gate is Gate.POLICY
    assert decision.reason == "switched off for AI: rule `tools.mcp__git__push.ai_enabled`"
    assert decision.full_reason == "disabled in remit.toml line 2"
    assert verdict(tool("log"), at) == VISIBLE


def test_what_a_filter_refuses_is_hidden_with_its_words() -> None:
    refused = tool("push")
    words = FilterRefusal(
        "hidden by the filter `f`", "hidden by the filter `f` (/f.py)", "change `f` in /f.py"
    )

    class Filters:
        states = frozenset[str]()

        def refusal(self, tool: Tool, context: Context) -> FilterRefusal | None:
            return words if tool == refused and context.client else None

    at = replace(context(), filters=cast("ToolFilters", Filters()))
    decided = decide(refused, at)
    assert (decided.reason, decided.full_reason, decided.unlock) == words
    assert decided.gate is Gate.POLICY
    assert verdict(tool("log"), at) == VISIBLE


MODES = {
    # plan, default, acceptEdits, dontAsk, bypass
    "safe": (VISIBLE, VISIBLE, VISIBLE, VISIBLE, VISIBLE),
    "low": (VISIBLE, VISIBLE, VISIBLE, VISIBLE, VISIBLE),
    "moderate": (FORBIDDEN, VISIBLE, VISIBLE, VISIBLE, VISIBLE),
    "destructive": (FORBIDDEN, VISIBLE, VISIBLE, VISIBLE, VISIBLE),
    "critical": (FORBIDDEN, ASKED, ASKED, FORBIDDEN, FORBIDDEN),
}


@pytest.mark.parametrize("danger", MODES)
def test_a_mode_shows_asks_about_or_hides_a_danger(danger: str) -> None:
    label = machine(f'[tools."*"]\ndanger = "{danger}"')
    assert tuple(verdict(tool("x"), here(label, mode=mode)) for mode in Mode) == MODES[danger]


def test_approval_is_asked_for_whatever_the_danger_unless_the_mode_lifts_or_hides_it() -> None:
    label = machine('[tools."*"]\ndanger = "safe"\napproval = true')
    found = tuple(verdict(tool("x"), here(label, mode=mode)) for mode in Mode)
    assert found == (ASKED, ASKED, ASKED, FORBIDDEN, VISIBLE)
    decision = decide(tool("x"), here(label))
    assert decision.full_reason == 'needs approval: `tools."*".approval` in ~/.config/remit/remit.toml line 3'
    assert decision.unlock == "call it, then answer with `remit approve`"
    assert decision.is_available


def test_in_a_teams_project_the_rules_of_the_team_and_its_project_are_named() -> None:
    rules = ConfigurationFile(ConfigurationLayer.TEAM, "team:payments/remit.toml")
    api = team_workspace(Project("team:payments/api", "a1"), Project("team:payments", "b2"))
    at = replace(here(said(rules, '[tools."*"]\napproval = true')), workspace=api)
    decision = decide(tool("x")._replace(scope=Scope.TEAM, project_hash="b2"), at)
    rule = '`tools."*".approval` in the rules of team payments, line 2'
    assert decision.full_reason == f"needs approval: {rule}"
    assert decision.unlock == "call it, then answer with `remit approve --project team:payments/api`"


def test_no_mode_lifts_the_approval_that_an_administrator_wants() -> None:
    label = managed('[tools."*"]\napproval = true')
    assert verdict(tool("x"), here(label, mode=Mode.BYPASS)) == ASKED


def test_ask_from_widens_what_is_asked_about_and_the_widest_counts() -> None:
    wide = machine('ask_from = "destructive"')
    decision = decide(tool("delete"), here(wide))
    assert verdict(tool("delete"), here(wide)) == ASKED
    assert decision.full_reason == (
        "needs approval: it is `destructive` (its name says `delete`), "
        "and `ask_from` in ~/.config/remit/remit.toml line 1 asks"
    )
    assert verdict(tool("write"), here(wide)) == VISIBLE
    assert verdict(tool("write"), here(wide, project('ask_from = "moderate"'))) == ASKED
    assert verdict(tool("delete"), here(wide, project('ask_from = "critical"'))) == ASKED


def test_a_mode_that_hides_says_what_it_hides_and_why() -> None:
    at = here(machine('[tools."*push"]\ndanger = "critical"'))
    place = '`critical` (`tools."*push".danger` in ~/.config/remit/remit.toml line 2)'
    found = {mode: decide(tool("push"), replace(at, mode=mode)) for mode in Mode}
    reasons = {mode: decision.full_reason for mode, decision in found.items()}
    assert reasons[Mode.PLAN] == f"mode `plan` shows nothing above `low`, and it is {place}"
    assert reasons[Mode.DONT_ASK] == f"mode `dontAsk` hides tools that need approval: it is {place}"
    assert reasons[Mode.BYPASS] == f"mode `bypass` shows nothing `critical`, and it is {place}"
    assert found[Mode.PLAN].unlock == "choose another mode"


def test_the_machines_mode_is_the_usual_one_and_another_may_be_asked_for() -> None:
    label = machine('mode = "plan"')
    assert verdict(tool("write"), here(label)) == FORBIDDEN
    hint = "choose another mode: `mode` in ~/.config/remit/remit.toml line 1 sets this one"
    assert decide(tool("write"), here(label)).unlock == hint
    assert verdict(tool("write"), here(label, mode=Mode.DEFAULT)) == VISIBLE


def test_an_administrators_mode_can_be_narrowed_and_not_widened() -> None:
    label = managed('mode = "plan"\n[tools."*"]\napproval = true')
    decision = decide(tool("write"), here(label, mode=Mode.BYPASS))
    assert decision.gate is Gate.DANGER
    assert decision.unlock == "only an administrator can: `mode` in /etc/remit/remit.toml line 1"
    usual = managed('mode = "default"\n[tools."*_x"]\napproval = true')
    assert verdict(tool("write"), here(usual, mode=Mode.PLAN)) == FORBIDDEN
    assert verdict(tool("read_x"), here(usual, mode=Mode.BYPASS)) == ASKED


def test_a_label_describes_and_the_pattern_with_most_letters_counts() -> None:
    at = here(
        machine('[tools."mcp__git__*"]\ndanger = "critical"\n[tools."mcp__git__log*"]\ndanger = "safe"')
    )
    assert verdict(tool("push"), at) == ASKED
    assert verdict(tool("logs"), at) == VISIBLE


def test_the_users_label_counts_before_what_a_server_says_and_before_its_name() -> None:
    at = here(machine('[tools."*push"]\ndanger = "low"'), mode=Mode.PLAN)
    assert verdict(tool("push", danger=Danger.DESTRUCTIVE), at) == VISIBLE
    assert verdict(tool("pull", danger=Danger.DESTRUCTIVE), at) == FORBIDDEN


def test_a_project_may_raise_a_danger_and_not_lower_it() -> None:
    low, high = '[tools."*"]\ndanger = "low"', '[tools."*"]\ndanger = "critical"'
    assert verdict(tool("delete"), here(project(low), mode=Mode.PLAN)) == FORBIDDEN
    assert verdict(tool("look"), here(project(high))) == ASKED
    assert verdict(tool("look"), here(machine(high), project(low))) == ASKED
    assert verdict(tool("look"), here(machine(low), project(high))) == ASKED


def test_a_project_that_is_trusted_may_lower_what_the_user_says_and_not_the_administrator() -> None:
    low, high = '[tools."*"]\ndanger = "low"', '[tools."*"]\ndanger = "critical"'
    lowering = project(low)
    trusted = [(lowering, "*")]
    assert verdict(tool("delete"), here(lowering, trusted=trusted, mode=Mode.PLAN)) == VISIBLE
    assert verdict(tool("look"), here(machine(high), lowering, trusted=trusted)) == VISIBLE
    assert verdict(tool("look"), here(managed(high), lowering, trusted=trusted)) == ASKED


def test_a_project_drops_the_users_approval_only_when_it_is_trusted() -> None:
    wanting, dropping = machine('[tools."*"]\napproval = true'), project('[tools."*"]\napproval = false')
    strict = managed('[tools."*"]\napproval = true')
    trusted = [(dropping, "*")]
    assert verdict(tool("x"), here(wanting, dropping)) == ASKED
    assert verdict(tool("x"), here(wanting, dropping, trusted=trusted)) == VISIBLE
    assert verdict(tool("x"), here(strict, wanting, dropping, trusted=trusted)) == ASKED
    assert verdict(tool("x"), here(project('[tools."*"]\napproval = true'))) == ASKED


def test_what_trust_was_given_to_is_the_label_as_it_stood() -> None:
    before, after = project('[tools."*"]\ndanger = "low"'), project('[tools."*"]\ndanger = "safe"')
    (request,) = compile_policy([before], {}).trust_requests
    known = {(request.file.path, request.subject): request.digest}
    assert (request.name, request.title, request.is_trusted) == ("*", "rule *", False)
    assert (request.detector, request.is_state) == (None, False)
    assert request.reasons == ("it can lower the danger of tools to `low`",)
    assert compile_policy([before], known).trust_requests[0].is_trusted
    assert compile_policy([after], known).trust_requests[0].is_changed
    assert compile_policy([machine('[tools."*"]\ndanger = "low"')], {}).trust_requests == ()


def test_a_rule_by_name_lowers_no_danger_of_a_projects_tool_except_in_its_own_trusted_file() -> None:
    wipe = tool("delete", is_trusted=True)
    low = '[tools."*delete"]\ndanger = "low"'
    for file in (machine(low), managed(low)):
        assert verdict(wipe, here(file, mode=Mode.PLAN)) == FORBIDDEN
        assert verdict(tool("delete"), here(file, mode=Mode.PLAN)) == VISIBLE
    own = project(low)
    assert verdict(wipe, here(own, mode=Mode.PLAN)) == FORBIDDEN
    assert verdict(wipe, here(own, mode=Mode.PLAN, trusted=[(own, "*delete")])) == VISIBLE
    raised = machine('[tools."*"]\ndanger = "critical"')
    assert verdict(tool("read", is_trusted=True), here(raised)) == ASKED


@pytest.mark.parametrize(
    ("files", "is_trusted", "trusts_annotations"),
    [
        ((), None, False),
        ((), True, False),
        ((), False, False),
        ((machine("[servers.git]\ntrusted = true"),), None, True),
        ((machine("[servers.git]\ntrusted = true"),), False, False),
        ((machine("[servers.git]\ntrusted = true"),), True, False),
        ((machine('[servers.git]\ntrusted = true\nprojects = ["*"]'),), True, True),
        ((machine("[servers.git]\ntrusted = false"),), None, False),
        ((project("[servers.git]\ntrusted = false"),), True, False),
        ((project("[servers.git]\ntrusted = true"),), False, False),
        ((machine("[servers.g]\ntrusted = true"),), False, False),
        ((managed("[servers.git]\ntrusted = false"), machine("[servers.git]\ntrusted = true")), None, False),
    ],
)
def test_annotations_lower_what_a_name_says_only_where_the_configuration_trusts_them(
    files: tuple[LoadedFile, ...], is_trusted: bool | None, trusts_annotations: bool
) -> None:
    harmless = tool("delete", danger=Danger.SAFE, is_trusted=is_trusted)
    found = verdict(harmless, here(*files, mode=Mode.PLAN))
    assert found == (VISIBLE if trusts_annotations else FORBIDDEN)


@pytest.mark.parametrize(
    ("name", "said", "is_trusted", "level"),
    [
        ("wipe_disk", Danger.SAFE, None, "`destructive` (its name says `wipe`)"),
        ("create_issue", Danger.LOW, True, "`moderate` (its name says `create`)"),
        ("look", Danger.SAFE, None, "`safe` (its server says so)"),
        ("look", Danger.SAFE, False, "`low` (default)"),
        ("look", Danger.DESTRUCTIVE, False, "`destructive` (its server says so)"),
        ("create_issue", Danger.DESTRUCTIVE, None, "`destructive` (its server says so)"),
        ("convert_time", Danger.SAFE, None, "`safe` (its server says so)"),
        ("convert_time", Danger.SAFE, False, "`moderate` (its name says `convert`)"),
        ("generate_and_send", Danger.SAFE, None, "`moderate` (its name says `generate`)"),
    ],
)
def test_annotations_raise_danger_and_count_where_the_name_says_little(
    name: str, said: Danger, is_trusted: bool | None, level: str
) -> None:
    explained = explain(tool(name, danger=said, is_trusted=is_trusted), context())
    assert {each.gate: each.result.full_reason for each in explained}[Gate.DANGER] == level


def test_the_memory_tools_of_remit_itself_are_rated_by_their_definitions() -> None:
    own = tool("run_hygiene", danger=Danger.LOW)._replace(source=REMIT)
    assert verdict(own, here(mode=Mode.PLAN)) == VISIBLE


def messages(*files: LoadedFile, trusted: Sequence[tuple[LoadedFile, str]] = ()) -> list[tuple[str, str]]:
    return [(file.path, each.message) for file, each in ruled(*files, trusted=trusted).violations]


def test_no_file_of_a_project_sets_a_mode_and_the_message_names_the_machines() -> None:
    for file in (PROJECT, LOCAL):
        found = ruled(machine(""), said(file, 'mode = "bypass"'))
        ((where, mistake),) = found.violations
        assert (where, mistake.path, mistake.message) == (file, ("mode",), "a project cannot set a mode")
        assert mistake.hint == "set it in /home/ada/.config/remit/remit.toml"
        at = replace(context(), policy=found.policy)
        assert verdict(tool("write"), at) == VISIBLE
    assert messages(machine('mode = "plan"'), managed('mode = "plan"')) == []
    assert ruled(project('mode = "plan"')).violations[0][1].hint is None


def test_what_would_undo_a_stronger_file_is_a_mistake_that_names_it() -> None:
    strict = machine('[tools."mcp__git__*"]\ndanger = "destructive"\napproval = true\nai_enabled = false')
    loose = '[tools."mcp__git__push"]\ndanger = "low"\napproval = false\nai_enabled = true'
    found = messages(strict, project(loose))
    assert found == [
        (PROJECT.path, f'it would undo `tools."mcp__git__*".{key}` in the machine file {MACHINE.path}')
        for key in ("danger", "approval", "ai_enabled")
    ]
    assert [path for path, _ in messages(managed(loose.replace("low", "safe")), strict)] == []
    assert [path for path, _ in messages(managed('[tools."*"]\napproval = true'), machine(loose))] == [
        MACHINE.path
    ]
    trusted = [(project(loose), "mcp__git__push")]
    assert messages(strict, project(loose), trusted=trusted) == found[-1:]  # what is off stays off
    assert len(messages(managed('[tools."*"]\napproval = true'), project(loose), trusted=trusted)) == 1
    assert messages(strict, project('[tools."mcp__web__x"]\napproval = false')) == []
    assert messages(strict, project('[tools."mcp__git__x"]\ndanger = "critical"\napproval = true')) == []


def test_a_project_cannot_have_its_servers_believed() -> None:
    assert messages(project("[servers.git]\ntrusted = true")) == [
        (PROJECT.path, "a project cannot make its own servers trusted to rate their tools")
    ]
    assert messages(project("[servers.git]\ntrusted = false")) == []
    assert messages(project('[servers.git]\nprojects = ["*"]')) == [
        (PROJECT.path, "a project cannot say which projects a rule is for")
    ]


def test_a_project_cannot_say_how_servers_are_run_nor_ignore_what_tools_need() -> None:
    text = """
    strategy = "flat"
    [servers.git]
    prefix = false
    deadline = 5
    [agents.scout]
    strategy = "flat"
    [rooms.git]
    strategy = "flat"
    """
    flat = "a project cannot choose `flat`, which ignores required states"
    run = "a project cannot set how servers run"
    assert messages(project(text)) == [(PROJECT.path, words) for words in (run, run, flat, flat, flat)]
    assert messages(project("[servers.git]\nprefix = false")) == [(PROJECT.path, run)]
    assert messages(project('[rooms.git]\nstrategy = "flat"')) == [(PROJECT.path, flat)]
    assert messages(machine(text), managed(text)) == []
    assert messages(project('strategy = "state"\n[servers.git]\nblock = ["x"]')) == []


def test_a_project_can_add_a_sandbox_for_its_own_files_but_remove_none() -> None:
    assert messages(project('[servers.git]\nsandbox = { read = [".", "a/../b"] }')) == []
    outside = "a project's sandbox can only contain its own files"
    text = '[servers.git]\nsandbox = { read = ["..", "/etc"], write = ["~/x", "a/../../b"] }'
    assert messages(project(text)) == [(PROJECT.path, outside)] * 4
    removed = "[servers.git]\nsandbox = false"
    assert messages(project(removed)) == [(PROJECT.path, "a project cannot remove a sandbox")]
    assert messages(machine(text), managed(removed)) == []


def test_a_policy_can_be_narrowed_by_one_list_more() -> None:
    at = here(machine('block = ["mcp__git__push"]\nask_from = "low"'))
    allowed = ToolList(
        ListTarget.ALL, glob("*"), (("x", tool_globs("mcp__git__*")),), True, ConfigLocation("/f", "x")
    )
    narrowed = replace(at, policy=at.policy.narrowed(allowed))
    assert verdict(tool("push"), narrowed) == BLOCKED
    assert verdict(tool("log"), narrowed) == verdict(tool("log"), at) == ASKED
    assert verdict(tool("log", "web"), narrowed) == BLOCKED
    assert verdict(tool("log", "web"), at) == ASKED


def test_a_roster_decides_as_a_single_decision_does() -> None:
    at = here(
        machine('block = ["*push"]\n[tools."*log"]\ndanger = "critical"\n[tools."*x"]\napproval = true')
    )
    tools = [tool(name) for name in ("push", "log", "x", "y", "delete")]
    for mode in (None, *Mode):
        now = replace(at, mode=mode)
        roster = DecisionIndex(tools, now)
        listed: list[Decision] = [item.decision for item in roster.at(NOW)]
        assert listed == [decide(each, replace(now, snapshot=NOW)) for each in tools]


@pytest.mark.parametrize("pattern", ["mcp__good__*", "mcp__good__x*", "good__*"])
def test_a_pattern_of_one_server_allows_no_server_whose_name_begins_alike(pattern: str) -> None:
    at = here(machine(f'allow = ["{pattern}"]'))
    assert verdict(tool("write", "good__x"), at) == BLOCKED
    assert verdict(server("good__x"), at) == BLOCKED
    assert verdict(tool("xray", "good"), at) == VISIBLE


@pytest.mark.parametrize("pattern", ["mcp__good__x__*", "mcp__good*", "mcp__*", "*", "mcp__good__x__write"])
def test_a_pattern_that_means_the_server_or_all_servers_allows_it(pattern: str) -> None:
    at = here(machine(f'allow = ["{pattern}"]'))
    assert verdict(tool("write", "good__x"), at) == VISIBLE
