"""A hook as a process: what fails closed, what lets calls run, and what is logged."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from remit.clients import InstallLevel, Wanted
from remit.hooks import kept
from support.hooks import USER, Client

PROGRAM = kept.__file__
GIT = "mcp__git__push"


def run(
    client: Client, command: list[str], event: bytes, **variables: str
) -> subprocess.CompletedProcess[bytes]:
    variables = {**client.variables, **variables}
    return subprocess.run(
        command, input=event, capture_output=True, env=variables, cwd=client.root, check=False
    )


def program(*words: str) -> list[str]:
    return [sys.executable, "-I", "-S", PROGRAM, *words]


def script(client: Client) -> list[str]:
    """Return the script that an install wrote, and how the client starts it."""
    return [str(client.data / "installs/remit-hook"), "closed", sys.executable, PROGRAM]


def before(client: Client, tool: str = GIT) -> bytes:
    return client.data_of("PreToolUse", tool_name=tool, tool_input={}, **USER)


def spoil(client: Client) -> None:
    for path in client.data.glob("remit.sqlite*"):
        path.unlink()
    client.write(client.data / "remit.sqlite", "not a database")


def log(client: Client) -> str:
    return (client.data / "hooks.log").read_text()


def test_a_tool_that_a_rule_names_is_refused_where_remit_cannot_decide_and_others_run(client: Client) -> None:
    spoil(client)
    answer = client.send("PreToolUse", tool_name=GIT, tool_input={}, mode="closed", **USER)
    specific = answer["hookSpecificOutput"]
    assert specific["permissionDecision"] == "deny"
    assert "Remit's database cannot be used" in specific["permissionDecisionReason"]
    assert "remit uninstall claude-code" in specific["permissionDecisionReason"]
    assert client.send("PreToolUse", tool_name=GIT, tool_input={}, mode="open", **USER) == {}
    assert client.send("PostToolUse", tool_name=GIT, tool_use_id="t", **USER) == {}
    started = client.send("SessionStart", mode="start")
    assert "this session could not be prepared" in started["systemMessage"]


@pytest.mark.parametrize("mode", ["closed", "open", "start"])
def test_without_its_record_a_hook_fails_and_the_script_says_what_that_means(
    client: Client, mode: str
) -> None:
    gone = str(client.root / "gone.json")
    assert run(client, program(mode, "--install", gone), before(client)).returncode == 1
    client.install(InstallLevel.HOOKS)
    path, _, *rest = script(client)
    result = run(client, [path, mode, *rest, "--install", gone], before(client))
    expected = {"closed": (2, b""), "open": (0, b"")}
    assert mode == "start" or (result.returncode, result.stdout) == expected[mode]
    assert mode != "start" or "remit install claude-code" in json.loads(result.stdout)["systemMessage"]
    assert (b"remit install claude-code" in result.stderr) is (mode == "closed")


@pytest.mark.parametrize("event", [b"", b"{", b"[]", b'{"hook_event_name": 1}', b'"PreToolUse"'])
def test_an_event_that_cannot_be_read_is_refused_by_the_exit_code(client: Client, event: bytes) -> None:
    record = client.install(InstallLevel.HOOKS)
    assert run(client, program("closed", "--install", record), event).returncode == 1
    assert "ValueError" in log(client) or "JSONDecodeError" in log(client)


@pytest.mark.parametrize("words", [["--install", "RECORD"], ["--install", "RECORD", "--then", "what"], []])
def test_a_line_of_an_older_install_decides_and_blocks_nothing_when_it_fails(
    client: Client, words: list[str]
) -> None:
    record = client.install(InstallLevel.HOOKS)
    client.rules('block = ["mcp__git__push"]')
    command = [
        sys.executable,
        "-m",
        "remit",
        "hook",
        *(record if word == "RECORD" else word for word in words),
    ]
    source = str(Path(PROGRAM).parents[2])
    decided = run(client, command, before(client), PYTHONPATH=source)
    assert (decided.returncode, b'"deny"' in decided.stdout) == (0, True)
    for name in ("SessionEnd", "ConfigChange", "FileChanged", "CwdChanged"):
        dropped = run(client, command, client.data_of(name), PYTHONPATH=source)
        assert (dropped.returncode, dropped.stdout) == (0, b"")
    Path(record).write_text("{")
    spoil(client)
    failed = run(client, command, before(client), PYTHONPATH=source)
    assert (failed.returncode, failed.stdout) == (0, b"")


def test_a_kind_that_comes_after_a_long_text_counts(client: Client) -> None:
    record = client.install(InstallLevel.HOOKS)
    client.rules('block = ["mcp__git__push"]')
    event = {"tool_input": {"text": "x" * 300_000}, "tool_name": GIT, "cwd": str(client.shop)}
    data = json.dumps({**event, "hook_event_name": "PreToolUse"}).encode()
    assert b'"deny"' in run(client, program("closed", "--install", record), data).stdout


def test_a_repository_that_sets_variables_changes_no_rule(client: Client) -> None:
    record = client.install(InstallLevel.HOOKS)
    client.rules('block = ["mcp__git__push"]')
    empty = client.write(client.shop / "empty.toml", "")
    misled = {"REMIT_CONFIG": str(empty), "REMIT_HOME": str(client.shop), "XDG_CONFIG_HOME": str(client.shop)}
    misled["PYTHONPATH"] = str(client.shop)
    client.write(client.shop / "apsw.py", "raise SystemExit(0)")
    for command in (program("closed", "--install", record), [*script(client), "--install", record]):
        assert b'"deny"' in run(client, command, before(client), **misled).stdout


def test_a_use_is_counted_by_a_process_that_outlives_the_client(client: Client) -> None:
    record = client.install(InstallLevel.HOOKS)
    path, _, *rest = script(client)
    event = client.data_of("PostToolUse", tool_name=GIT, tool_use_id="t1", tool_response="ok", **USER)
    process = subprocess.Popen(
        [path, "open", *rest, "--install", record],
        stdin=subprocess.PIPE,
        env=client.variables,
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(event[:-1])
    process.stdin.flush()
    wait_for_python(process.pid)
    os.killpg(process.pid, signal.SIGTERM)  # as a client that exits does with hooks it does not wait for
    process.stdin.write(event[-1:])
    process.stdin.close()
    assert process.wait(10) == 0
    assert client.uses() == {GIT: (1, 0)}


def wait_for_python(pid: int) -> None:
    """Wait until the script has started Python."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    while not children.read_text().strip():
        pass


