"""What each gate hides or asks about, in which order, and in which words."""

from remit.decision import (
    Agent,
    AgentProfile,
    Authority,
    ClientPermissions,
    Context,
    Face,
    FilterRefusal,
    Gate,
    Held,
    Kind,
    Mode,
    ModeSetting,
    Origin,
    PermissionEffect,
    PermissionRule,
    Rules,
    RuleStrength,
    Scope,
    Status,
    Tool,
    Verdict,
    Winner,
    decide,
    explain,
    offered_alone,
    told_to_models,
)
from remit.decision import ToolDecision as Listed
from remit.decision.when import Condition
from support.builders import BLOG, context, listed, rule, server, tool


def gate_of(row: Tool, at: Context) -> tuple[Verdict, Gate | None]:
    decision = decide(row, at)
    return decision.verdict, decision.gate


VISIBLE = (Verdict.VISIBLE, None)


def test_a_tool_of_another_project_is_hidden_as_if_it_did_not_exist() -> None:
    decision = decide(tool(scope=Scope.PROJECT, workspace=BLOG), context())
    assert decision == decide(tool("mcp__x__y", scope=Scope.LOCAL, workspace=BLOG), context())
    assert (decision.gate, decision.reason) == (Gate.SCOPE, "no tool of this name is known here")
    assert decision.unlock is decision.detail is None


def test_a_declaration_for_another_client_says_for_which() -> None:
    decision = decide(tool(client="cursor"), context())
    assert (decision.gate, decision.reason) == (Gate.CONFIG, "declared for Cursor")
    assert gate_of(tool(client="cursor"), context(client=None)) == VISIBLE


def test_every_status_but_enabled_is_hidden_at_config() -> None:
    passing = {status for status in Status if gate_of(server(status=status), context()) == VISIBLE}
    assert passing == {Status.ENABLED, Status.SEEN, Status.NESTED}
    served = {status for status in Status if gate_of(server(status=status), gateway()) == VISIBLE}
    assert served == {Status.ENABLED, Status.SEEN, Status.UNSERVED}


def gateway(**fields: object) -> Context:
    return context()._replace(face=Face.GATEWAY, **fields)  # type: ignore[arg-type]


def test_an_untrusted_server_is_hidden_only_where_remit_guards_or_serves() -> None:
    projects = server(scope=Scope.PROJECT, is_trusted=False)
    assert gate_of(projects, context()) == VISIBLE
    for face in (Face.GUARDED, Face.GATEWAY):
        assert gate_of(projects, context(face=face)) == (Verdict.HIDDEN, Gate.CONFIG)


def test_reports_and_hooks_never_make_a_tool_that_is_served() -> None:
    for authority in (Authority.HOOK, Authority.REPORT):
        seen = tool(authority=authority, status=Status.SEEN)
        assert gate_of(seen, context()) == VISIBLE
        assert gate_of(seen, gateway()) == (Verdict.HIDDEN, Gate.CONFIG)


def test_a_shadowed_declaration_names_the_one_that_counts() -> None:
    decision = decide(server(shadowed_by=Winner(Scope.LOCAL, "/home/ada/.claude.json")), context())
    assert decision.gate is Gate.PRECEDENCE
    assert decision.reason == "shadowed by the local declaration"
    assert decision.full_reason == "shadowed by the local declaration in ~/.claude.json"


def test_an_agent_has_what_its_lists_admit() -> None:
    scout = Agent("scout", AgentProfile(servers=("web",), tools=("mcp__web__get",)))
    at = context(agent=scout)
    assert gate_of(tool(), at) == (Verdict.HIDDEN, Gate.AGENT)
    assert gate_of(tool("mcp__web__get"), at) == VISIBLE
    assert gate_of(tool("mcp__web__put"), at) == (Verdict.HIDDEN, Gate.AGENT)
    assert gate_of(server("web", agent="scout"), context()) == (Verdict.HIDDEN, Gate.AGENT)


def test_the_first_gate_that_objects_decides_and_the_others_are_explained() -> None:
    row = tool("mcp__git__delete", held=Held("changed", "`a` was `b`", "run `remit trust git`"))
    at = context(rules=Rules([rule("*", approval=True)], [listed("mcp__git__*")]))
    assert gate_of(row, at) == (Verdict.HIDDEN, Gate.POLICY)
    verdicts = {item.gate: item.verdict for item in explain(row, at)}
    assert [gate for gate, verdict in verdicts.items() if verdict is not Verdict.VISIBLE] == [
        Gate.POLICY,
        Gate.DEFINITION,
        Gate.DANGER,
    ]
    assert Gate.ARGUMENTS not in verdicts


def test_a_filters_refusal_hides_with_its_words() -> None:
    row = tool()
    at = context(refusals={row.key: FilterRefusal("not today", "not today (/f.py)", "change /f.py")})
    decision = decide(row, at)
    assert (decision.gate, decision.reason, decision.full_reason) == (
        Gate.POLICY,
        "not today",
        "not today (/f.py)",
    )
    assert gate_of(tool("mcp__git__log"), at) == VISIBLE


