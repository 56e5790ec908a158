import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import click
import pytest

from remit import __version__
from support.builders import servers
from support.forked_commands import fork_server
from support.sandbox import Sandbox
from support.terminal import AS_PERSON, on_terminal


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    sandbox.write_state("wiki", "git", local={path: servers("git")})
    sandbox.write(path / ".mcp.json", servers("till"))
    return path


def answer(sandbox: Sandbox, *arguments: str, cwd: Path) -> Any:
    finished = sandbox.remit(*arguments, "--json", cwd=cwd)
    assert finished.returncode in (0, 1), finished.stderr
    return json.loads(finished.stdout)


def test_the_version_is_printed(sandbox: Sandbox) -> None:
    assert sandbox.remit("--version").stdout == f"remit {__version__}\n"


def test_tools_has_a_line_for_each_server(sandbox: Sandbox, shop: Path) -> None:
    sandbox.provide("git", "wiki", "till")
    finished = sandbox.remit("tools", cwd=shop)
    assert finished.returncode == 0
    assert finished.stderr == ""
    assert finished.stdout.splitlines() == [
        f"{shop} (claude-code)",
        "",
        "  server  tools  tokens  uses",
        "  git         ?       ?     0  local, ~/.claude.json",
        "  till        ?       ?     0  project, .mcp.json, not trusted",
        "  wiki        ?       ?     0  global, ~/.claude.json",
        "",
        "3 servers visible",
        "cost unknown for 2 servers: run `remit scan --connect`",
        "cost unknown for `till` (not trusted): run `remit trust till`",
        "1 hidden",
        "next: `remit scan --connect` starts the servers and lists their tools",
    ]


def test_tools_as_json_has_the_documented_shape(sandbox: Sandbox, shop: Path) -> None:
    listing = answer(sandbox, "tools", "--all", cwd=shop)
    assert listing.keys() == {"project", "workspace", "client", "states", "tokens", "tools"}
    assert listing["project"]["path"] == listing["workspace"] == str(shop)
    assert listing["client"] == "claude-code"
    assert listing["tools"][-1] == {
        "name": "mcp__wiki__*",
        "kind": "mcp_server",
        "server": "wiki",
        "client": "claude-code",
        "scope": "global",
        "source": str(sandbox.home / ".claude.json"),
        "status": "active",
        "usage_count": 0,
        "last_used_at": None,
        "description": None,
        "tokens": None,
        "verdict": "visible",
        "gate": None,
        "reason": "declared in ~/.claude.json",
    }