def test_the_log_never_has_what_an_event_held(client: Client) -> None:
    record = client.install(InstallLevel.HOOKS)
    secret = "hunter2" * 2
    for data in (
        f'{{"hook_event_name": "PreToolUse", "x": {secret}'.encode(),
        b'{"x": "\xff' + secret.encode(),
    ):
        run(client, program("closed", "--install", record), data)
    spoil(client)
    client.send("PreToolUse", tool_name=f"mcp__{secret}", tool_input={"q": secret}, **USER)
    assert secret not in log(client)
    assert len(log(client).splitlines()) == 3


def test_the_log_stays_small(client: Client) -> None:
    client.write(client.data / "hooks.log", "x" * 200_000)
    spoil(client)
    client.send("PreToolUse", tool_name=GIT, tool_input={}, **USER)
    assert len(log(client)) < 1_000
    assert sum(path.stat().st_size for path in client.data.glob("hooks.log*")) < 300_000


def test_where_even_the_log_cannot_be_written_a_call_is_refused(client: Client) -> None:
    spoil(client)
    (client.data / "hooks.log").mkdir()
    answer = client.send("PreToolUse", tool_name=GIT, tool_input={}, **USER)
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_an_answer_that_nobody_reads_any_more_is_no_failure(client: Client) -> None:
    record = client.install(InstallLevel.HOOKS, Wanted())
    client.rules('block = ["mcp__git__push"]')
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        program("closed", "--install", record), stdin=subprocess.PIPE, stdout=writer, env=client.variables
    )
    os.close(writer)
    process.communicate(before(client))
    assert process.returncode == 0
