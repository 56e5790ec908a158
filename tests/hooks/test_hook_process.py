"""`remit hook`, as a client calls it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from remit.decision.gates import ASK_THE_USER
from remit.hooks.event_dispatch import respond
from remit.hooks.hook_context import HookEnvironment
from remit.hooks.hook_log import log_failure
from remit.registry import Registry
from support.builders import servers
from support.databases import run_sql
from support.listed_tools import list_tools, tool
from support.sandbox import Sandbox


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    sandbox.write(path / ".mcp.json", servers("ledger", "abacus"))
    sandbox.provide("ledger", "abacus")
    return path


def told(name: str, where: Path, **fields: object) -> dict[str, object]:
    return {"hook_event_name": name, "session_id": "s1", "cwd": str(where), **fields}


def uses(sandbox: Sandbox, where: Path) -> dict[str, int]:
    with sandbox.registry() as registry:
        listed = registry.tools(registry.at(str(where)))
    return {item.tool.name: item.tool.usage_count for item in listed if item.tool.usage_count}


def test_a_session_begins_with_the_tools_that_are_in_force_here(sandbox: Sandbox, shop: Path) -> None:
    answer = sandbox.hook(told("SessionStart", shop, source="startup"))
    assert answer["hookEventName"] == "SessionStart"
    assert answer["additionalContext"].splitlines()[-3:] == [
        "## Available Tools",
        "- MCP: abacus (project)",
        "- MCP: ledger (project)",
    ]


def test_the_files_that_matter_are_watched(sandbox: Sandbox, shop: Path) -> None:
    watched = sandbox.hook(told("SessionStart", shop))["watchPaths"]
    assert {str(shop / ".mcp.json"), str(shop / "remit.toml"), str(sandbox.home / ".claude.json")} <= {
        *watched
    }
    assert all(os.path.isdir(os.path.dirname(path)) for path in watched)
    for event in ("FileChanged", "CwdChanged"):
        assert sandbox.hook(told(event, shop))["watchPaths"] == watched
    assert sandbox.hook(told("ConfigChange", shop)) == {}


@pytest.mark.long
@pytest.mark.parametrize("event", ["FileChanged", "ConfigChange", "CwdChanged"])
def test_what_changed_is_read_again_at_once(sandbox: Sandbox, shop: Path, event: str) -> None:
    sandbox.hook(told("SessionStart", shop))
    sandbox.write(shop / ".mcp.json", servers("ledger", "sundial"))
    sandbox.write(shop / "remit.toml", '[states.open]\nkind = "workflow"\non = "mcp__ledger__open"\n')
    sandbox.hook(told(event, shop, file_path=str(shop / ".mcp.json")))
    assert run_sql(sandbox.database, "select transitions <> '[]' from configurations") == [(1,)]
    declared = "select t.server from tools t join resolutions r on r.tool_id = t.id order by 1"
    assert run_sql(sandbox.database, declared) == [("ledger",), ("sundial",)]


def test_a_success_sets_the_state_that_it_is_declared_to_set(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(
        shop / "remit.toml", '[states.open]\nkind = "workflow"\non = ["mcp__ledger__open", "unlock"]\n'
    )
    sandbox.write(shop / ".claude/skills/unlock/SKILL.md", "---\nname: unlock\ndescription: Unlock\n---\n")
    sandbox.hook(told("SessionStart", shop))
    held = "select name, set_by from workflow_states"
    sandbox.hook(told("PostToolUseFailure", shop, tool_name="mcp__ledger__open", tool_use_id="t1"))
    assert run_sql(sandbox.database, held) == []
    sandbox.hook(told("PostToolUse", shop, tool_name="mcp__ledger__open", tool_use_id="t2"))
    assert run_sql(sandbox.database, held) == [("open", "mcp__ledger__open")]
    sandbox.hook(
        told("PostToolUse", shop, tool_name="Skill", tool_input={"skill": "unlock"}, tool_use_id="t3")
    )
    assert run_sql(sandbox.database, held) == [("open", "unlock")]


def test_a_tool_that_was_used_comes_first_in_the_next_session(sandbox: Sandbox, shop: Path) -> None:
    sandbox.hook(told("SessionStart", shop))
    call = told("PostToolUse", shop, tool_name="mcp__ledger__search", tool_use_id="t1", duration_ms=8)
    assert sandbox.hook(call) == {}
    context = sandbox.hook(told("SessionStart", shop))["additionalContext"]
    assert "## Available Tools\n- MCP: ledger (project, 1x): mcp__ledger__search\n" in context


def test_no_session_is_told_of_another_projects_tools(sandbox: Sandbox, shop: Path) -> None:
    blog = sandbox.project("blog")
    sandbox.write(blog / ".mcp.json", servers("press"))
    for where in (shop, blog):
        sandbox.hook(told("SessionStart", where))
    sandbox.hook(told("PostToolUse", shop, tool_name="mcp__ledger__search", tool_use_id="t1"))
    assert "ledger" not in json.dumps(sandbox.hook(told("SessionStart", blog)))


def test_a_call_counts_once_however_often_it_is_told(sandbox: Sandbox, shop: Path) -> None:
    for _ in range(2):
        sandbox.hook(told("PostToolUse", shop, tool_name="mcp__ledger__search", tool_use_id="t1"))
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        registry.usage.record("mcp__ledger__search", here, call_id="t1", session_id="s1")
    assert uses(sandbox, shop)["mcp__ledger__search"] == 1


@pytest.mark.parametrize("is_first", [True, False])
def test_a_call_that_the_gateway_tells_of_too_counts_once(
    sandbox: Sandbox, shop: Path, is_first: bool
) -> None:
    through = told("PostToolUse", shop, tool_name="mcp__remit__ledger__search", tool_use_id="t1")
    with sandbox.registry() as registry:
        registry.usage.record("mcp__ledger__search", registry.at(str(shop)), call_id="t0")
    if is_first:
        sandbox.hook(through)
    with sandbox.registry() as registry:
        registry.usage.record("mcp__ledger__search", registry.at(str(shop)), call_id="t1", session_id="s1")
    sandbox.hook(through)
    assert uses(sandbox, shop)["mcp__ledger__search"] == 2


def test_what_only_the_gateway_knows_by_name_is_left_to_it(sandbox: Sandbox, shop: Path) -> None:
    for name in ("mcp__remit__discover_tools", "mcp__remit__ledger__sear_1a2b3c4d"):
        sandbox.hook(told("PostToolUse", shop, tool_name=name, tool_use_id=name))
    assert uses(sandbox, shop) == {}


def test_commands_that_fail_do_not_demote_the_shell(sandbox: Sandbox, shop: Path) -> None:
    for number in range(3):
        failed = told("PostToolUseFailure", shop, tool_name="Bash", tool_use_id=f"f{number}")
        sandbox.hook({**failed, "error": "Exit code 1"})
    with sandbox.registry() as registry:
        (bash,) = [tool for tool, _ in registry.tools(registry.at(str(shop))) if tool.name == "Bash"]
    assert (bash.status, bash.usage_count) == ("active", 3)


def test_a_tool_that_fails_is_demoted_and_a_success_restores_it(sandbox: Sandbox, shop: Path) -> None:
    sandbox.hook(told("SessionStart", shop))
    for number in range(3):
        failed = told("PostToolUseFailure", shop, tool_name="mcp__ledger__search", tool_use_id=f"f{number}")
        sandbox.hook({**failed, "error": "no"})

    def status() -> str:
        with sandbox.registry() as registry:
            listed = registry.tools(registry.at(str(shop)))
        return next(item.tool.status for item in listed if item.tool.name == "mcp__ledger__search")

    assert status() == "demoted"
    sandbox.hook(told("PostToolUse", shop, tool_name="mcp__ledger__search", tool_use_id="g"))
    assert status() == "active"


def test_a_call_that_a_person_broke_off_says_nothing_of_its_tool(sandbox: Sandbox, shop: Path) -> None:
    for number in range(3):
        told_of = told(
            "PostToolUseFailure", shop, tool_name="Bash", tool_use_id=f"f{number}", is_interrupt=True
        )
        sandbox.hook(told_of)
    assert run_sql(sandbox.database, "select uses, failures, outcomes from usage_totals") == [(3, 0, "")]


def test_a_call_that_the_gateway_refused_is_no_use_of_its_tool_and_no_failure(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.hook(told("PostToolUse", shop, tool_name="mcp__ledger__post", tool_use_id="t1"))
    for number in range(3):
        refused = told(
            "PostToolUseFailure", shop, tool_name="mcp__remit__ledger__post", tool_use_id=f"f{number}"
        )
        sandbox.hook({**refused, "error": "approval_required: `ledger__post` needs approval"})
    assert run_sql(sandbox.database, "select uses, failures from usage_totals") == [(1, 0)]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_call_that_failed_behind_the_gateway_counts_once_in_its_session(
    sandbox: Sandbox, shop: Path, is_first: bool
) -> None:
    failed = told(
        "PostToolUseFailure", shop, tool_name="mcp__remit__ledger__post", tool_use_id="t1", error="x"
    )
    if is_first:
        sandbox.hook(failed)
    with sandbox.registry() as registry:
        registry.usage.record("mcp__ledger__post", registry.at(str(shop)), call_id="t1", succeeded=False)
    sandbox.hook(failed)
    kept = "select session_id, succeeded from usage_events"
    assert run_sql(sandbox.database, kept) == [("s1", 0)]
    assert run_sql(sandbox.database, "select uses, failures from usage_totals") == [(1, 1)]


def test_what_is_too_old_of_the_audit_goes_with_a_session(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / "remit.toml", 'block = ["mcp__ledger__*"]\n')
    sandbox.hook(told("PreToolUse", shop, tool_name="mcp__ledger__search"))
    run_sql(sandbox.database, "update audit set called_at = called_at - 91 * 86400000")
    sandbox.hook(told("SessionEnd", shop))
    assert run_sql(sandbox.database, "select count(*) from audit") == [(0,)]


def test_what_the_gateway_never_counts_is_waited_for_no_longer_than_a_day(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.hook(told("PostToolUseFailure", shop, tool_name="mcp__remit__ledger__post", tool_use_id="t1"))
    waiting = "select count(*) from reported_calls"
    sandbox.hook(told("SessionEnd", shop))
    assert run_sql(sandbox.database, waiting) == [(1,)]
    run_sql(sandbox.database, "update reported_calls set told_at = told_at - 2 * 86400000")
    sandbox.hook(told("SessionEnd", shop))
    assert run_sql(sandbox.database, waiting) == [(0,)]


def test_a_skill_is_counted_and_not_the_tool_that_starts_it(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".claude/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Deploy\n---\n")
    sandbox.hook(told("SessionStart", shop))
    call = told("PostToolUse", shop, tool_name="Skill", tool_input={"skill": "deploy"}, tool_use_id="t1")
    sandbox.hook(call)
    sandbox.hook({**call, "tool_input": {"skill": "unheard-of"}, "tool_use_id": "t2"})
    assert uses(sandbox, shop) == {"deploy": 1, "Skill": 1}


def test_a_command_that_a_person_calls_is_counted(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".claude/commands/commit.md", "---\ndescription: Commit\n---\n")
    sandbox.hook(told("SessionStart", shop))
    expansion = told("UserPromptExpansion", shop, expansion_type="slash_command", command_name="commit")
    sandbox.hook(expansion)
    sandbox.hook({**expansion, "command_name": "unheard-of"})
    sandbox.hook({**expansion, "expansion_type": "mcp_prompt"})
    assert uses(sandbox, shop) == {"/commit": 1}


def test_what_is_blocked_is_denied_with_the_reason(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / "remit.toml", '[servers.ledger]\nblock = ["delete_*"]\n')
    call = told("PreToolUse", shop, tool_use_id="t1", mcp_server={"name": "ledger", "source": "project"})
    assert sandbox.hook({**call, "tool_name": "mcp__ledger__search"}) == {}
    answer = sandbox.hook({**call, "tool_name": "mcp__ledger__delete_all"})
    assert answer["permissionDecision"] == "deny"
    reason = answer["permissionDecisionReason"]
    assert "`mcp__ledger__delete_all` is not available here (gate `policy`): blocked by `delete_*`" in reason
    assert reason.endswith("Ask the user: only a person can change this.")
    refused = ("hook", "mcp__ledger__delete_all", "hidden", "policy", "refused")
    assert run_sql(sandbox.database, "select endpoint, tool, verdict, gate, outcome from audit") == [refused]
    assert run_sql(sandbox.database, "select count(*) from usage_events") == [(0,)]


def test_a_call_that_the_client_made_itself_is_in_the_log_once_and_without_its_content(
    sandbox: Sandbox, shop: Path
) -> None:
    call = told(
        "PostToolUse", shop, tool_name="Bash", tool_use_id="t1", agent_type="reviewer", duration_ms=30
    )
    call |= {"tool_input": {"command": "echo secret"}, "tool_response": {"stdout": "secret"}}
    sandbox.hook(call)
    sandbox.hook(call)
    failed = {**call, "hook_event_name": "PostToolUseFailure", "tool_use_id": "t2"}
    sandbox.hook(failed)
    sandbox.hook({**failed, "tool_use_id": "t3", "is_interrupt": True})
    logged = "select endpoint, agent, tool, verdict, outcome, duration_ms, bytes_in from audit"
    assert run_sql(sandbox.database, logged) == [
        ("hook", "reviewer", "Bash", "visible", outcome, 30, 25)
        for outcome in ("done", "failed", "cancelled")
    ]


def test_what_cannot_be_kept_of_a_refusal_is_refused_all_the_same(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / "remit.toml", 'block = ["mcp__ledger__*"]\n')
    call = told("PreToolUse", shop, tool_name="mcp__ledger__search")
    sandbox.hook(call)
    run_sql(sandbox.database, "drop table audit")
    assert sandbox.hook(call)["permissionDecision"] == "deny"
    assert len(sandbox.log()) == 1


def test_what_needs_approval_is_asked_about(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / "remit.toml", '[tools."mcp__ledger__pay"]\napproval = true\n')
    answer = sandbox.hook(told("PreToolUse", shop, tool_name="mcp__ledger__pay"))
    assert answer["permissionDecision"] == "ask"
    assert "needs approval" in answer["permissionDecisionReason"]


def test_what_a_client_without_a_person_cannot_ask_about_is_recorded_as_refused(
    sandbox: Sandbox, shop: Path
) -> None:
    call = told(
        "PreToolUse", shop, tool_name="mcp__remit__call_tool", tool_input={"name": "mcp__ledger__pay"}
    )
    person = sandbox.hook(call)["permissionDecisionReason"]
    assert "add `mcp__ledger__pay` to `permissions.allow` in ~/.claude/settings.json" in person
    sandbox.variables["CLAUDE_CODE_ENTRYPOINT"] = "sdk-cli"
    answer = sandbox.hook(call)
    assert answer["permissionDecision"] == "ask"
    assert answer["permissionDecisionReason"].endswith(ASK_THE_USER)
    assert "permissions.allow" not in answer["permissionDecisionReason"]
    shown = sandbox.remit("calls", cwd=shop)
    assert shown.stdout.count("refused (needs approval)") == 1
    assert "hint: `remit why NAME` says why a tool is refused, and how to allow it" in shown.stderr


def test_a_name_that_no_tool_has_is_denied_with_near_names_that_can_be_used(
    sandbox: Sandbox, shop: Path
) -> None:
    blog = sandbox.project("blog")
    sandbox.write(blog / ".mcp.json", servers("press"))
    sandbox.write(shop / "remit.toml", '[servers.abacus]\nblock = ["add"]\n')
    with sandbox.registry() as registry:
        list_tools(registry, shop, tool("search"), tool("pay_bill"), server="ledger")
        list_tools(registry, shop, tool("add"), server="abacus")
        list_tools(registry, blog, tool("publish"), server="press")

    def answer(name: str, **fields: object) -> tuple[str, str]:
        call = told(
            "PreToolUse", shop, tool_name="mcp__remit__call_tool", tool_input={"name": name}, **fields
        )
        told_back = sandbox.hook(call)
        return told_back["permissionDecision"], told_back["permissionDecisionReason"]

    unknown = "no tool of this name is known here"
    near = f"Remit: `ledger__pay_bil`: {unknown}; did you mean `ledger__pay_bill`?"
    assert answer("ledger__pay_bil") == ("deny", near)
    assert answer("abacus__ad")[1].endswith(f"{unknown}; find its name with `discover_tools`")
    assert [answer(name)[1].partition("`: ")[2] for name in ("press__publish", "prezz__publish")] == [
        f"{unknown}; find its name with `discover_tools`"
    ] * 2
    assert answer("ledger__pay_bill")[0] == "ask"


def test_a_skill_that_is_switched_off_is_denied(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".claude/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Deploy\n---\n")
    sandbox.write(shop / "remit.toml", "[tools.deploy]\nai_enabled = false\n")
    answer = sandbox.hook(told("PreToolUse", shop, tool_name="Skill", tool_input={"skill": "deploy"}))
    assert (
        "`deploy` is not available here (gate `policy`): switched off for AI"
        in answer["permissionDecisionReason"]
    )


def test_a_tool_that_lacks_a_state_is_denied_until_the_state_holds(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(
        shop / "remit.toml",
        '[states.booked]\nfile = "booked"\n[tools."mcp__ledger__*"]\nstates = ["booked"]\n',
    )
    call = told("PreToolUse", shop, tool_name="mcp__ledger__search")
    assert sandbox.hook(call)["permissionDecision"] == "deny"
    (shop / "booked").touch()
    assert sandbox.hook(call) == {}
    (shop / "booked").unlink()
    assert sandbox.hook(call)["permissionDecision"] == "deny"


def test_for_remits_own_tools_the_hook_speaks_only_of_an_agents_narrower_rules(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write(shop / "remit.toml", '[agents.auditor]\nblock = ["mcp__ledger__*"]\n')
    call = told("PreToolUse", shop, tool_name="mcp__remit__ledger__search")
    with sandbox.registry() as registry:
        registry.usage.report_tool("mcp__ledger__search", registry.at(str(shop)))
    assert sandbox.hook(call) == {}
    assert sandbox.hook({**call, "agent_type": "other"}) == {}
    assert sandbox.hook({**call, "agent_type": "auditor"})["permissionDecision"] == "deny"


def test_sessions_are_kept_with_their_begin_and_their_end(sandbox: Sandbox, shop: Path) -> None:
    sandbox.hook(told("SessionStart", shop))
    sandbox.hook(told("SessionEnd", shop, reason="other"))
    sandbox.hook({**told("SessionEnd", shop), "session_id": "never-begun"})
    assert run_sql(
        sandbox.database, "select session_id, ended_at >= started_at from sessions order by 1"
    ) == [
        ("never-begun", 1),
        ("s1", 1),
    ]
    sandbox.hook(told("SessionStart", shop, source="resume"))
    assert run_sql(sandbox.database, "select ended_at from sessions where session_id = 's1'") == [(None,)]


def test_what_is_too_old_to_matter_is_forgotten_and_the_totals_stay(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:  # whose clock has only just begun
        registry.usage.record("mcp__ledger__search", registry.at(str(shop)), session_id="old", call_id="old")
    sandbox.hook(told("PostToolUse", shop, tool_name="mcp__ledger__search", tool_use_id="new"))
    sandbox.hook(told("SessionEnd", shop))
    assert run_sql(sandbox.database, "select call_id from usage_events") == [("new",)]
    assert uses(sandbox, shop)["mcp__ledger__search"] == 2


def test_a_prompt_that_a_tool_fits_gets_a_hint_once(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        registry.usage.report_tool(
            "mcp__ledger__reconcile", here, description="Reconcile the ledger of a month"
        )
        registry.index(here)
    prompt = told("UserPromptSubmit", shop, prompt="please reconcile the ledger of october")
    answer = sandbox.hook(prompt)
    assert "- mcp__ledger__reconcile: it fits the request" in answer["additionalContext"]
    assert sandbox.hook(prompt) == {}
    assert sandbox.hook({**prompt, "session_id": "s2"}) == {}  # it was not taken up


@pytest.mark.long
@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": "/reconcile the ledger of october"},
        {"prompt": "<task-notification>reconcile the ledger of october"},
        {"prompt": "reconcile ledger"},
        {"prompt": 3},
        {"prompt": "reconcile the ledger of october", "source": "system"},
        {"prompt": "reconcile the ledger of october", "session_id": None},
    ],
)
def test_what_is_no_persons_question_gets_no_hint(
    sandbox: Sandbox, shop: Path, fields: dict[str, object]
) -> None:
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        registry.usage.report_tool(
            "mcp__ledger__reconcile", here, description="Reconcile the ledger of a month"
        )
        registry.index(here)
    assert sandbox.hook({**told("UserPromptSubmit", shop), **fields}) == {}
    assert sandbox.log() == []


def test_a_failure_is_one_line_in_the_log_and_nothing_else(sandbox: Sandbox, shop: Path) -> None:
    assert sandbox.hook(b"nonsense") == {}
    said = sandbox.hook(told("SessionStart", shop / "nowhere"))["additionalContext"]
    assert "the directory of this session does not exist" in said
    first, second = sandbox.log()
    assert "JSONDecodeError" in first
    assert "SessionStart NoSuchDirectoryError" in second


@pytest.mark.parametrize("event", ["Stop", "Notification", "MessageDisplay", "SomethingNew"])
def test_events_that_say_nothing_of_tools_are_passed_over_without_a_word(
    sandbox: Sandbox, shop: Path, event: str
) -> None:
    assert sandbox.hook(told(event, shop)) == {}
    assert sandbox.log() == []
    assert not sandbox.database.exists()


def test_a_database_that_cannot_be_used_breaks_no_session(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(sandbox.database, b"this is no database, and longer than its header would be" * 40)
    for event in ("PreToolUse", "PostToolUse", "SessionEnd", "FileChanged"):
        assert sandbox.hook(told(event, shop, tool_name="Read", tool_use_id="t1")) == {}
    said = sandbox.hook(told("SessionStart", shop))["additionalContext"]
    assert "Remit's database cannot be used" in said
    assert len(sandbox.log()) == 5
    assert all("StoreCorruptError" in line for line in sandbox.log())


@pytest.fixture
def ruled(sandbox: Sandbox, shop: Path) -> Path:
    """A project in which a rule forbids a tool."""
    sandbox.write(shop / "remit.toml", 'block = ["mcp__ledger__wipe"]\n')
    return shop


def test_a_call_that_cannot_be_decided_about_is_asked_about_where_there_are_rules(
    sandbox: Sandbox, ruled: Path
) -> None:
    sandbox.write(sandbox.database, b"this is no database, and longer than its header would be" * 40)
    answer = sandbox.hook(told("PreToolUse", ruled, tool_name="mcp__ledger__wipe"))
    assert answer["permissionDecision"] == "ask"
    assert "(Remit's database cannot be used)" in answer["permissionDecisionReason"]
    assert sandbox.hook(told("PostToolUse", ruled, tool_name="mcp__ledger__wipe")) == {}
    own = sandbox.hook(told("PreToolUse", ruled, tool_name="mcp__remit__ledger__wipe"))
    assert own["permissionDecision"] == "ask"  # whose server that is cannot be told either
    gone = sandbox.hook(told("PreToolUse", ruled / "gone", tool_name="mcp__ledger__wipe"))
    assert gone["permissionDecision"] == "ask"


def test_the_users_own_rules_deny_what_cannot_be_decided(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(sandbox.home / ".config/remit/remit.toml", 'block = ["mcp__ledger__wipe"]\n')
    sandbox.write(sandbox.database, b"this is no database, and longer than its header would be" * 40)
    answer = sandbox.hook(told("PreToolUse", shop, tool_name="mcp__ledger__wipe"))
    assert answer["permissionDecision"] == "deny"
    assert "`remit doctor`" in answer["permissionDecisionReason"]


@pytest.mark.parametrize("name", [None, "", "mcp__ledger__" + "x" * 1_000])
def test_a_call_whose_tool_cannot_be_read_is_not_let_through(
    sandbox: Sandbox, shop: Path, name: str | None
) -> None:
    event = told("PreToolUse", shop, tool_name=name)
    assert sandbox.hook(event)["permissionDecision"] == "ask"
    sandbox.write(sandbox.home / ".config/remit/remit.toml", 'block = ["mcp__ledger__wipe"]\n')
    assert sandbox.hook(event)["permissionDecision"] == "deny"


def test_a_kind_that_comes_after_a_long_text_counts(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(sandbox.home / ".config/remit/remit.toml", 'block = ["Bash"]\n')
    event = {"tool_input": {"command": "x" * 100_000}, **told("PreToolUse", shop, tool_name="Bash")}
    assert sandbox.hook(event)["permissionDecision"] == "deny"
    broken = json.dumps({"tool_input": "x" * 100_000}).encode()[:-1] + b', "hook_event_name": "PreToolUse", '
    assert sandbox.hook(broken)["permissionDecision"] == "deny"


def test_a_hook_that_cannot_even_answer_blocks_the_call(sandbox: Sandbox, shop: Path) -> None:
    script = (
        "import sys; sys.modules['remit.hooks.fail_closed'] = None\n"
        "from remit.hooks.hook_process import main; main()"
    )
    for event, code in (("PreToolUse", 2), ("SessionStart", 0)):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=sandbox.environment,
            input=json.dumps(told(event, shop, tool_name="Bash")).encode(),
            capture_output=True,
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (code, b"")
        assert (b"remit uninstall claude-code" in done.stderr) is (code == 2)


@pytest.mark.parametrize("entry", [{"command": "wipe"}, {"command": "./remit", "args": ["serve"]}])
def test_a_server_of_a_project_gets_past_no_rule_by_remits_name(
    sandbox: Sandbox, shop: Path, entry: dict[str, object]
) -> None:
    sandbox.write(sandbox.home / ".config/remit/remit.toml", 'allow = ["mcp__ledger__*"]\n')
    call = told("PreToolUse", shop, tool_name="mcp__remit__wipe")
    assert sandbox.hook(call) == {}
    sandbox.write(shop / ".mcp.json", servers(remit=entry))
    sandbox.write(shop / ".claude/settings.local.json", {"enableAllProjectMcpServers": True})
    for _ in range(2):
        assert sandbox.hook(call)["permissionDecision"] == "deny"


@pytest.mark.parametrize("depth", [3_000, 200_000])
def test_arguments_that_cannot_be_read_get_no_call_past_a_rule(
    sandbox: Sandbox, ruled: Path, depth: int
) -> None:
    nested = b"[" * depth + b"]" * depth
    data = json.dumps(told("PreToolUse", ruled, tool_name="mcp__ledger__wipe", tool_input="NESTED")).encode()
    sandbox.variables["CLAUDE_PROJECT_DIR"] = str(ruled)
    assert sandbox.hook(data.replace(b'"NESTED"', nested))["permissionDecision"] == "ask"


def test_a_decision_that_takes_too_long_is_a_question(
    sandbox: Sandbox, ruled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never() -> Registry:
        raise TimeoutError

    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    call = json.dumps(told("PreToolUse", ruled, tool_name="mcp__ledger__wipe")).encode()
    answer = respond(call, HookEnvironment(open_registry=never))
    assert '"ask"' in answer
    assert "(it takes too long)" in answer


def test_where_even_the_log_cannot_be_written_a_session_is_told(sandbox: Sandbox, shop: Path) -> None:
    (sandbox.root / "data").write_text("a file where a folder belongs")
    assert "remit doctor" in sandbox.hook(told("SessionStart", shop))["additionalContext"]
    assert sandbox.hook(told("PreToolUse", shop, tool_name="Read")) == {}


def test_the_log_stays_small_and_keeps_what_is_newer(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_HOME", str(sandbox.root / "data"))
    for number in range(200):
        log_failure("Stop", ValueError(f"number {number}"), max_bytes=4_000)
    lines = sandbox.log()
    assert lines[-1].endswith("Stop ValueError number 199")
    assert sum(map(len, lines)) < 4_200
    assert all(line.split()[1] == "Stop" for line in lines)


def test_the_log_never_has_what_an_event_held(sandbox: Sandbox, shop: Path) -> None:
    secret = {"tool_name": "mcp__x__y", "tool_input": {"password": "hunter2"}, "tool_response": "hunter2"}
    sandbox.hook(json.dumps({**told("PostToolUse", shop / "nowhere"), **secret}).encode())
    sandbox.hook(b'{"password": "hunter2", ')
    assert len(sandbox.log()) == 2
    assert "hunter2" not in "".join(sandbox.log())


@pytest.mark.long
@pytest.mark.parametrize(
    "event", ["PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionEnd", "FileChanged"]
)
def test_on_the_hot_paths_only_the_driver_and_the_standard_library_are_loaded(
    sandbox: Sandbox, shop: Path, event: str
) -> None:
    call = json.dumps(told(event, shop, tool_name="Read", tool_use_id="t1")).encode()
    script = (
        "import os, sys, time; real = time.time_ns; time.time_ns = lambda: real() + 10**10\n"  # files are old
        "from remit.hooks.event_dispatch import respond\n"
        f"respond({call!r}); respond({call!r}); before = set(sys.modules)\n"
        "for name in [*sys.modules]:\n"
        "    if name.startswith('remit') or name in ('dataclasses', 'inspect'): del sys.modules[name]\n"
        "from remit.hooks.event_dispatch import respond\n"
        f"respond({call!r}); print(*sys.modules)"
    )
    loaded = {*sandbox.python(script).split()}
    assert "apsw" in loaded
    ours = {name for name in loaded if name.startswith("remit.")}
    assert (
        not {"remit.registry", "remit.decision.decide", "remit.cli.app", "remit.search.search_service"} & ours
    )
    assert not {"dataclasses", "inspect", "click", "rich", "numpy", "yaml", "mcp"} & loaded


@pytest.mark.long
def test_a_call_that_a_state_decides_about_loads_no_more_than_a_look_at_it(
    sandbox: Sandbox, shop: Path
) -> None:
    rules = '[states.open]\nfile = "open"\n[states.main]\ngit = { branch = "main" }\n'
    sandbox.write(shop / "remit.toml", f'{rules}[tools.Read]\nstates = {{ any = ["open", "main"] }}\n')
    call = json.dumps(told("PreToolUse", shop, tool_name="Read", tool_use_id="t1")).encode()
    script = (
        "import sys, time; real = time.time_ns; time.time_ns = lambda: real() + 10**10\n"  # files are old
        "from remit.hooks.event_dispatch import respond\n"
        f"respond({call!r}); said = respond({call!r})\n"
        "for name in [*sys.modules]:\n"
        "    if name.startswith('remit') or name in ('dataclasses', 'inspect'): del sys.modules[name]\n"
        "from remit.hooks.event_dispatch import respond\n"
        f"assert respond({call!r}) == said != ''; print(*sys.modules)"
    )
    loaded = {*sandbox.python(script).split()}
    assert "remit.states.detectors.file_exists" in loaded
    assert not {"remit.registry", "remit.decision.decide", "dataclasses", "inspect"} & loaded


def test_the_command_line_is_not_loaded_for_a_hook(sandbox: Sandbox) -> None:
    script = "import sys; from remit import __main__, hooks; print('click' in sys.modules)"
    assert sandbox.python(script) == "False\n"
    assert "hook event" in sandbox.remit("hook", "--help").stdout


def test_a_use_is_counted_by_a_process_that_outlives_the_client(sandbox: Sandbox, shop: Path) -> None:
    call = json.dumps(told("PostToolUse", shop, tool_name="Read", tool_use_id="t1")).encode()
    reader, writer = os.pipe()  # at its end as soon as nobody is left who has it
    done = subprocess.run(
        [sys.executable, "-m", "remit", "hook"],
        env={**sandbox.environment, "CLAUDE_PID": "1"},
        input=call,
        capture_output=True,
        pass_fds=(writer,),
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    os.close(writer)
    with open(reader, "rb") as ended:
        assert ended.read() == b""
    assert run_sql(sandbox.database, "select call_id from usage_events") == [("t1",)]


@pytest.mark.parametrize("said", ["PostToolUse", "PostToolUseFailure"])
def test_a_call_is_judged_whatever_it_is_given(sandbox: Sandbox, shop: Path, said: str) -> None:
    sandbox.write(shop / "remit.toml", 'block = ["Bash"]\n')
    given = {"description": said, "command": "make deploy", "more": "x" * 20_000}
    event = told("PreToolUse", shop, tool_name="Bash", tool_input=given)
    sandbox.variables["CLAUDE_PID"] = "1"
    for fields in (event, dict(reversed(event.items()))):
        assert sandbox.hook(fields)["permissionDecision"] == "deny"


@pytest.mark.long
@pytest.mark.parametrize("streams", ["<&-", ">&-", "<&- >&- 2>&-", "</dev/null"])
def test_streams_that_are_closed_break_nothing(sandbox: Sandbox, shop: Path, streams: str) -> None:
    event = json.dumps(told("SessionStart", shop))
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m remit hook {streams}', sys.executable],
        env=sandbox.environment,
        input=event.encode(),
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(sandbox.log()) == 1


def test_an_answer_that_nobody_reads_any_more_is_no_failure(sandbox: Sandbox, shop: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "remit", "hook"],
        env=sandbox.environment,
        input=json.dumps(told("SessionStart", shop)).encode(),
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    os.close(writer)
    assert (done.returncode, done.stderr, sandbox.log()) == (0, b"", [])


def test_an_event_that_is_too_large_is_asked_about(sandbox: Sandbox) -> None:
    event = sandbox.write(sandbox.root / "event.json", '{"a": "')
    os.truncate(event, 70_000_000)  # a file without blocks is read at once, also on a busy machine
    with event.open("rb") as stdin:
        done = subprocess.run(
            [sys.executable, "-m", "remit", "hook"],
            env=sandbox.environment,
            stdin=stdin,
            capture_output=True,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b'"ask"' in done.stdout  # it may be a call of any tool
    assert "more than 67,108,864 bytes" in sandbox.log()[0]