def test_clients_lists_those_that_are_found_with_their_files(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(sandbox.home / ".cursor/mcp.json", servers("kite"))
    sandbox.write(shop / ".cursor/mcp.json", servers("maps", bad={}))
    finished = sandbox.remit("clients", cwd=shop)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.splitlines() == [
        f"{shop} (all)",
        "",
        "  client       servers  problems  files",
        "  claude-code  4        0         ~/.claude/settings.json",
        "                                  ~/.claude.json",
        "                                  .mcp.json",
        "  cursor       2        1         ~/.cursor/mcp.json",
        "                                  .cursor/mcp.json",
    ]


def test_clients_as_json_has_the_documented_shape(sandbox: Sandbox, shop: Path) -> None:
    kite = sandbox.write(sandbox.home / ".cursor/mcp.json", servers("kite"))
    found = answer(sandbox, "clients", cwd=shop)
    assert found.keys() == {"project", "workspace", "clients"}
    assert {"name": "cursor", "files": [str(kite)], "servers": 1, "problems": 0} in found["clients"]
    everything = answer(sandbox, "clients", "--all", "--project", str(shop), cwd=sandbox.root)
    assert {"name": "goose", "files": [], "servers": 0, "problems": 0} in everything["clients"]


def test_where_no_client_is_installed_clients_says_so(sandbox: Sandbox) -> None:
    shutil.rmtree(sandbox.home / ".claude")
    sandbox.variables["PATH"] = "/nowhere"
    finished = sandbox.remit("clients", cwd=sandbox.root)
    assert finished.returncode == 0
    assert "No clients found on this machine." in finished.stdout
    assert answer(sandbox, "clients", cwd=sandbox.root)["clients"] == []


def test_another_clients_tools_are_scanned_and_listed_by_its_name(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".cursor/mcp.json", servers("maps"))
    (sandbox.home / ".cursor").mkdir()
    added = answer(sandbox, "scan", "--client", "cursor", cwd=shop)["added"]
    assert [(item["client"], item["scope"], item["server"]) for item in added] == [
        ("cursor", "project", "maps")
    ]
    assert [tool["server"] for tool in answer(sandbox, "tools", "--client", "cursor", cwd=shop)["tools"]] == [
        "maps"
    ]
    assert "declared for cursor" in sandbox.remit("why", "maps", cwd=shop).stdout


def test_the_inventory_of_all_clients_says_whose_each_tool_is(sandbox: Sandbox, shop: Path) -> None:
    sandbox.provide("wiki")
    sandbox.write(sandbox.home / ".cursor/mcp.json", servers("wiki"))
    shown = sandbox.remit("tools", "--client", "all", cwd=shop).stdout.splitlines()
    assert "  claude-code: wiki      ?       ?     0  global, ~/.claude.json" in shown
    assert "  cursor: wiki           ?       ?     0  global, ~/.cursor/mcp.json" in shown


def test_hidden_tools_are_listed_only_when_asked_for_with_gate_and_reason(
    sandbox: Sandbox, shop: Path
) -> None:
    assert len(answer(sandbox, "tools", cwd=shop)["tools"]) == 3
    hidden = [
        tool for tool in answer(sandbox, "tools", "--all", cwd=shop)["tools"] if tool["verdict"] == "hidden"
    ]
    assert [(tool["name"], tool["scope"], tool["gate"]) for tool in hidden] == [
        ("mcp__git__*", "global", "precedence")
    ]
    assert (
        "shadowed by the local declaration in ~/.claude.json"
        in sandbox.remit("tools", "--all", cwd=shop).stdout
    )


def test_a_tool_that_fails_is_marked_in_listings_and_why_says_so(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:
        for _ in range(3):
            registry.usage.record("mcp__till__ring", registry.at(str(shop)), succeeded=False)
    assert "  mcp__till__ring [demoted] " in sandbox.remit("tools", "--server", "till", cwd=shop).stdout
    assert "3 of its last 3 calls here failed" in sandbox.remit("why", "mcp__till__ring", cwd=shop).stdout
    assert answer(sandbox, "why", "mcp__till__ring", cwd=shop)["status"] == "demoted"


def test_why_prints_the_winner_every_gate_and_the_losers(sandbox: Sandbox, shop: Path) -> None:
    explained = answer(sandbox, "why", "git", cwd=shop)
    assert (explained["name"], explained["scope"], explained["verdict"]) == (
        "mcp__git__*",
        "local",
        "visible",
    )
    assert [gate["gate"] for gate in explained["gates"]] == [
        "scope",
        "config",
        "precedence",
        "agent",
        "policy",
        "definition",
        "state",
        "danger",
    ]
    assert all(gate["passed"] and gate["reason"] for gate in explained["gates"])
    assert [other["scope"] for other in explained["shadowed"]] == ["global"]
    assert "other declarations of this name" in sandbox.remit("why", "git", cwd=shop).stdout


def test_why_of_another_projects_tool_and_of_nonsense_differ_in_the_name_alone(
    sandbox: Sandbox, shop: Path
) -> None:
    blog = sandbox.project("blog")
    sandbox.write(blog / ".mcp.json", servers("press"))
    sandbox.remit("scan", cwd=blog)
    for options in ((), ("--json",)):
        there = sandbox.remit("why", "press", *options, cwd=shop)
        nowhere = sandbox.remit("why", "zzzzz", *options, cwd=shop)
        assert there.returncode == nowhere.returncode == 1
        assert there.stdout.replace("press", "zzzzz") == nowhere.stdout
        assert there.stderr == nowhere.stderr


def test_why_says_what_would_change_a_hidden_tool(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".mcp.json", servers("lamp"))
    sandbox.write_state(local={shop: {"disabledMcpServers": ["lamp"]}})
    assert "to change it: enable it again in the client\n" in sandbox.remit("why", "lamp", cwd=shop).stdout


def test_why_says_that_the_server_of_a_visible_tool_cannot_be_started(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(sandbox.home / ".claude.json", servers(lamp={"command": "/nowhere/lamp"}))
    reason = "`/nowhere/lamp` does not exist"
    assert answer(sandbox, "why", "lamp", cwd=shop)["obstacle"] == f"cannot start: {reason}"
    headline = f"mcp__lamp__*: declared in ~/.claude.json, but cannot start: {reason}\n"
    assert sandbox.remit("why", "lamp", cwd=shop).stdout.startswith(headline)
    of_its_tool = sandbox.remit("why", "mcp__lamp__light", cwd=shop).stdout
    assert f"its server `lamp` is declared in ~/.claude.json, but cannot start: {reason}\n" in of_its_tool


def test_a_command_that_does_not_exist_is_answered_with_the_one_that_was_meant(sandbox: Sandbox) -> None:
    meant, nothing = sandbox.remit("tols"), sandbox.remit("zzzzz")
    assert (meant.returncode, nothing.returncode) == (2, 2)
    assert "No such command 'tols'. Did you mean 'tools'" in meant.stderr
    assert "No such command 'zzzzz'.\n" in nothing.stderr


def test_scan_reports_changes_and_counts(sandbox: Sandbox, shop: Path) -> None:
    first = answer(sandbox, "scan", cwd=shop)
    assert sorted(item["name"] for item in first["added"]) == [
        "mcp__git__*",
        "mcp__git__*",
        "mcp__till__*",
        "mcp__wiki__*",
    ]
    assert (first["visible"], first["hidden"], first["problems"]) == (3, 1, [])
    sandbox.write(shop / ".mcp.json", servers())
    again = answer(sandbox, "scan", cwd=shop)
    assert (again["first"], again["added"]) == (False, [])
    assert [item["name"] for item in again["removed"]] == ["mcp__till__*"]


def test_scan_as_json_has_the_documented_shape(sandbox: Sandbox, shop: Path) -> None:
    entry = {"command": "npx", "args": ["browser"]}
    sandbox.write(shop / ".mcp.json", servers(web=entry, fetch=entry))
    found = answer(sandbox, "scan", cwd=shop)
    state = str(sandbox.home / ".claude.json")
    assert found["first"] is True
    assert found["tokens"] == {"visible": 0, "all": 0, "uncounted_servers": 4}
    assert [(item["scope"], item["sources"], item["hidden"]) for item in found["scopes"]] == [
        ("local", [state], 0),
        ("project", [str(shop / ".mcp.json")], 0),
        ("global", [state], 1),
    ]
    assert found["scopes"][1]["visible"]["mcp_server"] == 2
    assert found["exceptions"] == [
        {
            "cause": "shadowed",
            "name": "mcp__git__*",
            "kind": "mcp_server",
            "server": "git",
            "client": "claude-code",
            "scope": "global",
            "source": state,
            "reason": "shadowed by the local declaration in ~/.claude.json",
        }
    ]
    assert [[item["server"] for item in group] for group in found["duplicates"]] == [["fetch", "web"]]


def test_tools_show_what_they_cost_once_a_definition_is_known(sandbox: Sandbox, shop: Path) -> None:
    sandbox.provide("git", "wiki", "till")
    with sandbox.registry() as registry:
        registry.usage.report_tool(
            "mcp__git__log", registry.at(str(shop)), description="Shows commits.", input_schema={}
        )
    listing = answer(sandbox, "tools", cwd=shop)
    tokens = {tool["name"]: tool["tokens"] for tool in listing["tools"]}
    assert tokens["mcp__git__*"] == tokens["mcp__git__log"] > 0
    assert tokens["mcp__wiki__*"] is None
    assert listing["tokens"] == {
        "visible": tokens["mcp__git__*"],
        "all": tokens["mcp__git__*"],
        "uncounted_servers": 2,
    }
    lines = sandbox.remit("tools", cwd=shop).stdout.splitlines()
    assert lines[3] == f"  git         1      {tokens['mcp__git__*']}     0  local, ~/.claude.json"
    assert lines[-6:-1] == [
        f"3 servers and 1 tool visible: about {tokens['mcp__git__*']} tokens",
        "cost unknown for 1 server: run `remit scan --connect`",
        "cost unknown for `till` (not trusted): run `remit trust till`",
        "(the client sends names only; the agent searches the definitions)",
        "1 hidden",
    ]
    sandbox.variables["ENABLE_TOOL_SEARCH"] = "false"
    shown = sandbox.remit("tools", cwd=shop).stdout
    assert f"visible: about {tokens['mcp__git__*']} tokens per request\n" in shown
    assert "names only" not in shown


def test_context_prints_the_section_and_respects_the_budget(sandbox: Sandbox, shop: Path) -> None:
    sandbox.provide("git", "wiki", "till")
    printed = sandbox.remit("context", cwd=shop).stdout
    text = printed.removesuffix("\n")
    assert text.startswith("## Project Memory\nproject_id: shop-")
    assert "\n\n## Available Tools\n- MCP: git (local)\n" in text
    assert answer(sandbox, "context", cwd=shop)["text"] == text
    assert sandbox.remit("context", "--budget", str(len(text)), cwd=shop).stdout == printed == f"{text}\n"
    assert 1 < len(sandbox.remit("context", "--budget", str(len(text) - 1), cwd=shop).stdout) < len(printed)
    assert sandbox.remit("context", "--budget", "5", cwd=shop).stdout == ""
    assert sandbox.remit("context", "--budget", "-1", cwd=shop).returncode == 2


def test_a_directory_can_be_named_instead_of_entered(sandbox: Sandbox, shop: Path) -> None:
    assert answer(sandbox, "tools", "--project", str(shop), cwd=sandbox.root)["workspace"] == str(shop)


def test_where_nothing_is_declared_the_listing_says_what_to_do(sandbox: Sandbox) -> None:
    finished = sandbox.remit("tools", cwd=sandbox.project("empty"))
    assert "No tools are available here." in finished.stdout
    assert "hint: " in finished.stdout


def test_forget_erases_a_project_once(sandbox: Sandbox, shop: Path) -> None:
    sandbox.remit("scan", cwd=shop)
    assert sandbox.remit("forget", "-y", str(shop)).stdout == f"forgot {shop}\n"
    again = sandbox.remit("forget", "--yes", str(shop))
    assert again.returncode == 1
    assert again.stderr.startswith(f"error: nothing is stored about `{shop}`\nhint: ")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"mcpServers": {', "line 1 column 17: not valid JSON"),
        ("", "the file is empty"),
        ('{"till": {"command": "x"}}', "`mcpServers` is missing"),
        ('{"mcpServers": {"bad": {"url": "u"}, "good": {"command": "x"}}}', "mcpServers.bad: `url` without"),
    ],
)
def test_a_bad_file_is_one_warning_every_time_and_everything_else_still_loads(
    sandbox: Sandbox, shop: Path, content: str, says: str
) -> None:
    sandbox.write(shop / ".mcp.json", content)
    for command in ("scan", "tools", "context"):
        finished = sandbox.remit(command, cwd=shop)
        assert finished.returncode == 0
        assert finished.stderr.startswith(f"warning: .mcp.json: {says}")
        assert finished.stderr.count("\n") == 1
    assert "  wiki " in sandbox.remit("tools", cwd=shop).stdout


@pytest.mark.long
def test_a_state_file_of_tens_of_megabytes_loads(sandbox: Sandbox, shop: Path) -> None:
    history = [{"display": "x" * 1000} for _ in range(40_000)]
    content = {**servers("wiki"), "projects": {str(shop): {**servers("ledger"), "history": history}}}
    sandbox.write(sandbox.home / ".claude.json", content)
    finished = sandbox.remit("tools", cwd=shop)
    assert finished.stderr == ""
    assert "  ledger " in finished.stdout


@pytest.mark.parametrize("content", [b"garbage" * 1000, b"SQLite format 3\0" + b"\0" * 100])
def test_a_corrupt_database_is_one_error_with_a_hint_and_stays_as_it_is(
    sandbox: Sandbox, shop: Path, content: bytes
) -> None:
    sandbox.write(sandbox.database, content)
    finished = sandbox.remit("tools", cwd=shop)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith(f"error: `{sandbox.database}` is damaged or not a database\nhint: ")
    assert sandbox.database.read_bytes() == content


def test_an_unwritable_place_for_data_is_one_error_with_a_hint(sandbox: Sandbox, shop: Path) -> None:
    sandbox.variables["REMIT_HOME"] = "/dev/null/data"
    finished = sandbox.remit("tools", cwd=shop)
    assert finished.returncode == 2
    assert [line.split(":")[0] for line in finished.stderr.splitlines()] == ["error", "hint"]


def test_a_client_has_the_same_names_for_every_command(sandbox: Sandbox, shop: Path) -> None:
    assert sandbox.remit("tools", "--client", "claude", cwd=shop).stdout.startswith(f"{shop} (claude-code)\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("tools", "--project", "/nowhere"), "error: `/nowhere`: No such file or directory\nhint: "),
        (
            ("tools", "--client", "emacs"),
            "error: no client is called `emacs`\nhint: expected one of `claude-code`",
        ),
        (
            ("tools", "--client", "claude-cod"),
            "error: no client is called `claude-cod`\nhint: did you mean `claude-code`?",
        ),
    ],
)
def test_a_wrong_option_is_an_error_that_names_it(
    sandbox: Sandbox, arguments: tuple[str, ...], says: str
) -> None:
    finished = sandbox.remit(*arguments)
    assert finished.returncode == 2
    assert finished.stderr.startswith(says)


def test_a_name_from_a_file_cannot_steer_the_terminal(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".mcp.json", servers("\x1b[2Jevil\u202e", **{"\x1b]0;x\x07": {"url": "u"}}))
    for arguments in (("tools",), ("why", "\x1b[2Jevil\u202e"), ("scan",), ("context",), ("tools", "--json")):
        finished = sandbox.remit(*arguments, cwd=shop)
        assert finished.returncode == 0
        assert not {"\x1b", "\x07", "\u202e"} & set(finished.stdout + finished.stderr)


def test_secrets_are_in_no_output_and_not_in_the_database(sandbox: Sandbox, shop: Path) -> None:
    hush = "hush-8c1f"
    entries = {
        "local": {"command": "x", "args": [f"--key={hush}"], "env": {"TOKEN": hush}},
        "remote": {"type": "http", "url": f"https://u:{hush}@mcp.test/?k={hush}", "headers": {"X": hush}},
        "broken": {"command": [hush], "env": {"TOKEN": hush}},
        "wrong": {"type": hush, "url": hush},
    }
    sandbox.write(shop / ".mcp.json", servers(**entries))
    for arguments in (("scan",), ("tools", "--all", "--json"), ("why", "local", "--json"), ("context",)):
        finished = sandbox.remit(*arguments, cwd=shop)
        assert hush not in finished.stdout + finished.stderr
    assert not any(hush.encode() in file.read_bytes() for file in sandbox.database.parent.iterdir())


def test_a_terminal_gets_colors_unless_they_are_not_wanted(sandbox: Sandbox, shop: Path) -> None:
    plain = sandbox.remit("tools", cwd=shop).stdout.splitlines()
    assert on_terminal(sandbox, ["tools"], shop).lines == plain
    colored = on_terminal(sandbox, ["tools"], shop, variables={"NO_COLOR": ""})
    assert "\x1b[1mtill" in colored.shown
    assert [click.unstyle(line) for line in colored.lines] == plain


def test_a_terminal_that_is_too_small_gets_a_pager(sandbox: Sandbox, shop: Path) -> None:
    pager = sandbox.write(sandbox.root / "bin/pager", "#!/bin/sh\necho paged\ncat\n")
    pager.chmod(0o755)
    variables = {"PAGER": str(pager)}
    assert on_terminal(sandbox, ["tools"], shop, rows=10, variables=variables).lines[0] == "paged"
    assert on_terminal(sandbox, ["tools"], shop, rows=40, variables=variables).lines[0] != "paged"


def test_a_narrow_terminal_cuts_no_name(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".mcp.json", servers("a-rather-long-name-for-a-server"))
    sandbox.variables["COLUMNS"] = "60"
    shown = on_a_terminal(sandbox, shop, "tools", "--all")
    assert "…" not in shown


def test_asking_before_forgetting_happens_on_a_terminal_only(sandbox: Sandbox, shop: Path) -> None:
    sandbox.remit("scan", cwd=shop)
    assert "Delete everything Remit stored" in on_a_terminal(sandbox, shop, "forget", str(shop), typed=b"n\n")
    refused = sandbox.remit("forget", str(shop))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "pass --yes" in refused.stderr
    assert sandbox.remit("forget", "--yes", str(shop)).returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_completion_script(sandbox: Sandbox, shell: str) -> None:
    assert "_REMIT_COMPLETE" in sandbox.remit("completion", shell).stdout


def test_completion_offers_the_names_known_here(sandbox: Sandbox, shop: Path) -> None:
    sandbox.variables.update(_REMIT_COMPLETE="bash_complete", COMP_WORDS="remit why mcp__t", COMP_CWORD="2")
    assert sandbox.remit(cwd=shop).stdout == "plain,mcp__till__*\n"
    sandbox.variables["COMP_WORDS"] = f"remit why --project {shop} wi"
    sandbox.variables["COMP_CWORD"] = "4"
    assert sandbox.remit(cwd=sandbox.root).stdout == "plain,wiki\n"


def test_completion_offers_nothing_that_a_shell_would_run(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".mcp.json", servers("git;touch${IFS}x", "git-log"))
    sandbox.variables.update(_REMIT_COMPLETE="bash_complete", COMP_WORDS="remit why git", COMP_CWORD="2")
    assert sandbox.remit(cwd=shop).stdout.splitlines() == ["plain,git", "plain,git-log"]


def test_without_a_command_the_dashboard_is_printed(sandbox: Sandbox) -> None:
    finished = sandbox.remit()
    assert finished.returncode == 0
    assert "\nClients " in finished.stdout


IS_REAL = re.compile("&-|gone")  # a closed stream or a directory that is gone cannot be handed to a fork


def in_a_shell(sandbox: Sandbox, line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    program = AS_PERSON if IS_REAL.search(line) else fork_server().command("remit")
    command = f'remit() {{ {shlex.join(program)} "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", command], cwd=cwd, env=sandbox.environment, capture_output=True, text=True, timeout=60
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("remit tools --all --json | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}", 0, ""),
        ("remit tools >&-", 0, ""),
        ("remit tools 2>&-", 0, ""),
        ("remit tools <&-", 0, ""),
        ("remit tools >/dev/full", 2, "error: could not write the output: No space left on device\n"),
        ("remit tools --unknown", 2, "Usage: remit tools"),
        ("remit forget $'x\\xff'", 1, "error: nothing is stored about"),
        ("CLAUDE_CONFIG_DIR=$'/tmp/\\xff' remit tools", 2, "error: CLAUDE_CONFIG_DIR is not valid Unicode"),
        ("REMIT_HOME=$'/tmp/\\xff' remit tools", 2, "error: REMIT_HOME is not valid Unicode"),
        ("COPILOT_HOME=$'/tmp/\\xff' remit clients", 2, "error: COPILOT_HOME is not valid Unicode"),
        ("COPILOT_HOME=$'/tmp/\\xff' remit tools", 0, ""),
        ('mkdir gone; cd gone; rmdir "$PWD"; remit tools', 2, "error: `.`: No such file or directory"),
        ('mkdir gone; cd gone; rmdir "$PWD"; REMIT_HOME=x remit tools', 2, "error: "),
    ],
)
def test_streams_and_surroundings_that_are_broken_are_no_traceback(
    sandbox: Sandbox, shop: Path, line: str, code: int, says: str
) -> None:
    finished = in_a_shell(sandbox, line, shop)
    assert (finished.returncode, finished.stderr[: len(says)]) == (code, says)
    assert "Traceback" not in finished.stderr


