"""What an install writes into Claude Code: hooks, switches, copies of rules, and an administrator's files."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from remit.clients import InstallLevel, Wanted
from remit.clients.claude_install import script, script_path
from remit.decision import Kind, Scope, Tool
from support.installs import Home

FULL, CODE = InstallLevel.FULL, "claude-code"
GIT = {"command": "git-server", "args": ["--stdio"]}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def settings(home: Home, wanted: Wanted, level: InstallLevel = FULL) -> dict[str, Any]:
    home.installer().install(CODE, level, wanted)
    return home.json("home/.claude/settings.json")


def tool(kind: Kind, name: str, plugin: str | None = None) -> Tool:
    return Tool(CODE, kind, Scope.GLOBAL, None, None, None, None, name, plugin=plugin)


def served(home: Home, *names: str) -> Wanted:
    declared = [item for item in home.read().declarations if item.kind is Kind.MCP_SERVER]
    return Wanted(served=[item for item in declared if item.server in names], declared=declared)


def before_calls(home: Home, *tools: str) -> list[tuple[str, str, str | None]]:
    """Return the groups before calls: matcher, mode, and what happens if the hook fails."""
    groups = settings(home, Wanted(matcher=tools))["hooks"]["PreToolUse"]
    handlers = [(group["matcher"], group["hooks"][0]) for group in groups]
    return [(matcher, handler["args"][0], handler.get("onFailure")) for matcher, handler in handlers]


def test_only_what_a_rule_or_the_gateway_concerns_starts_a_hook_and_each_tool_one(home: Home) -> None:
    groups = before_calls(home, "Bash", "mcp__git__push", "mcp__db__*", "mcp__a.b__*")
    assert [(mode, failure) for _, mode, failure in groups] == [
        ("closed", "block"),
        ("closed", "block"),
        ("open", None),
    ]
    assert groups[0][0] == "Bash|mcp__git__push"

    def runs(name: str) -> list[str]:
        plain = [name in groups[0][0].split("|")]
        patterns = [re.search(matcher, name) is not None for matcher, _, _ in groups[1:]]
        return [mode for (_, mode, _), is_run in zip(groups, plain + patterns, strict=True) if is_run]

    assert {name: runs(name) for name in ("Bash", "mcp__git__push", "mcp__db__drop", "mcp__a.b__x")} == {
        "Bash": ["closed"],
        "mcp__git__push": ["closed"],
        "mcp__db__drop": ["closed"],
        "mcp__a.b__x": ["closed"],
    }
    assert runs("mcp__remit__git__push") == runs("mcp__git__pull") == runs("mcp__axb__x") == ["open"]
    assert runs("Read") == runs("NotebookEdit") == runs("BashOutput") == []


def test_without_rules_only_servers_tools_start_a_hook_and_with_a_rule_for_all_every_tool(home: Home) -> None:
    assert before_calls(home) == [("^mcp__.*$", "open", None)]
    (everything, mode, _), (rest, _, _) = before_calls(home, "*")
    assert (mode, bool(re.search(everything, "Read"))) == ("closed", True)
    assert not re.search(rest, "mcp__git__push")


def test_seven_events_are_registered_and_the_prompt_only_where_a_rule_asks(home: Home) -> None:
    events = settings(home, Wanted())["hooks"]
    counting = {"PostToolUse", "PostToolUseFailure", "UserPromptExpansion"}
    assert events.keys() == {"SessionStart", "PreToolUse", "PermissionRequest", *counting}
    assert all(group["hooks"][0]["async"] for event in counting for group in events[event])
    counted = [group["matcher"] for group in events["PostToolUse"]]
    assert counted[0] == "Skill|Agent"
    assert re.search(counted[1], "mcp__git__push")
    assert not re.search(counted[1], "mcp__remit__git__push")  # the gateway counts its own
    assert "UserPromptSubmit" in settings(home, Wanted(has_approvals=True))["hooks"]


def hook(
    home: Home, mode: str, program: str, shell: str = "/bin/sh", **variables: str
) -> tuple[int, str, str]:
    """Run the installed script as the client does, with another program in the place of Remit."""
    home.installer().install(CODE, FULL, Wanted())
    file = home.write("kept.py", program)
    words = [shell, script_path(home.machine), mode, sys.executable, str(file), "--install", "/r"]
    done = subprocess.run(words, input="{}", capture_output=True, text=True, env=variables)
    return done.returncode, done.stdout, done.stderr


ANSWER = "import sys; print(sys.stdin.read(), *sys.argv[1:], sys.flags.isolated, sys.flags.no_site)"


def test_the_script_passes_the_event_to_python_and_its_answer_back(home: Home) -> None:
    assert hook(home, "closed", ANSWER) == (0, "{} closed --install /r 1 1\n", "")
    path = script_path(home.machine)
    assert os.access(path, os.X_OK)
    handler = home.json("home/.claude/settings.json")["hooks"]["SessionStart"][0]["hooks"][0]
    assert handler["command"] == path
    assert handler["args"][:2] == ["start", sys.executable]
    assert handler["args"][3:] == ["--install", str(home.root / "data/installs/claude-code.json")]


@pytest.mark.parametrize(
    "program", ["raise SystemExit(2)", "raise SystemExit(1)", "import os; os.abort()", "0/0"]
)
def test_a_failing_hook_blocks_what_a_rule_names_alone_and_tells_the_repair(home: Home, program: str) -> None:
    code, _, told = hook(home, "closed", program)
    assert code == 2
    assert "`remit install claude-code`" in told
    assert f"delete what the install records in {home.root}/data/installs list from {home.home}/.cl" in told
    assert "projects.*.disabledMcpServers" in told
    assert ".claude/settings.local.json" in told
    assert hook(home, "open", program) == (0, "", "")
    code, out, _ = hook(home, "start", program)
    assert (code, "Remit cannot run" in json.loads(out)["systemMessage"]) == (0, True)


def test_a_python_that_is_gone_is_a_failure_like_any_other(home: Home) -> None:
    home.installer().install(CODE, FULL, Wanted())
    path = script_path(home.machine)
    done = [
        subprocess.run([path, mode, "/gone", "/gone"], capture_output=True) for mode in ("closed", "open")
    ]
    assert [item.returncode for item in done] == [2, 0]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash imports functions from its environment")
def test_variables_and_functions_of_a_repository_change_nothing(home: Home) -> None:
    bash = shutil.which("bash") or ""
    hostile = {f"BASH_FUNC_{name}%%": "() { exit 0; }" for name in ("printf", "case")}
    code, _, told = hook(home, "closed", "0/0", bash, **hostile)
    assert (code, "Remit cannot run" in told) == (2, True)
    variables = {"PYTHONEXECUTABLE": "/repo/python", "PYTHONPATH": "/repo", "PYTHONSTARTUP": "/repo/x"}
    shown = "import sys; print(sys.executable)"
    assert hook(home, "closed", shown, **variables) == (0, f"{sys.executable}\n", "")


def test_an_exiting_client_does_not_end_the_count_of_a_use(home: Home) -> None:
    home.installer().install(CODE, FULL, Wanted())
    file = home.write("kept.py", "import sys; print('ready', flush=True); sys.stdin.read(); print('counted')")
    words = [script_path(home.machine), "open", sys.executable, str(file)]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGTERM)
    assert process.communicate("{}")[0] == "counted\n"


def test_the_script_is_posix_and_quotes_any_path(tmp_path: Path) -> None:
    home = Home(tmp_path / "it's $HOME `here`")
    (tmp_path / "script").write_text(script(home.machine))
    assert subprocess.run(["/bin/sh", "-n", str(tmp_path / "script")], check=False).returncode == 0
    _, _, told = hook(home, "closed", "0/0")
    assert str(home.home) in told


def test_a_model_is_told_to_ask_its_user_and_the_user_what_is_missing_and_what_to_run(home: Home) -> None:
    _, _, told = hook(home, "closed", "0/0")
    _, printed, _ = hook(home, "start", "0/0")
    shown = json.loads(printed)["systemMessage"]
    missing = f"Remit cannot run: {sys.executable}, the Python it was installed with, is missing or fails"
    assert told.startswith(f"{missing}. Ask the user to run `remit install claude-code` again")
    assert shown.startswith(f"{missing}. To repair it, run `remit install claude-code` again")


def test_copies_hide_skills_and_commands_and_refuse_what_no_setting_hides(home: Home) -> None:
    hidden = [
        tool(Kind.SKILL, "polish"),
        tool(Kind.SLASH_COMMAND, "/db:seed"),
        tool(Kind.SUBAGENT, "warden"),
        tool(Kind.SKILL, "kit:mend", "kit"),
        tool(Kind.SUBAGENT, "kit:guard", "kit"),
    ]
    content = settings(home, Wanted(hidden=hidden))
    assert content["skillOverrides"] == {"polish": "off", "db:seed": "off"}
    assert {
        *("Skill(polish)", "Skill(db:seed)", "Agent(warden)", "Skill(kit:mend)", "Agent(kit:guard)")
    } <= set(content["permissions"]["deny"])


def test_a_skill_that_its_user_switched_on_again_stays_on(home: Home) -> None:
    content = settings(home, Wanted(hidden=[tool(Kind.SKILL, "polish")]))
    content["skillOverrides"]["polish"] = "on"
    home.write("home/.claude/settings.json", content)
    home.installer().uninstall(CODE)
    assert home.json("home/.claude/settings.json") == {"skillOverrides": {"polish": "on"}}


def test_questions_are_written_for_the_clients_own_tools_alone(home: Home) -> None:
    asked = settings(home, Wanted(asks=["WebSearch", "mcp__git__tag", "mcp__remit__git__tag"]))[
        "permissions"
    ]["ask"]
    assert "WebSearch" in asked
    assert not [rule for rule in asked if rule.startswith("mcp__")]


def test_agents_may_not_edit_remits_files_nor_unasked_the_clients(home: Home) -> None:
    home.machine = home.machine._replace(
        variables={**home.machine.variables, "REMIT_CONFIG": str(home.root / "own.toml")}
    )
    rules = settings(home, Wanted())["permissions"]
    config, data, managed = home.home / ".config/remit", home.root / "data", home.root / "system/etc/remit"
    assert {f"Edit(/{path})" for path in (f"{config}/**", f"{data}/**", f"{managed}/**")} <= set(
        rules["deny"]
    )
    assert f"Edit(/{home.root}/own.toml)" in rules["deny"]
    assert rules["ask"] == [
        f"Edit(/{home.home}/.claude/settings.json)",
        f"Edit(/{home.home}/.claude.json)",
    ]


def test_a_hidden_server_is_denied_because_its_resources_stay_readable_without_its_tools(home: Home) -> None:
    home.write("home/.claude.json", {"mcpServers": {"my git": GIT, "db": GIT}})
    content = settings(home, served(home)._replace(blocks=["mcp__my_git__*"]))
    assert content["deniedMcpServers"] == [{"serverName": "my git"}]


def test_no_list_of_allowed_servers_is_made_and_an_existing_one_admits_the_gateway(home: Home) -> None:
    assert "allowedMcpServers" not in settings(home, Wanted())
    words = home.json("home/.claude.json")["mcpServers"]["remit"]
    command = {"serverCommand": [words["command"], *words["args"]]}
    for allowed, own in (
        ([{"serverName": "git"}], {"serverName": "remit"}),  # a command would exclude all processes but it
        ([{"serverCommand": ["g"]}], command),
        ([], command),
    ):
        home.write("home/.claude/settings.json", {"allowedMcpServers": allowed})
        assert settings(home, Wanted())["allowedMcpServers"] == [*allowed, own]
        assert [str(item.status) for item in home.read().declarations] == ["itself"]
        assert settings(home, Wanted())["allowedMcpServers"] == [*allowed, own]


@pytest.mark.parametrize(
    ("entry", "denied"),
    [
        (GIT, {"serverCommand": ["git-server", "--stdio"]}),
        ({"type": "http", "url": "https://x.test/mcp"}, {"serverUrl": "https://x.test/mcp"}),
        ({"command": "g", "args": ["--root", "${HOME}"]}, None),  # the client compares the filled-in form
        ({"command": "g", "args": ["--token", "ghp_0123456789abcdefghijABCDEFGHIJ012345"]}, None),
        ({"type": "http", "url": "https://x.test/?token=ghp_0123456789abcdefghijABCDEFGHIJ012345"}, None),
    ],
)
def test_a_served_server_is_denied_by_what_it_starts_else_off_in_each_project(
    home: Home, entry: dict[str, Any], denied: dict[str, Any] | None
) -> None:
    home.write("home/.claude.json", {"mcpServers": {"git": entry}, "projects": {str(home.shop): {}}})
    content = settings(home, served(home, "git"))
    assert content.get("deniedMcpServers") == ([denied] if denied else None)
    project = home.json("home/.claude.json")["projects"][str(home.shop)]
    assert project == ({} if denied else {"disabledMcpServers": ["git"]})
    assert {str(item.status) for item in home.read().declarations if item.server == "git"} == {"enabled"}
    assert "ghp_" not in (home.root / "data/installs/claude-code.json").read_text()


def test_a_command_that_another_entry_starts_with_other_variables_is_not_denied(home: Home) -> None:
    servers = {"git": GIT, "other": {**GIT, "env": {"A": "1"}}}
    home.write("home/.claude.json", {"mcpServers": servers, "projects": {str(home.shop): {}}})
    assert "deniedMcpServers" not in settings(home, served(home, "git"))
    assert home.json("home/.claude.json")["projects"][str(home.shop)] == {"disabledMcpServers": ["git"]}


def test_a_projects_server_is_switched_off_in_its_project_alone_and_not_with_an_unserved_namesake(
    home: Home,
) -> None:
    other = home.root / "other"
    other.mkdir()
    projects = {
        str(home.shop): {"mcpServers": {"till": {"command": "till"}, "secret": {"command": "local"}}},
        str(other): {},
    }
    servers = {"secret": {"command": "s", "args": ["$X"]}}
    home.write("home/.claude.json", {"mcpServers": servers, "projects": projects})
    home.write("home/.claude/settings.json", {})
    declared = [item for item in home.read().declarations if item.kind is Kind.MCP_SERVER]
    wanted = [item for item in declared if item.server == "till" or item.scope is Scope.GLOBAL]
    home.installer().install(CODE, FULL, Wanted(served=wanted, declared=declared))
    after = home.json("home/.claude.json")["projects"]
    assert after[str(home.shop)]["disabledMcpServers"] == ["till"]
    assert after[str(other)]["disabledMcpServers"] == ["secret"]


def managed(home: Home, *blocks: str) -> dict[str, bytes]:
    home.installer(is_managed=True).install(CODE, FULL, Wanted(blocks=blocks, matcher=blocks))
    return {name: data for name, data in home.files().items() if name.startswith("system/")}


def test_the_administrators_files_are_for_every_user_and_name_none(home: Home) -> None:
    previous = os.umask(0o077)
    try:
        files = managed(home, "Bash")
    finally:
        os.umask(previous)
    folder = home.root / "system"
    for path in folder.rglob("*"):
        is_run = path.is_dir() or path.name == "remit-hook"
        if path != folder:
            assert stat.S_IMODE(path.stat().st_mode) == (0o755 if is_run else 0o644), path
    assert not re.search(rb"ada|%s" % re.escape(str(home.home)).encode(), b"".join(files.values()))
    content = home.json("system/etc/claude-code/managed-settings.json")
    assert "Bash" in content["permissions"]["deny"]
    assert content["pluginConfigs"]["cc-plugin-sec-default@builtin"]["options"] == {
        "allowManagedModsOnly": True
    }
    assert "allowManagedHooksOnly" not in content  # users keep their own hooks
    assert re.search(content["hooks"]["PreToolUse"][-1]["matcher"], "Read")  # of users' own rules
    entry = home.json("system/etc/claude-code/managed-mcp.json")["mcpServers"]["remit"]
    assert entry["args"][-1] == str(folder / "etc/remit/installs/claude-code.json")
    record = home.json("system/etc/remit/installs/claude-code.json")["ground"]
    assert (record["home"], record["data"], record["path"]) == (None, None, None)


@pytest.mark.parametrize(
    "before",
    [
        {},
        {"claude-code/managed-settings.json": '{\n\t"permissions": {"deny": []}\n}\n'},
        {
            "claude-code/managed-mcp.json": '{"mcpServers": {}}',
            "remit/remit.toml": "#\n",
        },
    ],
)
def test_an_administrators_uninstall_restores_every_byte(home: Home, before: dict[str, str]) -> None:
    for name, text in before.items():
        home.write(f"system/etc/{name}", text)
    files = home.files()
    assert managed(home, "Bash").keys() > files.keys()
    home.installer(is_managed=True).uninstall(CODE)
    assert home.files() == files
    assert before or not (home.root / "system/etc/remit").exists()


def test_users_keep_their_servers_under_an_administrators_gateway_alone(home: Home) -> None:
    home.write("home/.claude.json", {"mcpServers": {"git": GIT}})
    managed(home)
    assert {item.server: str(item.status) for item in home.read().declarations} == {
        "git": "enabled",
        "remit": "itself",
    }
    path = home.root / "system/etc/claude-code/managed-mcp.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({"mcpServers": {**content["mcpServers"], "corp": GIT}}))
    assert "enabled" not in [str(item.status) for item in home.read().declarations if item.server == "git"]
