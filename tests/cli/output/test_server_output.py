"""The commands that start servers, run as a user would."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.builders import servers
from support.databases import run_sql
from support.forked_commands import fork_server
from support.processes import SERVERS, read_pipe
from support.sandbox import Sandbox
from support.terminal import on_terminal

SMALL_SERVER = str(SERVERS / "small_server.py")


def entry(kind: str, *arguments: str, **more: object) -> dict[str, object]:
    return {"command": sys.executable, "args": [SMALL_SERVER, kind, *arguments], **more}


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    shop = sandbox.project("shop")
    till = entry(
        "bad",
        "--token",
        "hunter22",
        env={"NODE_OPTIONS": "--x", "PASSWORD": "hunter22", "USER": "${ADA:-ada}"},
    )
    web = {"type": "http", "url": "http://127.0.0.1:9/mcp?key=hunter22", "headers": {"X-Key": "hunter22"}}
    sandbox.write(shop / ".mcp.json", servers(till=till, web=web))
    sandbox.write(sandbox.home / ".claude.json", servers(git=entry("old"), needy=entry("old", "${NOWHERE}")))
    return shop


def answer(sandbox: Sandbox, *arguments: str, cwd: Path) -> dict[str, Any]:
    ran = sandbox.remit(*arguments, "--json", cwd=cwd)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_scan_connect_says_for_every_server_what_came_of_it(sandbox: Sandbox, shop: Path) -> None:
    ran = sandbox.remit("scan", "--connect", cwd=shop)
    assert ran.returncode == 0
    table = {line.split()[0]: line for line in ran.stdout.splitlines()[4:] if line.strip()}
    assert "global   3      2024-11-05" in table["git"]
    assert "needs `NOWHERE`, which is not set" in table["needy"]
    assert "skipped: declared in .mcp.json, not trusted" in table["till"]
    assert "3 tools" not in ran.stderr  # the table has it
    as_data = sandbox.remit("scan", "--connect", "--json", cwd=shop)
    lines = {line.split()[1]: line.split(None, 4) for line in as_data.stderr.splitlines()}
    assert (lines["git"][0], lines["git"][-1]) in {("1/2", "3 tools"), ("2/2", "3 tools")}
    assert lines["needy"][-1] == "failed: needs `NOWHERE`, which is not set"
    assert float(lines["git"][2]) >= 0
    assert "warning: needy: needs `NOWHERE`, which is not set\nhint: set NOWHERE" in ran.stderr
    assert "hint: look at it with `remit trust`, then run `remit trust till`" in ran.stderr
    assert "mcp__git__do_it" in sandbox.remit("tools", "--server", "git", cwd=shop).stdout


def test_scan_connect_as_json_has_the_documented_shape(sandbox: Sandbox, shop: Path) -> None:
    sandbox.remit("trust", "till", "--yes", cwd=shop)
    found = answer(sandbox, "scan", "--connect", cwd=shop)
    by_label = {server["server"]: server for server in found["servers"]}
    assert {label: server["status"] for label, server in by_label.items()} == {
        "git": "listed",
        "needy": "failed",
        "till": "listed",
        "web": "skipped",
    }
    assert by_label["git"].pop("seconds") > 0
    assert by_label["git"] == {
        "name": "mcp__git__*",
        "server": "git",
        "client": "claude-code",
        "scope": "global",
        "source": str(sandbox.home / ".claude.json"),
        "status": "listed",
        "tools": 3,
        "quarantined": [],
        "protocol_version": "2024-11-05",
        "server_version": "1.2.3",
        "reason": None,
        "hint": None,
        "output": [],
    }
    assert by_label["till"]["quarantined"][0] == {
        "tool": "untyped",
        "reason": 'inputSchema: `type` is not "object"',
    }
    assert by_label["needy"]["reason"] == "needs `NOWHERE`, which is not set"
    assert answer(sandbox, "scan", cwd=shop)["servers"] == []


def test_servers_are_named_for_connect_only(sandbox: Sandbox, shop: Path) -> None:
    ran = sandbox.remit("scan", "git", cwd=shop)
    assert (ran.returncode, "server names need --connect" in ran.stderr) == (2, True)


def test_a_server_that_is_not_known_here_is_no_success(sandbox: Sandbox, shop: Path) -> None:
    ran = sandbox.remit("scan", "--connect", "nonsense", cwd=shop)
    assert (ran.returncode, ran.stderr.splitlines()[0]) == (1, "error: no server is called `nonsense` here")


def test_trust_shows_what_would_run_and_no_secret_of_the_user(sandbox: Sandbox, shop: Path) -> None:
    sandbox.variables["SHOP_PASSWORD"] = "hunter22"  # noqa: S105 - made up
    ran = sandbox.remit("trust", cwd=shop)
    assert ran.returncode == 0
    assert ran.stdout.splitlines() == [
        "till (project, .mcp.json): not trusted",
        f"  runs    {sys.executable} {SMALL_SERVER} bad --token '***(8 characters)'",
        "  sandbox none",
        "  gets    PATH, HOME and the like; none of your other environment variables",
        "  env     NODE_OPTIONS=--x (can change which code runs)",
        "          PASSWORD=***(8 characters)",
        "          USER=${ADA:-ada} from your ADA",
        "",
        "web (project, .mcp.json): not trusted",
        "  reaches http://127.0.0.1:9/mcp?key=***(8 characters)",
        "  headers X-Key=***(8 characters)",
    ]
    assert "hunter22" not in ran.stdout + ran.stderr
    shape = sandbox.remit("trust", "--json", cwd=shop).stdout
    assert "hunter22" not in shape
    till = json.loads(shape)["servers"][0]
    env = {"NODE_OPTIONS": "--x", "PASSWORD": "***(8 characters)", "USER": "${ADA:-ada}"}
    assert (till["env"], till["reads"]) == (env, ["ADA"])


def test_trust_shows_programs_and_arguments_whole(sandbox: Sandbox, shop: Path) -> None:
    package = "sk-9f86d081884c7d659a2feaa0c55ad015"  # looks like a secret, and is what would run
    sandbox.write(shop / ".mcp.json", servers(till={"command": "npx", "args": ["-y", package]}))
    assert f"  runs    npx -y {package}\n" in sandbox.remit("trust", cwd=shop).stdout


def test_trust_in_another_form_of_digest_is_asked_for_again(sandbox: Sandbox, shop: Path) -> None:
    sandbox.remit("trust", "till", "-y", cwd=shop)
    assert answer(sandbox, "trust", cwd=shop)["servers"][0]["trusted"] is True
    run_sql(sandbox.database, "update trust set digest = replace(digest, '2:', '')")
    told = sandbox.remit("trust", cwd=shop).stdout
    assert "till (project, .mcp.json): changed since it was trusted" in told
    assert answer(sandbox, "trust", cwd=shop)["servers"][0]["trusted"] is False


def test_control_characters_in_an_entry_are_shown_as_such(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".mcp.json", servers(till={"command": "run\x1b[2K\r", "args": ["a\nb"]}))
    ran = sandbox.remit("trust", cwd=shop)
    assert "\x1b" not in ran.stdout
    assert "run\\x1b[2K\\r" in ran.stdout
    assert "a\\nb" in ran.stdout


def test_trust_is_given_and_taken_back(sandbox: Sandbox, shop: Path) -> None:
    assert sandbox.remit("trust", "till", "-y", cwd=shop).stdout == "trusted: till\n"
    assert "till (project, .mcp.json): trusted" in sandbox.remit("trust", cwd=shop).stdout
    assert sandbox.remit("trust", "--all", "-y", cwd=shop).stdout == "trusted: web\n"
    assert sandbox.remit("trust", "--revoke", "till", cwd=shop).stdout == "not trusted: till\n"
    sandbox.write(shop / ".mcp.json", servers(web={"type": "http", "url": "http://127.0.0.1:9/other"}))
    assert "changed since it was trusted" in sandbox.remit("trust", cwd=shop).stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("till",), 2, "not a terminal: pass --yes to confirm"),
        (("--revoke",), 2, "pass the names to revoke trust in, or --all"),
        (("--all", "till"), 2, "pass the names of servers, states or tools, or --all"),
        (("nonsense",), 1, "error: nothing called `nonsense` needs your trust"),
        (("git",), 1, "error: `git` needs no trust: it is your own server, from ~/.claude.json"),
    ],
)
def test_trust_needs_to_know_what_is_meant(
    sandbox: Sandbox, shop: Path, words: tuple[str, ...], code: int, says: str
) -> None:
    ran = sandbox.remit("trust", *words, cwd=shop)
    assert (ran.returncode, ran.stdout) == (code, "")
    assert says in ran.stderr


def test_a_project_without_servers_needs_no_trust(sandbox: Sandbox) -> None:
    blog = sandbox.project("blog")
    assert sandbox.remit("trust", cwd=blog).stdout == "No server of this project needs your trust.\n"
    assert sandbox.remit("trust", "--all", cwd=blog).stdout == "No server of this project needs your trust.\n"


def on_a_terminal(sandbox: Sandbox, *arguments: str, cwd: Path, types: str = "") -> str:
    """Run the command on a terminal of its own, and give all that was to be seen."""
    return on_terminal(sandbox, arguments, cwd, typed=types, columns=200).shown


def test_on_a_terminal_there_is_a_bar(sandbox: Sandbox, shop: Path) -> None:
    seen = on_a_terminal(sandbox, "scan", "--connect", "git", cwd=shop)
    assert "asking servers" in seen
    assert "1/1  git" in seen
    assert "3 tools" in seen
    assert "protocol" not in seen


def test_on_a_terminal_trust_asks_first(sandbox: Sandbox, shop: Path) -> None:
    on_a_terminal(sandbox, "trust", "till", cwd=shop, types="n\n")
    assert "till (project, .mcp.json): not trusted" in sandbox.remit("trust", cwd=shop).stdout
    on_a_terminal(sandbox, "trust", "till", cwd=shop, types="y\n")
    assert "till (project, .mcp.json): trusted" in sandbox.remit("trust", cwd=shop).stdout


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_scan_leaves_no_server_behind(
    sandbox: Sandbox, shop: Path, number: signal.Signals
) -> None:
    pipe = sandbox.root / "pipe"
    os.mkfifo(pipe)
    sandbox.write(sandbox.home / ".claude.json", servers(git=entry("nursery", str(pipe))))
    command = fork_server().command("remit", "scan", "--connect", "git")
    run = subprocess.Popen(
        command, cwd=shop, env=sandbox.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    server, child = map(int, read_pipe(pipe).split())
    run.send_signal(number)
    run.communicate(timeout=60)
    assert run.returncode == 130
    assert [process for process in (server, child) if is_running(process)] == []


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
