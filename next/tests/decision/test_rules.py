"""Lists, dangers, approvals and modes: what the rules of all files say together."""

import pytest

from remit.decision import (
    Agent,
    AgentProfile,
    AnnotationTrust,
    Context,
    Danger,
    Gate,
    Kind,
    Mode,
    Rules,
    RuleStrength,
    Tool,
    ToolList,
    Verdict,
    by_annotations,
    by_name,
    decide,
    glob,
    of_command,
)
from support.builders import context, listed, rule, server, tool

VISIBLE = (Verdict.VISIBLE, None)
BLOCKED = (Verdict.HIDDEN, Gate.POLICY)
FORBIDDEN = (Verdict.HIDDEN, Gate.DANGER)
ASKED = (Verdict.ASK, Gate.DANGER)
NARROWING, TRUSTED, MACHINE, MANAGED = RuleStrength


def verdict(row: Tool, *lists: ToolList, at: Context | None = None) -> tuple[Verdict, Gate | None]:
    decision = decide(row, (at or context())._replace(rules=Rules(lists=lists)) if lists else at or context())
    return decision.verdict, decision.gate


def test_a_servers_lists_name_its_tools_as_it_does() -> None:
    lists = (
        listed("browser_*", server="playwright", allows=True),
        listed("browser_evaluate", server="playwright"),
    )
    assert verdict(tool("mcp__playwright__browser_click"), *lists) == VISIBLE
    assert verdict(tool("mcp__playwright__browser_evaluate"), *lists) == BLOCKED
    assert verdict(tool("mcp__playwright__open"), *lists) == BLOCKED
    assert verdict(tool("mcp__git__open"), *lists) == VISIBLE


def test_blocking_beats_allowing_and_every_allow_list_has_to_allow() -> None:
    assert verdict(tool(), listed("*", allows=True), listed("mcp__git__status")) == BLOCKED
    both = (listed("mcp__git__*", allows=True), listed("*__log", allows=True))
    assert verdict(tool("mcp__git__log"), *both) == VISIBLE
    assert verdict(tool("mcp__git__push"), *both) == BLOCKED
    assert verdict(tool(), listed(allows=True)) == BLOCKED
    assert verdict(tool(), listed()) == VISIBLE


def test_a_server_is_visible_while_any_of_its_tools_may_be() -> None:
    some = listed("mcp__git__log", "mcp__web__*", allows=True)
    assert [verdict(server(label), some) for label in ("git", "web", "mail")] == [VISIBLE, VISIBLE, BLOCKED]
    assert verdict(server(), listed("log", server="git")) == VISIBLE
    assert verdict(server(), listed("*", server="git")) == BLOCKED
    assert verdict(server(), listed("mcp__git")) == BLOCKED


@pytest.mark.parametrize("pattern", ["mcp__good__*", "mcp__good__x*"])
def test_a_pattern_of_one_server_allows_no_server_whose_name_begins_alike(pattern: str) -> None:
    other = tool("mcp__good__x__run", server="good__x")
    assert verdict(other, listed(pattern, allows=True)) == BLOCKED


def test_an_agents_lists_hold_for_those_below_it() -> None:
    lead = Agent("lead", AgentProfile())
    scout = Agent("scout", AgentProfile(), (lead,))
    block = listed("mcp__git__push", agent="lead")
    push = tool("mcp__git__push")
    assert verdict(push, block) == VISIBLE
    assert verdict(push, block, at=context(agent=scout)) == BLOCKED


MODES = {  # plan, default, acceptEdits, dontAsk, bypass
    Danger.SAFE: (VISIBLE, VISIBLE, VISIBLE, VISIBLE, VISIBLE),
    Danger.LOW: (VISIBLE, VISIBLE, VISIBLE, VISIBLE, VISIBLE),
    Danger.MODERATE: (FORBIDDEN, VISIBLE, VISIBLE, VISIBLE, VISIBLE),
    Danger.DESTRUCTIVE: (FORBIDDEN, VISIBLE, VISIBLE, VISIBLE, VISIBLE),
    Danger.CRITICAL: (FORBIDDEN, ASKED, ASKED, FORBIDDEN, FORBIDDEN),
}


