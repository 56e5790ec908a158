"""`remit install` and `remit uninstall`, as a user runs them."""

import json
import os
import re
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from remit.clients.install_targets import HOOKS, PLACES, REPAIR
from remit.decision.tool_names import REMIT
from remit.decision.tools import Definition
from remit.install.own_command import without_variables
from remit.upstream.upstream_model import Offer
from support.builders import servers
from support.sandbox import Sandbox
from support.terminal import on_terminal

TOKEN = "ghp_" + "k3J9x" * 6
STATE = """{
  "numStartups": 3,
  "mcpServers": {
    "git": {"command": "run-git", "env": {"GITHUB_TOKEN": "%s"}},
    "wire": {"type": "ws", "url": "wss://wire.test/"}
  },
  "projects": {}
}
"""
SETTINGS = """{
\t"model": "opus",
\t"hooks": {
\t\t"PreToolUse": [
\t\t\t{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}
\t\t]
\t}
}
"""


class Ada:
    """A user with Claude Code, and a project whose server she approved of."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.shop = sandbox.project("shop")
        self.state = sandbox.write(sandbox.home / ".claude.json", STATE % TOKEN)
        self.settings = sandbox.write(sandbox.home / ".claude/settings.json", SETTINGS)
        self.record = sandbox.root / "data/installs/claude-code.json"

    def run(self, *words: str, code: int = 0) -> str:
        done = self.sandbox.remit(*words, cwd=self.shop)
        assert done.returncode == code, done.stderr
        assert TOKEN not in done.stdout + done.stderr
        return done.stdout + done.stderr

    def approve(self, *labels: str) -> None:
        self.sandbox.write(self.shop / ".mcp.json", servers(*labels))
        answers = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": list(labels)}
        text = (STATE % TOKEN).replace(
            '"projects": {}', f'"projects": {json.dumps({str(self.shop): answers})}'
        )
        self.state.write_text(text)

    def visible(self) -> list[str]:
        listed = json.loads(self.sandbox.remit("tools", "--json", cwd=self.shop).stdout)["tools"]
        declared = [tool for tool in listed if tool["source"] != REMIT]
        return [tool["server"] for tool in declared if tool["kind"] == "mcp_server"]


@pytest.fixture
def ada(sandbox: Sandbox) -> Ada:
    return Ada(sandbox)


def client_files(ada: Ada) -> tuple[bytes, bytes]:
    return ada.state.read_bytes(), ada.settings.read_bytes()


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.long
def test_where_not_all_fits_into_a_request_listings_do_not_say_that_it_is_sent(ada: Ada) -> None:
    sandbox = ada.sandbox
    ada.run("install", "claude-code", "--yes")
    label = ada.visible()[0]
    with sandbox.registry() as registry:
        here = registry.at(str(ada.shop))
        (git,) = [
            item.declaration for item in registry.catalog.resolved(here) if item.declaration.server == label
        ]
        log = Definition(name=f"mcp__{label}__log", server=label, tool="log", description="Shows commits.")
        registry.catalog.keep(git, Offer(tools=[log]), here)
    part = "(Remit sends some of them; the agent finds the others)"

    def assert_some_are_sent() -> None:
        for command in ("tools", "scan"):
            shown = sandbox.remit(command, cwd=ada.shop).stdout
            assert "per request" not in shown
            assert part in shown.splitlines()
        assert "tokens if they were sent" in sandbox.remit("usage", cwd=ada.shop).stdout

    assert_some_are_sent()  # without a budget, only used tools are
    sandbox.write(ada.shop / "remit.toml", "token_budget = 6000\n")
    for command in ("tools", "scan"):
        shown = sandbox.remit(command, cwd=ada.shop).stdout
        assert "tokens per request" in shown
        assert part not in shown.splitlines()
    assert "tokens in each request" in sandbox.remit("usage", cwd=ada.shop).stdout
    sandbox.write(ada.shop / "remit.toml", "token_budget = 1\n")
    assert_some_are_sent()


def test_install_registers_hooks_and_one_server_and_leaves_the_others_to_it(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    state, settings = read(ada.state), read(ada.settings)
    entry = state["mcpServers"]["remit"]
    installed = ["--install", str(ada.record)]
    isolated = [*without_variables(), sys.executable, "-I", "-m", "remit"]
    words = [*isolated, "serve", "--client", "claude-code", *installed]
    assert [entry["command"], *entry["args"]] == words
    assert "env" not in entry
    assert entry["alwaysLoad"] is True
    assert os.path.isabs(entry["command"])
    assert os.access(entry["command"], os.X_OK)
    assert settings["hooks"].keys() == HOOKS.keys()
    for event, groups in settings["hooks"].items():
        (handler,) = groups[-1]["hooks"]
        repair = [REPAIR.format("")] if event == "PreToolUse" else []
        assert [handler["command"], *handler["args"]] == [*isolated, "hook", *installed, *repair]
        assert handler.get("onFailure") == ("block" if event == "PreToolUse" else None)
        is_answered = event not in (
            "PostToolUse",
            "PostToolUseFailure",
            "UserPromptExpansion",
            "ConfigChange",
        )
        assert handler.get("async", False) is not is_answered
    assert settings["hooks"]["PreToolUse"][0]["matcher"] == "Bash"
    # Which Remit cannot reach: one over a WebSocket.
    own = {"serverCommand": [entry["command"], *entry["args"]]}
    assert settings["allowedMcpServers"] == [own, {"serverName": "wire"}]
    assert settings["disabledMcpjsonServers"] == ["remit"]


def denied_tools(ada: Ada) -> list[str]:
    return [rule for rule in read(ada.settings)["permissions"]["deny"] if "(" not in rule]


def test_what_is_blocked_for_good_is_denied_by_the_client_too(ada: Ada) -> None:
    before = SETTINGS.replace('"model": "opus"', '"permissions": {"deny": ["Read", "Bash"]}')
    ada.settings.write_text(before)
    own = ada.sandbox.write(ada.sandbox.home / ".config/remit/remit.toml", 'block = ["Bash", "WebFetch"]\n')
    ada.run("install", "claude-code", "--yes")
    assert denied_tools(ada) == ["Read", "Bash", "WebFetch"]
    own.write_text('block = ["mcp__git__push"]\n')
    ada.run("scan")
    rules = ["Read", "Bash", "mcp__git__push", "mcp__remit__git__push"]
    assert denied_tools(ada) == rules
    before_scan = ada.settings.read_bytes(), ada.record.read_bytes()
    ada.run("scan")
    assert (ada.settings.read_bytes(), ada.record.read_bytes()) == before_scan
    ada.run("uninstall", "claude-code", "--yes")
    assert ada.settings.read_text() == before


def test_a_scan_with_another_configuration_leaves_the_clients_rules_alone(ada: Ada) -> None:
    ada.sandbox.write(ada.sandbox.home / ".config/remit/remit.toml", 'block = ["Bash"]\n')
    ada.run("install", "claude-code", "--yes")
    ada.sandbox.variables["REMIT_CONFIG"] = os.devnull
    ada.run("scan")
    assert denied_tools(ada) == ["Bash"]


def test_a_scan_says_when_the_clients_rules_cannot_be_changed(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    ada.sandbox.write(ada.sandbox.home / ".config/remit/remit.toml", 'block = ["Bash"]\n')
    ada.settings.write_text("{")
    assert f"error: {ada.settings}, line " in ada.run("scan")


def test_no_declaration_of_a_server_is_changed(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    without = ada.state.read_text().replace("\n    ", "\n").split('"remit"')[0]
    assert (STATE % TOKEN).replace("\n    ", "\n").startswith(without.rstrip().rstrip(","))
    assert TOKEN not in ada.settings.read_text() + ada.record.read_text()


def test_remit_itself_goes_by_what_the_list_said_before(ada: Ada) -> None:
    before = ada.visible()
    assert before == ["git", "wire"]
    ada.run("install", "claude-code", "--yes")
    assert ada.visible() == before
    assert "is Remit itself" in ada.run("why", "remit")
    ada.run("uninstall", "claude-code", "--yes")
    assert ada.visible() == before


def test_a_list_of_the_users_own_still_counts_for_remit(ada: Ada) -> None:
    content = {"allowedMcpServers": [{"serverName": "wire"}]}
    ada.settings.write_text(json.dumps(content))
    assert ada.visible() == ["wire"]
    ada.run("install", "claude-code", "--yes")
    assert ada.visible() == ["wire"]
    ada.run("uninstall", "claude-code", "--yes")
    assert read(ada.settings) == content


def test_a_list_from_which_remit_was_taken_is_somebody_elses(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    ada.settings.write_text(json.dumps({"allowedMcpServers": [{"serverName": "wire"}]}))
    assert ada.visible() == ["wire"]


def test_installing_twice_changes_nothing(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    files = [ada.state, ada.settings, ada.record]
    before = [(file.read_bytes(), file.stat().st_ino) for file in files]
    assert "nothing was changed" in ada.run("install", "claude-code", "--yes")
    assert [(file.read_bytes(), file.stat().st_ino) for file in files] == before


def test_installing_again_after_the_client_wrote_changes_nothing(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    rewritten = json.dumps({**read(ada.state), "numStartups": 4}, indent=2)
    ada.state.write_text(rewritten)
    assert "nothing was changed" in ada.run("install", "claude-code", "--yes")
    assert ada.state.read_text() == rewritten


def test_uninstall_restores_every_byte(ada: Ada) -> None:
    state, settings = ada.state.read_bytes(), ada.settings.read_bytes()
    ada.run("install", "claude-code", "--yes")
    assert ada.state.read_bytes() != state
    ada.run("uninstall", "claude-code", "--yes")
    assert ada.state.read_bytes() == state
    assert ada.settings.read_bytes() == settings
    assert not ada.record.exists()


def test_uninstall_takes_only_its_own_out_of_a_file_that_was_written_since(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    state = read(ada.state)
    state["numStartups"], state["mcpServers"]["new"] = 9, {"command": "run-new"}
    ada.state.write_text(json.dumps(state, indent=4))
    ada.settings.write_text(ada.settings.read_text().replace('"opus"', '"sonnet"'))
    ada.run("uninstall", "claude-code", "--yes")
    del state["mcpServers"]["remit"]
    assert ada.state.read_text() == json.dumps(state, indent=4)
    assert ada.settings.read_text() == SETTINGS.replace('"opus"', '"sonnet"')


def test_uninstall_leaves_what_others_put_on_the_list_and_says_so(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    settings = read(ada.settings)
    settings["allowedMcpServers"].append({"serverName": "mine"})
    ada.settings.write_text(json.dumps(settings))
    told = ada.run("uninstall", "claude-code", "--yes")
    assert "warning: `allowedMcpServers`" in told
    assert read(ada.settings)["allowedMcpServers"] == [{"serverName": "mine"}]


def test_uninstall_without_a_client_takes_the_only_installed_one(ada: Ada) -> None:
    before = client_files(ada)
    assert "Remit is not installed in any client." in ada.run("uninstall", code=1)
    ada.run("install", "claude-code", "--yes")
    installed = client_files(ada)
    assert '-    "remit": {' in ada.run("uninstall", "--dry-run")
    assert "Remit stays installed in Claude Code" in on_a_terminal(ada, "uninstall", types="n\n")
    assert client_files(ada) == installed
    assert "Removed from Claude Code" in ada.run("uninstall", "--yes")
    assert client_files(ada) == before


def test_uninstall_says_what_stays_and_does_not_choose_between_clients(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    ada.run("install", "cursor", "--yes")
    told = ada.run("uninstall", "--yes", code=1)
    assert told.startswith("Nothing was changed.")
    assert ada.run("uninstall", "--dry-run", code=1) == told
    assert "  Claude Code: remit uninstall claude-code\n  Cursor: remit uninstall cursor\n" in told
    assert "Missing argument" not in told
    told = ada.run("uninstall", "claude-code", "--yes")
    assert "Remit is still installed in Cursor, which needs them." in told
    assert "rm -r" not in told
    ada.run("disable", "git")
    ada.run("disable", "git", "--shared")
    data, personal = ada.record.parents[1], ada.shop / "remit.local.toml"
    lines = ada.run("uninstall", "cursor", "--yes").splitlines()
    at = lines.index("Still on the disk:")
    found = dict(line.split("  ", 1) for line in map(str.strip, lines[at + 1 : at + 4]))
    assert list(found) == [str(data), str(personal), str(ada.shop / "remit.toml")]
    assert lines[at + 4] == f"hint: to delete what is yours: rm -r {data} {personal}"


def test_uninstall_without_an_install_says_so(ada: Ada) -> None:
    assert "Remit is not installed in Claude Code" in ada.run("uninstall", "claude-code", "--yes", code=1)


def test_without_its_record_an_install_is_still_recognised(ada: Ada) -> None:
    state, settings = read(ada.state), read(ada.settings)
    ada.run("install", "claude-code", "--yes")
    ada.record.unlink()
    assert "no install is recorded" in ada.run("doctor")
    ada.run("uninstall", "claude-code", "--yes")
    assert read(ada.state) == state
    assert read(ada.settings) == settings


def test_without_its_record_an_install_is_made_anew_and_remit_sees_all_servers_again(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    installed = read(ada.settings)
    ada.record.unlink()
    assert ada.visible() == ["remit", "wire"]  # which the list admits; nobody knows what else it hides
    ada.run("install", "claude-code", "--yes")
    assert read(ada.settings) == installed
    assert ada.visible() == ["git", "wire"]


def test_an_install_of_another_environment_is_replaced(ada: Ada) -> None:
    before = ada.state.read_bytes(), ada.settings.read_bytes()
    ada.run("install", "claude-code", "--yes")
    for file in (ada.state, ada.settings):
        words = read(ada.state)["mcpServers"]["remit"]["command"]
        file.write_text(file.read_text().replace(words, "/gone/bin/remit"))
    ada.run("install", "claude-code", "--yes")
    assert "/gone" not in ada.state.read_text() + ada.settings.read_text()
    ada.run("uninstall", "claude-code", "--yes")
    assert (ada.state.read_bytes(), ada.settings.read_bytes()) == before


def test_an_entry_that_starts_remit_in_its_own_way_comes_back(ada: Ada) -> None:
    content = {"mcpServers": {"remit": {"command": "uvx", "args": ["remit", "serve"], "env": {"A": "b"}}}}
    ada.state.write_text(json.dumps(content))
    ada.run("install", "claude-code", "--yes")
    assert read(ada.state)["mcpServers"]["remit"]["alwaysLoad"] is True
    ada.run("uninstall", "claude-code", "--yes")
    assert ada.state.read_text() == json.dumps(content)


def test_another_server_of_that_name_is_not_replaced(ada: Ada) -> None:
    text = json.dumps(servers("remit"))
    ada.state.write_text(text)
    told = ada.run("install", "claude-code", "--yes", code=2)
    assert "another server called `remit`" in told
    assert ada.state.read_text() == text
    assert ada.settings.read_text() == SETTINGS


@pytest.mark.parametrize("broken", ['{"a": 1,\n // no\n}', '{"a": 1', "[]"])
def test_a_broken_file_is_named_with_its_place_and_nothing_is_written(ada: Ada, broken: str) -> None:
    ada.settings.write_text(broken)
    told = ada.run("install", "claude-code", "--yes", code=2)
    assert f"error: {ada.settings}, line " in told
    assert "hint: fix the file" in told
    assert ada.settings.read_text() == broken
    assert ada.state.read_text() == STATE % TOKEN
    assert not ada.record.exists()


def test_a_file_that_is_broken_at_uninstall_keeps_its_part_of_the_record(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    whole = ada.settings.read_text()
    ada.settings.write_text(whole[:-3])
    ada.run("uninstall", "claude-code", "--yes", code=2)
    assert ada.settings.read_text() == whole[:-3]
    ada.settings.write_text(whole)
    ada.run("uninstall", "claude-code", "--yes")
    assert ada.settings.read_text() == SETTINGS
    assert ada.state.read_text() == STATE % TOKEN


def test_a_dry_run_prints_what_goes_and_comes_and_changes_nothing(ada: Ada) -> None:
    told = ada.run("install", "claude-code", "--dry-run")
    summary = ada.sandbox.remit("install", "claude-code", "--dry-run", cwd=ada.shop).stderr
    assert re.match(r"Would change ~/\S+: [\d,]+ lines? added, \d+ removed\.\n  1 server: `remit`\n", summary)
    flat = " ".join(summary.split())
    assert " hooks: SessionStart, UserPromptSubmit, " in flat
    assert re.search(r" permission rules: \d `ask`, \d `deny` `allowedMcpServers`: ", flat)
    assert flat.endswith(" `claude mcp add` will be blocked; use `remit add`.")
    assert f"+++ {ada.state}" in told
    assert '+    "remit": {' in told
    assert '+\t"allowedMcpServers": [' in told
    assert "run-git" not in told
    assert (ada.state.read_text(), ada.settings.read_text()) == (STATE % TOKEN, SETTINGS)
    assert not ada.record.exists()
    ada.run("install", "claude-code", "--yes")
    assert "Nothing would change." in ada.run("install", "claude-code", "--dry-run")
    assert '-    "remit": {' in ada.run("uninstall", "claude-code", "--dry-run")


def test_a_dry_run_shows_no_secret_of_what_it_would_replace(ada: Ada) -> None:
    content = {
        "allowedMcpServers": [{"serverUrl": f"https://x.test/?token={TOKEN}"}, {"serverCommand": [TOKEN]}]
    }
    ada.settings.write_text(json.dumps(content))
    assert "***" in ada.run("install", "claude-code", "--dry-run")


def test_the_record_is_for_its_user_alone(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    assert stat.S_IMODE(ada.record.stat().st_mode) == 0o600
    assert stat.S_IMODE(ada.record.parent.stat().st_mode) == 0o700


def test_without_a_terminal_nothing_is_done_without_yes(ada: Ada) -> None:
    assert "pass --yes" in ada.run("install", "claude-code", code=2)
    assert ada.settings.read_text() == SETTINGS


def test_servers_that_the_client_has_approved_are_shown_and_not_trusted_without_a_word(ada: Ada) -> None:
    ada.approve("till")
    told = ada.run("install", "claude-code", "--dry-run")
    assert "till (project, .mcp.json): not trusted" in told
    assert "runs    run-till" in told
    assert "not trusted" in ada.run("trust")
    told = ada.run("install", "claude-code", "--yes")
    assert "runs    run-till" in told
    assert "hint: in that directory, run `remit trust till`" in told
    assert "till (project, .mcp.json): not trusted" in ada.run("trust")


@pytest.mark.long
def test_on_a_terminal_a_person_says_what_is_done_and_which_servers_are_trusted(ada: Ada) -> None:
    ada.approve("tape", "till")
    state = ada.state.read_bytes()
    seen = on_a_terminal(ada, "install", "claude-code", types="n\n")
    assert "Install Remit in Claude Code? [y/N]" in seen
    assert seen.splitlines()[-1].endswith("Claude Code was not changed.")
    assert ada.state.read_bytes() == state
    seen = on_a_terminal(ada, "install", "claude-code", types="y\ny\nn\n")
    assert "Trust `till`, so Remit may start it as shown?" in seen
    assert b'"remit"' in ada.state.read_bytes()
    told = ada.run("trust")
    assert "tape (project, .mcp.json): trusted" in told
    assert "till (project, .mcp.json): not trusted" in told


def test_an_install_is_summarized_in_five_lines_with_its_undo(ada: Ada) -> None:
    done = ada.sandbox.remit("install", "claude-code", "--yes", cwd=ada.shop)
    assert done.stdout.splitlines() == [
        "Installed in Claude Code.",
        "  changed    ~/.claude.json and ~/.claude/settings.json",
        "  unchanged  the entries of your other servers: Remit serves them",
        "  starts     the next time you start Claude Code",
        "  undo       remit uninstall claude-code",
    ]


def test_an_install_from_an_environment_that_may_vanish_says_so(
    ada: Ada, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = ada.sandbox.root / "clone"
    ada.sandbox.write(clone / "src/remit/__init__.py", "")
    ada.sandbox.write(clone / "pyproject.toml", "")
    monkeypatch.setattr(sys, "prefix", str(clone / ".venv"))
    told = ada.run("install", "claude-code", "--yes")
    assert f"warning: this Remit is in the environment of a checkout, {clone}/.venv" in told
    assert f"hint: run `make install` in {clone}; then run `remit install claude-code`" in told


def test_declining_to_uninstall_says_that_remit_stays(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    seen = on_a_terminal(ada, "uninstall", "claude-code", types="n\n")
    assert seen.splitlines()[-1].endswith("Remit stays installed in Claude Code; nothing was changed.")
    assert "remit" in read(ada.state)["mcpServers"]


def on_a_terminal(ada: Ada, *words: str, types: str) -> str:
    return on_terminal(ada.sandbox, words, ada.shop, typed=types, variables={"TERM": "dumb"}).shown


def test_servers_that_wait_for_approval_are_not_trusted(ada: Ada) -> None:
    ada.sandbox.write(ada.shop / ".mcp.json", servers("till"))
    ada.run("install", "claude-code", "--yes")
    assert "not trusted" in ada.run("trust")


def test_servers_of_other_projects_that_the_client_knows_are_shown_too(ada: Ada) -> None:
    ada.approve("till")
    done = ada.sandbox.remit("install", "claude-code", "--yes", cwd=ada.sandbox.root)
    assert f"Servers of {ada.shop} that the client may start:" in done.stderr
    assert "run `remit trust till`" in done.stderr


def test_doctor_names_a_list_that_lets_the_client_load_a_server_beside_remit(ada: Ada) -> None:
    ada.sandbox.write(
        ada.shop / ".claude/settings.json", {"allowedMcpServers": [{"serverCommand": ["run-git"]}]}
    )
    ada.run("install", "claude-code", "--yes")
    told = ada.run("doctor", code=1)  # whose programs do not exist
    assert "`allowedMcpServers` in .claude/settings.json adds to Remit's list" in told


def test_doctor_says_when_the_client_is_to_load_remit_alone_and_does_not(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    state = read(ada.state)
    del state["mcpServers"]["remit"]
    ada.state.write_text(json.dumps(state))
    assert "Remit is not loaded: its entry is gone" in ada.run("doctor", code=1)


def test_a_broken_record_is_named_and_nothing_is_let_through(ada: Ada) -> None:
    ada.run("install", "claude-code", "--yes")
    ada.record.write_text("{")
    told = ada.sandbox.remit("tools", cwd=ada.shop)
    assert "claude-code.json" in told.stderr
    assert ada.visible() == ["remit", "wire"]
    assert "move it away" in ada.run("uninstall", "claude-code", "--yes", code=2)


def test_another_directory_of_the_clients_is_honoured(ada: Ada) -> None:
    ada.sandbox.variables["CLAUDE_CONFIG_DIR"] = str(ada.sandbox.root / "config")
    told = ada.run("install", "claude-code", "--yes")
    assert "Claude Code is not configured yet; its file would be created." in told
    assert "remit" in read(ada.sandbox.root / "config/.claude.json")["mcpServers"]
    assert "hooks" in read(ada.sandbox.root / "config/settings.json")
    ada.run("uninstall", "claude-code", "--yes")
    assert not (ada.sandbox.root / "config").exists()
    assert ada.settings.read_text() == SETTINGS


FILES = {
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        '{"mcpServers": {"git": {"command": "g"}}}',
    ),
    "cursor": (".cursor/mcp.json", '\ufeff{\r\n  "mcpServers": {}\r\n}\r\n'),
    "vscode": (
        ".config/Code/User/mcp.json",
        '{\n  // mine\n  "servers": {\n    "a": {"command": "a"}, // x\n  }\n}\n',
    ),
    "codex": (".codex/config.toml", '# mine\nmodel = "x"\n[mcp_servers.git]\ncommand = "git"'),
    "gemini": (".gemini/settings.json", '{"mcpServers": {} /* none */}'),
}


@pytest.mark.long
@pytest.mark.parametrize("client", FILES)
def test_other_clients_get_a_server_and_are_restored_to_the_last_byte(sandbox: Sandbox, client: str) -> None:
    name, text = FILES[client]
    file = sandbox.write(sandbox.home / name, text.encode())
    for words in (("install",), ("install",)):
        done = sandbox.remit(*words, client, "--yes")
        assert done.returncode == 0, done.stderr
    own = client if client in PLACES else "gemini-cli"
    listed = json.loads(sandbox.remit("tools", "--all", "--json", "--client", own).stdout)["tools"]
    assert [tool["verdict"] for tool in listed if tool["server"] == "remit"] == ["hidden"]
    assert f"--client{own}" in file.read_text(encoding="utf-8").translate({ord(c): None for c in '", \n\r\t'})
    assert sandbox.remit("uninstall", client, "--yes").returncode == 0
    assert file.read_bytes() == text.encode()


@pytest.mark.long
@pytest.mark.parametrize("client", FILES)
def test_what_was_not_there_is_gone_again_afterwards_directories_too(sandbox: Sandbox, client: str) -> None:
    file, before = sandbox.home / FILES[client][0], sorted(sandbox.home.rglob("*"))
    for _ in range(2):
        assert sandbox.remit("install", client, "--yes").returncode == 0
    assert file.exists()
    assert sandbox.remit("uninstall", client, "--yes").returncode == 0
    assert sorted(sandbox.home.rglob("*")) == before
    assert not (sandbox.root / "data/installs").exists()


def test_a_directory_that_install_made_stays_when_something_else_is_in_it(sandbox: Sandbox) -> None:
    assert sandbox.remit("install", "vscode", "--yes").returncode == 0
    mine = sandbox.write(sandbox.home / ".config/Code/mine", "x")
    assert sandbox.remit("uninstall", "vscode", "--yes").returncode == 0
    assert [path for path in (sandbox.home / ".config").rglob("*") if path.is_file()] == [mine]
    assert not (sandbox.home / ".config/Code/User").exists()


def test_a_directory_that_was_there_before_stays(sandbox: Sandbox) -> None:
    (sandbox.home / ".cursor").mkdir()
    assert sandbox.remit("install", "cursor", "--yes").returncode == 0
    assert sandbox.remit("uninstall", "cursor", "--yes").returncode == 0
    assert list((sandbox.home / ".cursor").iterdir()) == []


def test_codex_hands_remit_the_variables_that_its_servers_name(sandbox: Sandbox) -> None:
    text = (
        '[mcp_servers.a]\ncommand = "a"\nenv_vars = ["A_TOKEN"]\n'
        '[mcp_servers.b]\nurl = "https://b.test"\nbearer_token_env_var = "B_TOKEN"\n'
    )
    file = sandbox.write(sandbox.home / ".codex/config.toml", text)
    assert sandbox.remit("install", "codex", "--yes").returncode == 0
    entry = tomllib.loads(file.read_text())["mcp_servers"]["remit"]
    assert entry["env_vars"] == ["A_TOKEN", "B_TOKEN"]
    assert "nothing was changed" in sandbox.remit("install", "codex", "--yes").stdout


def test_a_client_that_remit_cannot_be_put_into_is_refused_with_those_that_it_can(sandbox: Sandbox) -> None:
    done = sandbox.remit("install", "zed", "--yes")
    assert done.returncode == 2
    assert "Remit cannot be installed in `zed`" in done.stderr
    assert "`claude-code`" in done.stderr


def test_a_server_that_remit_may_not_start_is_hidden_in_every_answer_with_the_next_step(ada: Ada) -> None:
    ada.approve("till")
    ada.sandbox.provide("till")
    assert "till" in ada.visible()
    ada.run("install", "claude-code", "--yes")
    ada.run("trust", "till", "--yes")
    assert "till" in ada.visible()
    assert "- MCP: till (project)" in ada.run("context")
    ada.run("trust", "--revoke", "till")
    assert "till" not in ada.visible()
    assert "- MCP: till" not in ada.run("context")
    why = ada.run("why", "till")
    assert "not trusted" in why
    assert "`remit trust till`" in why
    overview = ada.run("scan")
    assert "Not trusted: Remit does not start it: 1; to change it, look at it with `remit trust`" in " ".join(
        overview.split()
    )
    ada.run("uninstall", "claude-code", "--yes")
    assert "till" in ada.visible()


def test_settings_that_cannot_be_read_for_the_moment_are_believed_to_be_as_they_were(ada: Ada) -> None:
    ada.approve("till")
    ada.run("install", "claude-code", "--yes")
    ada.run("trust", "--revoke", "till")
    ada.settings.write_text("{")
    assert "till" not in ada.visible()
    ada.settings.unlink()
    assert "till" in ada.visible()  # the client loads it itself again


def test_where_gemini_has_a_list_of_the_allowed_remit_is_on_it_until_it_is_taken_out(
    sandbox: Sandbox,
) -> None:
    text = '{"mcp": {"allowed": ["git"]}, // mine\n "mcpServers": {}}'
    file = sandbox.write(sandbox.home / ".gemini/settings.json", text)
    for _ in range(2):
        done = sandbox.remit("install", "gemini", "--yes")
        assert (done.returncode, "does not load it here" in done.stderr) == (0, False)
        assert '"allowed": ["git", "remit"]' in file.read_text()
    (sandbox.root / "data/installs/gemini-cli.json").unlink()  # its look tells
    assert sandbox.remit("uninstall", "gemini", "--yes").returncode == 0
    assert file.read_text() == text


def test_a_client_that_does_not_load_remit_is_told_of(sandbox: Sandbox) -> None:
    sandbox.write(sandbox.home / ".gemini/settings.json", {"mcp": {"excluded": ["remit"]}})
    told = sandbox.remit("install", "gemini", "--yes").stderr
    assert "warning: Gemini CLI does not load it here: `remit why remit --client gemini-cli` says why" in told


def test_a_form_that_cannot_be_edited_is_told_with_the_one_that_can(sandbox: Sandbox) -> None:
    text = 'mcp_servers = { git = { command = "g" } }\n'
    file = sandbox.write(sandbox.home / ".codex/config.toml", text)
    done = sandbox.remit("install", "codex", "--yes")
    assert done.returncode == 2
    assert (
        "hint: write each of its entries as a table, `[mcp_servers.NAME]`, and run this again" in done.stderr
    )
    assert file.read_text() == text


def test_install_says_which_variables_it_does_not_record(ada: Ada) -> None:
    ada.sandbox.variables |= {"HTTPS_PROXY": "http://ada:hush@proxy.test:3128", "REMIT_EMBEDDINGS_KEY": TOKEN}
    told = ada.run("install", "claude-code", "--yes")
    assert "warning: HTTPS_PROXY holds a secret, so it is not recorded" in told
    assert "hint: put the key into a file, set REMIT_EMBEDDINGS_KEY_FILE" in told
    assert "hush" not in told + ada.record.read_text()


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "act"),
    [
        (["uninstall", "claude-code", "--yes"], "uninstall Remit"),
        (["forget", ".", "--yes"], "delete what is stored, with trust and accepted definitions"),
        (["token", "add", "x"], "create a token"),
        (["credential", "set", "git", "--for", "x"], "set a credential"),
        (["credential", "remove", "--for", "x"], "remove a credential"),
        (["credential", "new-key"], "create a key"),
        (["credential", "rekey"], "re-encrypt credentials"),
    ],
)
def test_an_agent_cannot_take_protection_away_in_passing(ada: Ada, words: list[str], act: str) -> None:
    ada.run("install", "claude-code", "--yes")
    before = ada.settings.read_bytes()
    ada.sandbox.variables["CLAUDECODE"] = "1"
    done = ada.sandbox.remit(*words, cwd=ada.shop)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"Claude Code runs this command, and only a person can {act}" in done.stderr
    assert ada.settings.read_bytes() == before
    assert ada.sandbox.remit("uninstall", "claude-code", "--dry-run", cwd=ada.shop).returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("client", ["claude-code", "cursor"])
def test_status_and_doctor_tell_how_to_repair_an_install_whose_python_is_gone(ada: Ada, client: str) -> None:
    ada.run("install", client, "--yes")
    gone = "/nonexistent/bin/python"
    files = (ada.state, ada.settings, ada.sandbox.home / ".cursor/mcp.json")
    for path in (*filter(Path.exists, files), ada.record.with_name(f"{client}.json")):
        path.write_text(path.read_text().replace(json.dumps(sys.executable), json.dumps(gone)))
    repair = f"run `remit install {client}` with the Remit that you use now"
    told = ada.run("status")
    assert f"was installed with in {client} is gone: {gone} does not exist" in told
    assert f"hint: {repair}" in told
    found = json.loads(ada.sandbox.remit("doctor", "--client", client, "--json", cwd=ada.shop).stdout)
    assert repair in [item["fix"] for item in found["findings"]]
    ada.run("install", client, "--yes")
    assert "is gone" not in ada.run("status")


def test_the_first_scan_of_a_project_after_an_uninstall_does_not_report_remit_as_removed(ada: Ada) -> None:
    ada.approve("till")
    ada.run("install", "claude-code", "--yes")
    ada.run("uninstall", "claude-code", "--yes")
    assert "Since Remit last read" not in ada.run("scan")


def test_an_install_without_a_client_names_the_clients(ada: Ada) -> None:
    told = ada.sandbox.remit("install", cwd=ada.shop)
    assert told.returncode == 2
    assert "name a CLIENT: `claude-code`, " in told.stderr


def test_without_a_terminal_only_the_reason_is_said_and_what_the_install_blocks(ada: Ada) -> None:
    told = ada.sandbox.remit("install", "claude-code", cwd=ada.shop)
    assert told.returncode == 2
    assert told.stderr.endswith("\nError: not a terminal: pass --yes to confirm\n")
    assert "Usage:" not in told.stderr
    assert "`claude mcp add` will be blocked; use `remit add`." in told.stderr