def test_a_held_definition_tells_models_only_its_name() -> None:
    held = Held("its definition changed", "it says `steal`", "run `remit trust git`")
    row = tool(held=held, description="steal", definition="abc")
    decision = decide(row, context())
    assert (decision.gate, decision.reason, decision.full_reason) == (
        Gate.DEFINITION,
        held.reason,
        held.detail,
    )
    (told,) = told_to_models([Listed(row, decision)])
    assert (told.tool.description, told.tool.definition, told.tool.name) == (None, None, row.name)


def test_a_rule_is_named_by_its_key_to_models_and_with_its_place_to_people() -> None:
    decision = decide(tool(), context(rules=Rules([rule("mcp__git__*", ai_enabled=False)])))
    assert decision.reason == "switched off for AI: rule `tools.mcp__git__*.ai_enabled`"
    assert decision.full_reason == "disabled in ~/remit.toml line 3"
    assert decision.unlock == "run `remit enable mcp__git__status`"


def test_a_client_that_denies_hides_and_one_that_asks_asks() -> None:
    def ruled(effect: PermissionEffect, **fields: object) -> Context:
        written = PermissionRule(effect, "mcp__git", Origin("/home/ada/.claude/settings.json", "permissions"))
        permissions = {"claude-code": ClientPermissions([written])}
        return context()._replace(permissions=permissions, **fields)  # type: ignore[arg-type]

    assert gate_of(tool(), ruled(PermissionEffect.DENY)) == (Verdict.HIDDEN, Gate.POLICY)
    asked = decide(tool(), ruled(PermissionEffect.ASK))
    assert (asked.verdict, asked.gate, asked.by_client) == (Verdict.ASK, Gate.DANGER, True)
    quiet = ruled(PermissionEffect.ASK, mode=Mode.DONT_ASK)
    assert gate_of(tool(), quiet) == (Verdict.HIDDEN, Gate.DANGER)
    assert gate_of(tool(), ruled(PermissionEffect.ALLOW)) == VISIBLE


def test_what_the_client_offers_alone_knows_no_rule_of_ours() -> None:
    rows = [tool(), tool("mcp__web__get")]
    at = context(rules=Rules(lists=[listed("mcp__git__*")]), face=Face.GUARDED)
    items = [Listed(row, decide(row, at)) for row in rows]
    assert [item.tool.name for item in offered_alone(items, at)] == [row.name for row in rows]


def test_an_administrators_mode_can_be_narrowed_and_not_widened() -> None:
    origin = Origin("/etc/remit/remit.toml", "mode", 1)
    rules = Rules(
        [rule("*_x", approval=True, strength=RuleStrength.MANAGED)], fixed_mode=ModeSetting(Mode.PLAN, origin)
    )
    decision = decide(tool("mcp__git__write"), context(rules=rules, mode=Mode.BYPASS))
    assert decision.gate is Gate.DANGER
    assert decision.unlock == "only an administrator can: `mode` in /etc/remit/remit.toml line 1"
    usual = Rules(rules.tools, fixed_mode=ModeSetting(Mode.DEFAULT, origin))
    assert gate_of(tool("mcp__git__read_x"), context(rules=usual, mode=Mode.BYPASS)) == (
        Verdict.ASK,
        Gate.DANGER,
    )


def test_a_clients_own_tools_are_rated_by_their_names() -> None:
    assert gate_of(tool("Bash", kind=Kind.BUILTIN), context(mode=Mode.PLAN)) == (Verdict.HIDDEN, Gate.DANGER)
    assert gate_of(tool("Read", kind=Kind.BUILTIN), context(mode=Mode.PLAN)) == VISIBLE


def test_a_rule_about_arguments_passes_a_listing_and_decides_each_call() -> None:
    _, call = Condition(when="args.env == 'dev'").split()
    at = context(rules=Rules([rule("mcp__git__*", call=call)]))
    assert gate_of(tool(), at) == VISIBLE
    listing = next(item for item in explain(tool(), at) if item.gate is Gate.ARGUMENTS)
    assert listing.reason == "each call is checked: `args.env`"
    refused = decide(tool(), at._replace(args={"env": "prod"}))
    assert refused.gate is Gate.ARGUMENTS
    assert "args.env" in refused.reason
    assert gate_of(tool(), at._replace(args={"env": "dev"})) == VISIBLE
    assert gate_of(tool(), at._replace(args={})) == (Verdict.HIDDEN, Gate.ARGUMENTS)


def test_an_approval_may_be_a_condition_that_asks_if_it_holds_or_has_no_value() -> None:
    at = context(rules=Rules([rule("*", approval=Condition(when="args.amount > 100"))]))
    assert gate_of(tool(), at) == VISIBLE
    verdicts = [gate_of(tool(), at._replace(args=args))[0] for args in ({"amount": 5}, {"amount": 500}, {})]
    assert verdicts == [Verdict.VISIBLE, Verdict.ASK, Verdict.ASK]