@pytest.mark.parametrize("danger", MODES)
def test_a_mode_shows_asks_about_or_hides_a_danger(danger: Danger) -> None:
    at = context(rules=Rules([rule("*", danger=danger)]))
    assert tuple(verdict(tool(), at=at._replace(mode=mode)) for mode in Mode) == MODES[danger]


def test_approval_is_asked_for_unless_the_mode_lifts_or_hides_it() -> None:
    at = context(rules=Rules([rule("*", approval=True, danger=Danger.SAFE)]))
    verdicts = tuple(verdict(tool(), at=at._replace(mode=mode)) for mode in Mode)
    assert verdicts == (ASKED, ASKED, ASKED, FORBIDDEN, VISIBLE)
    strict = context(rules=Rules([rule("*", approval=True, strength=MANAGED)]), mode=Mode.BYPASS)
    assert verdict(tool(), at=strict) == ASKED
    decision = decide(tool(), at)
    assert decision.full_reason == "needs approval: `tools.*.approval` in ~/remit.toml line 3"
    assert decision.unlock == "call it, then answer with `remit approve`"


def test_ask_from_widens_what_is_asked_about() -> None:
    rules = Rules(ask_from=(Danger.DESTRUCTIVE, listed("x").origin))
    assert verdict(tool("mcp__git__delete"), at=context(rules=rules)) == ASKED
    assert verdict(tool("mcp__git__write"), at=context(rules=rules)) == VISIBLE


def in_plan(row: Tool, *rules: object) -> tuple[Verdict, Gate | None]:
    return verdict(row, at=context(rules=Rules(rules), mode=Mode.PLAN))  # type: ignore[arg-type]


def test_the_pattern_with_most_letters_counts() -> None:
    rules = (rule("mcp__git__*", danger=Danger.CRITICAL), rule("mcp__git__log*", danger=Danger.SAFE))
    assert in_plan(tool("mcp__git__logs"), *rules) == VISIBLE
    assert in_plan(tool("mcp__git__look"), *rules) == FORBIDDEN


def test_a_weaker_file_raises_a_danger_and_a_trusted_part_may_lower_it_but_not_the_administrators() -> None:
    def low(strength: RuleStrength) -> object:
        return rule("*", danger=Danger.LOW, strength=strength)

    def high(strength: RuleStrength) -> object:
        return rule("*", danger=Danger.CRITICAL, strength=strength)

    delete, look = tool("mcp__git__delete"), tool("mcp__git__look")
    assert in_plan(delete, low(NARROWING)) == FORBIDDEN
    assert in_plan(look, low(MACHINE), high(NARROWING)) == FORBIDDEN
    assert in_plan(look, high(MACHINE), low(NARROWING)) == FORBIDDEN
    assert in_plan(look, high(MACHINE), low(TRUSTED)) == VISIBLE
    assert in_plan(look, high(MANAGED), low(TRUSTED)) == FORBIDDEN


def test_only_a_trusted_part_of_a_project_drops_the_users_approval() -> None:
    def asked(*rules: object) -> tuple[Verdict, Gate | None]:
        return verdict(tool(), at=context(rules=Rules(rules)))  # type: ignore[arg-type]

    wanted = rule("*", approval=True)
    assert asked(wanted, rule("*", approval=False, strength=NARROWING)) == ASKED
    assert asked(wanted, rule("*", approval=False, strength=TRUSTED)) == VISIBLE
    managed = rule("*", approval=True, strength=MANAGED)
    assert asked(managed, wanted, rule("*", approval=False, strength=TRUSTED)) == ASKED
    assert asked(rule("*", approval=True, strength=NARROWING)) == ASKED