def test_an_interrupt_ends_a_wait_for_a_locked_database_at_once(sandbox: Sandbox, shop: Path) -> None:
    sandbox.remit("scan", cwd=shop)
    sandbox.write(shop / ".mcp.json", servers("changed"))
    holder: Any = apsw.Connection(str(sandbox.database))
    holder.execute("begin immediate")
    command = [sys.executable, "-X", "importtime", "-m", "remit", "tools"]
    process = subprocess.Popen(command, cwd=shop, env=sandbox.environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if line.endswith(" remit.store.scan_store\n"):  # the last import before the wait
            break
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=20)[1]
    assert process.returncode == 130, rest
    holder.execute("rollback")


def test_two_processes_at_once_both_succeed(sandbox: Sandbox, shop: Path) -> None:
    command = fork_server().command("remit", "scan", "--json")
    started = [
        subprocess.Popen(
            command, cwd=shop, env=sandbox.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(4)
    ]
    outputs = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0] * 4
    assert all(json.loads(stdout)["visible"] == 3 for stdout, _ in outputs)


def on_a_terminal(sandbox: Sandbox, cwd: Path, *arguments: str, typed: bytes = b"") -> str:
    """Run the command with a pseudo-terminal for all its streams."""
    ours, theirs = os.openpty()
    os.write(ours, typed)
    process = subprocess.Popen(
        fork_server().command("remit", *arguments),
        cwd=cwd,
        env={**sandbox.environment, "TERM": "xterm-256color", "COLUMNS": "200"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # Linux ends a terminal's output so
        pass
    process.wait(timeout=60)
    os.close(ours)
    return shown.decode()


def test_the_help_is_grouped_and_hides_what_only_programs_use(sandbox: Sandbox) -> None:
    shown = sandbox.remit("--help").stdout
    headings = [line for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Options:", "Look:", "Set up:", "Run:", "Advanced:"]
    assert "hook" not in shown


def test_dash_c_runs_a_command_as_if_started_there(sandbox: Sandbox, shop: Path) -> None:
    here = answer(sandbox, "tools", cwd=shop)
    assert answer(sandbox, "-C", str(shop), "tools", cwd=sandbox.root) == here
    assert answer(sandbox, "-C", str(shop.parent), "-C", shop.name, "tools", cwd=sandbox.root) == here
    failed = sandbox.remit("-C", "nowhere", "tools", cwd=sandbox.root)
    assert failed.returncode == 2
    assert "cannot change to `nowhere`: No such file or directory" in failed.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_is_installed_once_for_every_new_shell_and_undone(sandbox: Sandbox, shell: str) -> None:
    start = sandbox.write(sandbox.home / f".{shell}rc", "# mine")
    sandbox.variables["SHELL"] = f"/bin/{shell}"
    done = sandbox.remit("completion", "--install")
    assert done.returncode == 0, done.stderr
    script = sandbox.root / f"data/completion/remit.{shell}"
    assert "_REMIT_COMPLETE" in script.read_text()
    assert start.read_text().startswith("# mine\n# Remit: tab completion\n")
    assert str(script) in start.read_text()
    assert (
        sandbox.remit("completion", "--install").stdout == f"Tab completion for {shell} is already set up.\n"
    )
    sandbox.remit("undo", "--yes")
    assert start.read_text() == "# mine"
    assert not script.exists()


def test_a_new_bash_completes_after_the_install(sandbox: Sandbox) -> None:
    sandbox.remit("completion", "bash", "--install")
    found = subprocess.run(
        ["bash", "-c", '. "$HOME/.bashrc"; complete -p remit'],
        env=sandbox.environment,
        capture_output=True,
        text=True,
    )
    assert "_remit_completion remit" in found.stdout


def test_fish_loads_its_completion_by_itself(sandbox: Sandbox) -> None:
    assert sandbox.remit("completion", "fish", "--install").returncode == 0
    assert (sandbox.home / ".config/fish/completions/remit.fish").exists()


def test_completion_needs_to_know_the_shell(sandbox: Sandbox) -> None:
    failed = sandbox.remit("completion")
    assert failed.returncode == 2
    assert "name your shell: bash, zsh, fish" in failed.stderr


def test_commands_answer_for_the_client_that_is_installed(sandbox: Sandbox) -> None:
    shutil.rmtree(sandbox.home / ".claude")
    sandbox.variables["PATH"] = "/nowhere"
    shop = sandbox.project("shop")
    sandbox.write(shop / ".mcp.json", servers("till"))  # which Cursor does not read
    sandbox.write(sandbox.home / ".cursor/mcp.json", servers("kite"))
    why = answer(sandbox, "why", "kite", cwd=shop)
    assert (why["client"], why["verdict"]) == ("cursor", "visible")
    assert sandbox.remit("tools", cwd=shop).stdout.startswith(f"{shop} (cursor)\n")
    assert answer(sandbox, "tools", "--client", "claude-code", cwd=shop)["client"] == "claude-code"


def test_in_a_pipe_what_is_said_stays_in_its_place(sandbox: Sandbox, shop: Path) -> None:
    run = ["sh", "-c", f'"{sys.executable}" -m remit disable mcp__git__status 2>&1 | cat']
    told = subprocess.run(run, cwd=shop, env=sandbox.environment, capture_output=True, text=True, check=True)
    first, *others = told.stdout.splitlines()
    assert first.startswith("Disabled in ")
    assert others[0].startswith("warning: Remit is not installed")


def test_in_a_pipe_each_server_that_was_asked_is_listed_once(sandbox: Sandbox, shop: Path) -> None:
    told = sandbox.remit("scan", "--connect", cwd=shop)
    assert told.stdout.count("\n  server  scope ") == 1
    assert "1/" not in told.stderr
