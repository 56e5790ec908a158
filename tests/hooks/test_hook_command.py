"""`remit hook`, as a client calls it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from remit.hooks import hook_command, hook_log
from remit.hooks.event_dispatch import respond
from support import Desk, servers, stored


@pytest.fixture
def shop(desk: Desk) -> Path:
    path = desk.project("shop")
    desk.write(path / ".mcp.json", servers("ledger", "abacus"))
    desk.provide("ledger", "abacus")
    return path


def told(name: str, where: Path, **fields: object) -> dict[str, object]:
    return {"hook_event_name": name, "session_id": "s1", "cwd": str(where), **fields}


def uses(desk: Desk, where: Path) -> dict[str, int]:
    with desk.registry() as registry:
        listed = registry.tools(registry.at(str(where)))
    return {item.tool.name: item.tool.usage_count for item in listed if item.tool.usage_count}


def test_a_session_begins_with_the_tools_that_are_in_force_here(desk: Desk, shop: Path) -> None:
    answer = desk.hook(told("SessionStart", shop, source="startup"))
    assert answer["hookEventName"] == "SessionStart"
    assert answer["additionalContext"].splitlines()[-3:] == [
        "## Available Tools",
        "- MCP: abacus (project)",
        "- MCP: ledger (project)",
    ]


def test_the_files_that_matter_are_watched(desk: Desk, shop: Path) -> None:
    watched = desk.hook(told("SessionStart", shop))["watchPaths"]
    assert {str(shop / ".mcp.json"), str(shop / "remit.toml"), str(desk.home / ".claude.json")} <= {*watched}
    assert all(os.path.isdir(os.path.dirname(path)) for path in watched)
    for event in ("FileChanged", "CwdChanged"):
        assert desk.hook(told(event, shop))["watchPaths"] == watched
    assert desk.hook(told("ConfigChange", shop)) == {}


@pytest.mark.parametrize("event", ["FileChanged", "ConfigChange", "CwdChanged"])
def test_what_changed_is_read_again_at_once(desk: Desk, shop: Path, event: str) -> None:
    desk.hook(told("SessionStart", shop))
    desk.write(shop / ".mcp.json", servers("ledger", "sundial"))
    desk.write(shop / "remit.toml", '[states.open]\nkind = "workflow"\non = "mcp__ledger__open"\n')
    desk.hook(told(event, shop, file_path=str(shop / ".mcp.json")))
    assert stored(desk.database, "select transitions <> '[]' from configurations") == [(1,)]
    declared = "select t.server from tools t join resolutions r on r.tool_id = t.id order by 1"
    assert stored(desk.database, declared) == [("ledger",), ("sundial",)]


def test_a_success_sets_the_state_that_it_is_declared_to_set(desk: Desk, shop: Path) -> None:
    desk.write(
        shop / "remit.toml", '[states.open]\nkind = "workflow"\non = ["mcp__ledger__open", "unlock"]\n'
    )
    desk.write(shop / ".claude/skills/unlock/SKILL.md", "---\nname: unlock\ndescription: Unlock\n---\n")
    desk.hook(told("SessionStart", shop))
    held = "select name, set_by from workflow_states"
    desk.hook(told("PostToolUseFailure", shop, tool_name="mcp__ledger__open", tool_use_id="t1"))
    assert stored(desk.database, held) == []
    desk.hook(told("PostToolUse", shop, tool_name="mcp__ledger__open", tool_use_id="t2"))
    assert stored(desk.database, held) == [("open", "mcp__ledger__open")]
    desk.hook(told("PostToolUse", shop, tool_name="Skill", tool_input={"skill": "unlock"}, tool_use_id="t3"))
    assert stored(desk.database, held) == [("open", "unlock")]


def test_a_tool_that_was_used_comes_first_in_the_next_session(desk: Desk, shop: Path) -> None:
    desk.hook(told("SessionStart", shop))
    call = told("PostToolUse", shop, tool_name="mcp__ledger__search", tool_use_id="t1", duration_ms=8)
    assert desk.hook(call) == {}
    context = desk.hook(told("SessionStart", shop))["additionalContext"]
    assert "## Available Tools\n- MCP: ledger (project, 1x): mcp__ledger__search\n" in context


def test_no_session_is_told_of_another_projects_tools(desk: Desk, shop: Path) -> None:
    blog = desk.project("blog")
    desk.write(blog / ".mcp.json", servers("press"))
    for where in (shop, blog):
        desk.hook(told("SessionStart", where))
    desk.hook(told("PostToolUse", shop, tool_name="mcp__ledger__search", tool_use_id="t1"))
    assert "ledger" not in json.dumps(desk.hook(told("SessionStart", blog)))


def test_a_call_counts_once_however_often_it_is_told(desk: Desk, shop: Path) -> None:
    for _ in range(2):
        desk.hook(told("PostToolUse", shop, tool_name="mcp__ledger__search", tool_use_id="t1"))
    with desk.registry() as registry:
        here = registry.at(str(shop))
        registry.record("mcp__ledger__search", here, call_id="t1", session_id="s1")
    assert uses(desk, shop)["mcp__ledger__search"] == 1


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("own", ["mcp__remit__", "mcp__plugin_remit_remit__"])
def test_a_call_that_the_gateway_tells_of_too_counts_once(
    desk: Desk, shop: Path, is_first: bool, own: str
) -> None:
    through = told("PostToolUse", shop, tool_name=f"{own}ledger__search", tool_use_id="t1")
    with desk.registry() as registry:
        registry.record("mcp__ledger__search", registry.at(str(shop)), call_id="t0")
    if is_first:
        desk.hook(through)
    with desk.registry() as registry:
        registry.record("mcp__ledger__search", registry.at(str(shop)), call_id="t1", session_id="s1")
    desk.hook(through)
    assert uses(desk, shop)["mcp__ledger__search"] == 2


def test_what_only_the_gateway_knows_by_name_is_left_to_it(desk: Desk, shop: Path) -> None:
    for name in ("mcp__remit__discover_tools", "mcp__remit__ledger__sear_1a2b3c4d"):
        desk.hook(told("PostToolUse", shop, tool_name=name, tool_use_id=name))
    assert uses(desk, shop) == {}


def test_commands_that_fail_do_not_demote_the_shell(desk: Desk, shop: Path) -> None:
    for number in range(3):
        failed = told("PostToolUseFailure", shop, tool_name="Bash", tool_use_id=f"f{number}")
        desk.hook({**failed, "error": "Exit code 1"})
    with desk.registry() as registry:
        (bash,) = [tool for tool, _ in registry.tools(registry.at(str(shop))) if tool.name == "Bash"]
    assert (bash.status, bash.usage_count) == ("active", 3)


def test_a_tool_that_fails_is_demoted_and_a_success_restores_it(desk: Desk, shop: Path) -> None:
    desk.hook(told("SessionStart", shop))
    for number in range(3):
        failed = told("PostToolUseFailure", shop, tool_name="mcp__ledger__search", tool_use_id=f"f{number}")
        desk.hook({**failed, "error": "no"})

    def status() -> str:
        with desk.registry() as registry:
            listed = registry.tools(registry.at(str(shop)))
        return next(item.tool.status for item in listed if item.tool.name == "mcp__ledger__search")

    assert status() == "demoted"
    desk.hook(told("PostToolUse", shop, tool_name="mcp__ledger__search", tool_use_id="g"))
    assert status() == "active"


def test_a_call_that_a_person_broke_off_says_nothing_of_its_tool(desk: Desk, shop: Path) -> None:
    for number in range(3):
        told_of = told(
            "PostToolUseFailure", shop, tool_name="Bash", tool_use_id=f"f{number}", is_interrupt=True
        )
        desk.hook(told_of)
    assert stored(desk.database, "select uses, failures, outcomes from usage_totals") == [(3, 0, "")]


def test_a_call_that_the_gateway_refused_is_no_use_of_its_tool_and_no_failure(desk: Desk, shop: Path) -> None:
    desk.hook(told("PostToolUse", shop, tool_name="mcp__ledger__post", tool_use_id="t1"))
    for number in range(3):
        refused = told(
            "PostToolUseFailure", shop, tool_name="mcp__remit__ledger__post", tool_use_id=f"f{number}"
        )
        desk.hook({**refused, "error": "approval_required: `ledger__post` needs approval"})
    assert stored(desk.database, "select uses, failures from usage_totals") == [(1, 0)]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_call_that_failed_behind_the_gateway_counts_once_in_its_session(
    desk: Desk, shop: Path, is_first: bool
) -> None:
    failed = told(
        "PostToolUseFailure", shop, tool_name="mcp__remit__ledger__post", tool_use_id="t1", error="x"
    )
    if is_first:
        desk.hook(failed)
    with desk.registry() as registry:
        registry.record("mcp__ledger__post", registry.at(str(shop)), call_id="t1", succeeded=False)
    desk.hook(failed)
    kept = "select session_id, succeeded from usage_events"
    assert stored(desk.database, kept) == [("s1", 0)]
    assert stored(desk.database, "select uses, failures from usage_totals") == [(1, 1)]


def test_what_is_too_old_of_the_audit_goes_with_a_session(desk: Desk, shop: Path) -> None:
    desk.write(shop / "remit.toml", 'block = ["mcp__ledger__*"]\n')
    desk.hook(told("PreToolUse", shop, tool_name="mcp__ledger__search"))
    stored(desk.database, "update audit set called_at = called_at - 91 * 86400000")
    desk.hook(told("SessionEnd", shop))
    assert stored(desk.database, "select count(*) from audit") == [(0,)]


def test_what_the_gateway_never_counts_is_waited_for_no_longer_than_a_day(desk: Desk, shop: Path) -> None:
    desk.hook(told("PostToolUseFailure", shop, tool_name="mcp__remit__ledger__post", tool_use_id="t1"))
    waiting = "select count(*) from reported_calls"
    desk.hook(told("SessionEnd", shop))
    assert stored(desk.database, waiting) == [(1,)]
    stored(desk.database, "update reported_calls set told_at = told_at - 2 * 86400000")
    desk.hook(told("SessionEnd", shop))
    assert stored(desk.database, waiting) == [(0,)]


def test_a_skill_is_counted_and_not_the_tool_that_starts_it(desk: Desk, shop: Path) -> None:
    desk.write(shop / ".claude/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Deploy\n---\n")
    desk.hook(told("SessionStart", shop))
    call = told("PostToolUse", shop, tool_name="Skill", tool_input={"skill": "deploy"}, tool_use_id="t1")
    desk.hook(call)
    desk.hook({**call, "tool_input": {"skill": "unheard-of"}, "tool_use_id": "t2"})
    assert uses(desk, shop) == {"deploy": 1, "Skill": 1}


def test_a_command_that_a_person_calls_is_counted(desk: Desk, shop: Path) -> None:
    desk.write(shop / ".claude/commands/commit.md", "---\ndescription: Commit\n---\n")
    desk.hook(told("SessionStart", shop))
    expansion = told("UserPromptExpansion", shop, expansion_type="slash_command", command_name="commit")
    desk.hook(expansion)
    desk.hook({**expansion, "command_name": "unheard-of"})
    desk.hook({**expansion, "expansion_type": "mcp_prompt"})
    assert uses(desk, shop) == {"/commit": 1}


def test_what_is_blocked_is_denied_with_the_reason(desk: Desk, shop: Path) -> None:
    desk.write(shop / "remit.toml", '[servers.ledger]\nblock = ["delete_*"]\n')
    call = told("PreToolUse", shop, tool_use_id="t1", mcp_server={"name": "ledger", "source": "project"})
    assert desk.hook({**call, "tool_name": "mcp__ledger__search"}) == {}
    answer = desk.hook({**call, "tool_name": "mcp__ledger__delete_all"})
    assert answer["permissionDecision"] == "deny"
    reason = answer["permissionDecisionReason"]
    assert "`mcp__ledger__delete_all` is not for use here: blocked by `delete_*`" in reason
    assert "To change it: take `delete_*` out of" in reason
    refused = ("hook", "mcp__ledger__delete_all", "hidden", "policy", "refused")
    assert stored(desk.database, "select endpoint, tool, verdict, gate, outcome from audit") == [refused]
    assert stored(desk.database, "select count(*) from usage_events") == [(0,)]


def test_what_cannot_be_kept_of_a_refusal_is_refused_all_the_same(desk: Desk, shop: Path) -> None:
    desk.write(shop / "remit.toml", 'block = ["mcp__ledger__*"]\n')
    call = told("PreToolUse", shop, tool_name="mcp__ledger__search")
    desk.hook(call)
    stored(desk.database, "drop table audit")
    assert desk.hook(call)["permissionDecision"] == "deny"
    assert len(desk.log()) == 1


def test_what_needs_approval_is_asked_about(desk: Desk, shop: Path) -> None:
    desk.write(shop / "remit.toml", '[tools."mcp__ledger__pay"]\napproval = true\n')
    answer = desk.hook(told("PreToolUse", shop, tool_name="mcp__ledger__pay"))
    assert answer["permissionDecision"] == "ask"
    assert "needs approval" in answer["permissionDecisionReason"]


def test_a_skill_that_is_switched_off_is_denied(desk: Desk, shop: Path) -> None:
    desk.write(shop / ".claude/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Deploy\n---\n")
    desk.write(shop / "remit.toml", "[tools.deploy]\nai_enabled = false\n")
    answer = desk.hook(told("PreToolUse", shop, tool_name="Skill", tool_input={"skill": "deploy"}))
    assert "`deploy` is not for use here: switched off for AI" in answer["permissionDecisionReason"]


def test_a_tool_that_lacks_a_state_is_denied_until_the_state_holds(desk: Desk, shop: Path) -> None:
    desk.write(
        shop / "remit.toml",
        '[states.booked]\nfile = "booked"\n[tools."mcp__ledger__*"]\nstates = ["booked"]\n',
    )
    call = told("PreToolUse", shop, tool_name="mcp__ledger__search")
    assert desk.hook(call)["permissionDecision"] == "deny"
    (shop / "booked").touch()
    assert desk.hook(call) == {}
    (shop / "booked").unlink()
    assert desk.hook(call)["permissionDecision"] == "deny"


@pytest.mark.parametrize("own", ["mcp__remit__", "mcp__plugin_remit_remit__"])
def test_for_remits_own_tools_the_hook_speaks_only_of_an_agents_narrower_rules(
    desk: Desk, shop: Path, own: str
) -> None:
    desk.write(shop / "remit.toml", '[agents.auditor]\nblock = ["mcp__ledger__*"]\n')
    call = told("PreToolUse", shop, tool_name=f"{own}ledger__search")
    with desk.registry() as registry:
        registry.report("mcp__ledger__search", registry.at(str(shop)))
    assert desk.hook(call) == {}
    assert desk.hook({**call, "agent_type": "other"}) == {}
    assert desk.hook({**call, "agent_type": "auditor"})["permissionDecision"] == "deny"


def test_sessions_are_kept_with_their_begin_and_their_end(desk: Desk, shop: Path) -> None:
    desk.hook(told("SessionStart", shop))
    desk.hook(told("SessionEnd", shop, reason="other"))
    desk.hook({**told("SessionEnd", shop), "session_id": "never-begun"})
    assert stored(desk.database, "select session_id, ended_at >= started_at from sessions order by 1") == [
        ("never-begun", 1),
        ("s1", 1),
    ]
    desk.hook(told("SessionStart", shop, source="resume"))
    assert stored(desk.database, "select ended_at from sessions where session_id = 's1'") == [(None,)]


def test_what_is_too_old_to_matter_is_forgotten_and_the_totals_stay(desk: Desk, shop: Path) -> None:
    with desk.registry() as registry:  # whose clock has only just begun
        registry.record("mcp__ledger__search", registry.at(str(shop)), session_id="old", call_id="old")
    desk.hook(told("PostToolUse", shop, tool_name="mcp__ledger__search", tool_use_id="new"))
    desk.hook(told("SessionEnd", shop))
    assert stored(desk.database, "select call_id from usage_events") == [("new",)]
    assert uses(desk, shop)["mcp__ledger__search"] == 2


def test_a_prompt_that_a_tool_fits_gets_a_hint_once(desk: Desk, shop: Path) -> None:
    with desk.registry() as registry:
        here = registry.at(str(shop))
        registry.report("mcp__ledger__reconcile", here, description="Reconcile the ledger of a month")
        registry.index(here)
    prompt = told("UserPromptSubmit", shop, prompt="please reconcile the ledger of october")
    answer = desk.hook(prompt)
    assert "- mcp__ledger__reconcile: it fits what was asked for" in answer["additionalContext"]
    assert desk.hook(prompt) == {}
    assert desk.hook({**prompt, "session_id": "s2"}) == {}  # it was not taken up


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
def test_what_is_no_persons_question_gets_no_hint(desk: Desk, shop: Path, fields: dict[str, object]) -> None:
    with desk.registry() as registry:
        here = registry.at(str(shop))
        registry.report("mcp__ledger__reconcile", here, description="Reconcile the ledger of a month")
        registry.index(here)
    assert desk.hook({**told("UserPromptSubmit", shop), **fields}) == {}
    assert desk.log() == []


def test_a_failure_is_one_line_in_the_log_and_nothing_else(desk: Desk, shop: Path) -> None:
    assert desk.hook(b"nonsense") == {}
    assert desk.hook(told("SessionStart", shop / "nowhere")) == {}
    first, second = desk.log()
    assert "JSONDecodeError" in first
    assert "SessionStart NoSuchDirectoryError" in second


@pytest.mark.parametrize("event", ["Stop", "Notification", "MessageDisplay", "SomethingNew"])
def test_events_that_say_nothing_of_tools_are_passed_over_without_a_word(
    desk: Desk, shop: Path, event: str
) -> None:
    assert desk.hook(told(event, shop)) == {}
    assert desk.log() == []
    assert not desk.database.exists()


def test_a_database_that_cannot_be_used_breaks_no_session(desk: Desk, shop: Path) -> None:
    desk.write(desk.database, b"this is no database, and longer than its header would be" * 40)
    for event in ("SessionStart", "PreToolUse", "PostToolUse", "SessionEnd", "FileChanged"):
        assert desk.hook(told(event, shop, tool_name="Read", tool_use_id="t1")) == {}
    assert len(desk.log()) == 5
    assert all("StoreCorruptError" in line for line in desk.log())


@pytest.fixture
def ruled(desk: Desk, shop: Path) -> Path:
    """A project in which a rule forbids a tool."""
    desk.write(shop / "remit.toml", 'block = ["mcp__ledger__wipe"]\n')
    return shop


def test_a_call_that_cannot_be_decided_about_is_asked_about_where_there_are_rules(
    desk: Desk, ruled: Path
) -> None:
    desk.write(desk.database, b"this is no database, and longer than its header would be" * 40)
    answer = desk.hook(told("PreToolUse", ruled, tool_name="mcp__ledger__wipe"))
    assert answer["permissionDecision"] == "ask"
    assert "StoreCorruptError" in answer["permissionDecisionReason"]
    assert desk.hook(told("PostToolUse", ruled, tool_name="mcp__ledger__wipe")) == {}
    own = desk.hook(told("PreToolUse", ruled, tool_name="mcp__remit__ledger__wipe"))
    assert own["permissionDecision"] == "ask"  # whose server that is cannot be told either
    gone = desk.hook(told("PreToolUse", ruled / "gone", tool_name="mcp__ledger__wipe"))
    assert gone["permissionDecision"] == "ask"


@pytest.mark.parametrize("entry", [{"command": "wipe"}, {"command": "./remit", "args": ["serve"]}])
def test_a_server_of_a_project_gets_past_no_rule_by_remits_name(
    desk: Desk, shop: Path, entry: dict[str, object]
) -> None:
    desk.write(desk.home / ".config/remit/remit.toml", 'allow = ["mcp__ledger__*"]\n')
    call = told("PreToolUse", shop, tool_name="mcp__remit__wipe")
    assert desk.hook(call) == {}
    desk.write(shop / ".mcp.json", servers(remit=entry))
    desk.write(shop / ".claude/settings.local.json", {"enableAllProjectMcpServers": True})
    for _ in range(2):
        assert desk.hook(call)["permissionDecision"] == "deny"


@pytest.mark.parametrize("depth", [3_000, 200_000])
def test_arguments_that_cannot_be_read_get_no_call_past_a_rule(desk: Desk, ruled: Path, depth: int) -> None:
    nested = b"[" * depth + b"]" * depth
    data = json.dumps(told("PreToolUse", ruled, tool_name="mcp__ledger__wipe", tool_input="NESTED")).encode()
    desk.variables["CLAUDE_PROJECT_DIR"] = str(ruled)
    assert desk.hook(data.replace(b'"NESTED"', nested))["permissionDecision"] == "ask"


def test_a_decision_that_takes_too_long_is_a_question(
    desk: Desk, ruled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_: object) -> None:
        hook_command._give_up(14, None)  # pyright: ignore[reportPrivateUsage] - as the alarm would

    monkeypatch.setattr("remit.hooks.tool_events.before", never)
    for name, value in desk.environment.items():
        monkeypatch.setenv(name, value)
    answer = respond(json.dumps(told("PreToolUse", ruled, tool_name="mcp__ledger__wipe")).encode())
    assert '"ask"' in answer
    assert "TimeoutError" in answer


def test_where_even_the_log_cannot_be_written_nothing_is_said(desk: Desk, shop: Path) -> None:
    (desk.root / "data").write_text("a file where a folder belongs")
    assert desk.hook(told("SessionStart", shop)) == {}


def test_the_log_stays_small_and_keeps_what_is_newer(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_HOME", str(desk.root / "data"))
    monkeypatch.setattr(hook_log, "MOST", 4_000)
    for number in range(200):
        hook_log.note("Stop", ValueError(f"number {number}"))
    lines = desk.log()
    assert lines[-1].endswith("Stop ValueError number 199")
    assert sum(map(len, lines)) < 4_200
    assert all(line.split()[1] == "Stop" for line in lines)


def test_the_log_never_has_what_an_event_held(desk: Desk, shop: Path) -> None:
    secret = {"tool_name": "mcp__x__y", "tool_input": {"password": "hunter2"}, "tool_response": "hunter2"}
    desk.hook(json.dumps({**told("PostToolUse", shop / "nowhere"), **secret}).encode())
    desk.hook(b'{"password": "hunter2", ')
    assert len(desk.log()) == 2
    assert "hunter2" not in "".join(desk.log())


@pytest.mark.parametrize(
    "event", ["PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionEnd", "FileChanged"]
)
def test_on_the_hot_paths_only_the_driver_and_the_standard_library_are_loaded(
    desk: Desk, shop: Path, event: str
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
    loaded = {*desk.python(script).split()}
    assert "apsw" in loaded
    ours = {name for name in loaded if name.startswith("remit.")}
    assert (
        not {"remit.registry", "remit.decision.decide", "remit.cli.app", "remit.search.search_service"} & ours
    )
    assert not {"dataclasses", "inspect", "click", "rich", "numpy", "yaml", "mcp"} & loaded


def test_a_call_that_a_state_decides_about_loads_no_more_than_a_look_at_it(desk: Desk, shop: Path) -> None:
    rules = '[states.open]\nfile = "open"\n[states.main]\ngit = { branch = "main" }\n'
    desk.write(shop / "remit.toml", f'{rules}[tools.Read]\nstates = {{ any = ["open", "main"] }}\n')
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
    loaded = {*desk.python(script).split()}
    assert "remit.states.detectors.file_exists" in loaded
    assert not {"remit.registry", "remit.decision.decide", "dataclasses", "inspect"} & loaded


def test_the_command_line_is_not_loaded_for_a_hook(desk: Desk) -> None:
    script = "import sys; from remit import __main__, hooks; print('click' in sys.modules)"
    assert desk.python(script) == "False\n"
    assert "hook event" in desk.remit("hook", "--help").stdout


def test_a_use_is_counted_by_a_process_that_outlives_the_client(desk: Desk, shop: Path) -> None:
    call = json.dumps(told("PostToolUse", shop, tool_name="Read", tool_use_id="t1")).encode()
    reader, writer = os.pipe()  # at its end as soon as nobody is left who has it
    done = subprocess.run(
        [sys.executable, "-m", "remit", "hook"],
        env={**desk.environment, "CLAUDE_PID": "1"},
        input=call,
        capture_output=True,
        pass_fds=(writer,),
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    os.close(writer)
    with open(reader, "rb") as ended:
        assert ended.read() == b""
    assert stored(desk.database, "select call_id from usage_events") == [("t1",)]


@pytest.mark.parametrize("said", ["PostToolUse", "PostToolUseFailure"])
def test_a_call_is_judged_whatever_it_is_given(desk: Desk, shop: Path, said: str) -> None:
    desk.write(shop / "remit.toml", 'block = ["Bash"]\n')
    given = {"description": said, "command": "make deploy", "more": "x" * 20_000}
    event = told("PreToolUse", shop, tool_name="Bash", tool_input=given)
    for fields in (event, dict(reversed(event.items()))):
        done = subprocess.run(
            [sys.executable, "-m", "remit", "hook"],
            env={**desk.environment, "CLAUDE_PID": "1"},
            input=json.dumps(fields).encode(),
            capture_output=True,
            timeout=60,
        )
        assert b'"deny"' in done.stdout


@pytest.mark.parametrize("streams", ["<&-", ">&-", "<&- >&- 2>&-", "</dev/null"])
def test_streams_that_are_closed_break_nothing(desk: Desk, shop: Path, streams: str) -> None:
    event = json.dumps(told("SessionStart", shop))
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m remit hook {streams}', sys.executable],
        env=desk.environment,
        input=event.encode(),
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(desk.log()) == 1


def test_an_answer_that_nobody_reads_any_more_is_no_failure(desk: Desk, shop: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "remit", "hook"],
        env=desk.environment,
        input=json.dumps(told("SessionStart", shop)).encode(),
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    os.close(writer)
    assert (done.returncode, done.stderr, desk.log()) == (0, b"", [])


def test_an_event_that_is_too_large_is_passed_over(desk: Desk) -> None:
    program = [sys.executable, "-c", "import sys; sys.stdout.write('{\"a\": \"' + 'x' * 70_000_000)"]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as source:
        done = subprocess.run(
            [sys.executable, "-m", "remit", "hook"],
            env=desk.environment,
            stdin=source.stdout,
            capture_output=True,
            timeout=60,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "more than 67,108,864 bytes" in desk.log()[0]