def test_a_rule_by_name_lowers_no_danger_of_a_projects_tool() -> None:
    mine = rule("*", danger=Danger.LOW)
    assert in_plan(tool("mcp__git__delete"), mine) == VISIBLE
    assert in_plan(tool("mcp__git__delete", is_trusted=True), mine) == FORBIDDEN


def test_annotations_lower_a_name_only_where_the_configuration_trusts_them() -> None:
    wipe = tool("mcp__git__wipe", danger=Danger.SAFE)

    def rated(*trust: AnnotationTrust, row: Tool = wipe) -> Danger:
        return Rules(annotation_trust=trust).rate(row).rating.level

    believed = AnnotationTrust(glob("git"), is_trusted=True)
    assert rated() is Danger.DESTRUCTIVE
    assert rated(believed) is Danger.SAFE
    assert rated(believed, row=wipe._replace(is_trusted=True)) is Danger.DESTRUCTIVE
    assert rated(row=tool("mcp__git__look", danger=Danger.DESTRUCTIVE)) is Danger.DESTRUCTIVE
    assert rated(row=tool("mcp__git__look", danger=Danger.SAFE)) is Danger.SAFE
    untrusted = AnnotationTrust(glob("git"), is_trusted=False)
    assert rated(untrusted, row=tool("mcp__git__look", danger=Danger.SAFE)) is Danger.LOW


def test_missing_hints_count_as_the_worst_if_any_is_given() -> None:
    def rated(**hints: object) -> Danger | None:
        return by_annotations({"name": "x", "annotations": hints})

    assert rated() is None
    assert rated(title="x") is None
    assert rated(readOnlyHint=True) is Danger.LOW
    assert rated(readOnlyHint=True, openWorldHint=False) is Danger.SAFE
    assert rated(idempotentHint=True) is Danger.DESTRUCTIVE
    assert rated(destructiveHint=False) is Danger.MODERATE
    assert rated(readOnlyHint="yes") is Danger.DESTRUCTIVE


def test_a_tool_that_takes_a_program_may_destroy_unless_it_says_otherwise() -> None:
    schema = {"type": "object", "properties": {"code": {"type": "string"}}}
    assert by_annotations({"inputSchema": schema}) is Danger.DESTRUCTIVE
    assert by_annotations({"inputSchema": schema, "annotations": {"readOnlyHint": True}}) is Danger.LOW


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("mcp__git__get_update_status", Danger.LOW),
        ("mcp__git__get_and_update", Danger.MODERATE),
        ("mcp__git__list_delete_users", Danger.DESTRUCTIVE),
        ("mcp__x__get__delete_all", Danger.DESTRUCTIVE),  # every suffix may be the tool's own name
        ("mcp__jira__jira_get_create_fields", Danger.LOW),
        ("mcp__files__deleteall", Danger.DESTRUCTIVE),
        ("mcp__db__query", Danger.LOW),
    ],
)
def test_the_most_dangerous_word_of_a_name_counts(name: str, level: Danger) -> None:
    assert by_name(name).level is level


def test_an_ambiguous_verb_yields_to_annotations() -> None:
    convert = tool("mcp__time__convert_time", danger=Danger.SAFE)
    assert Rules().rate(convert).rating.level is Danger.SAFE
    assert Rules().rate(convert._replace(danger=None)).rating.level is Danger.MODERATE


def test_what_acts_through_other_tools_is_not_judged_by_its_name() -> None:
    assert in_plan(tool("/delete-all", kind=Kind.SKILL)) == VISIBLE


def test_a_command_is_safe_if_a_word_of_it_reads() -> None:
    assert [of_command(name) for name in ("user.list", "user.delete", "user.pay")] == [
        Danger.SAFE,
        Danger.DESTRUCTIVE,
        Danger.DESTRUCTIVE,
    ]
