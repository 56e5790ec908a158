"""An agent with a shell tries to answer for a person: real commands, real processes, real terminals."""

import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from shutil import which

import pytest

from remit.approvals.approvals import ApprovalStatus
from remit.bootstrap import open_registry
from remit.cli.approvals import person_check
from remit.cli.approvals.person_check import read_process_tree
from support.sandbox import Sandbox

PUSH = "mcp__git__push"
REMIT = f"{shlex.quote(sys.executable)} -m remit"
CODE = re.compile(r"[A-Z2-9]{4}-[A-Z2-9]{4}")
HIDE = "env -u CLAUDECODE"
TELL = """
import json, os, sys
from remit.cli.approvals.person_check import read_process_tree
tree = read_process_tree({"MARKER"}, {"tmux"})
line = lambda some: [[each.pid, each.parent, each.name, sorted(each.variables)] for each in some]
print(json.dumps([os.getpid(), line(tree.related), line(tree.holders), [*map(line, tree.viewers)]]))
"""


@cache
def has_namespaces() -> bool:
    try:
        return subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


needs_script = pytest.mark.skipif(which("script") is None, reason="script(1) opens the terminals")
needs_namespaces = pytest.mark.skipif(
    not has_namespaces(), reason="only root can hide what started the tests, which may be an agent"
)
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")


@pytest.fixture
def shop(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    sandbox.write_state("git")
    sandbox.write(sandbox.home / ".config/remit/remit.toml", f'[tools."{PUSH}"]\napproval = true\n')
    return sandbox.project("shop")


@pytest.fixture
def asked(shop: Path) -> str:
    with open_registry() as registry:
        here = registry.at(str(shop))
        registry.usage.report_tool(PUSH, here, description="Pushes.")
        return registry.approvals.request(PUSH, {"text": "x"}, here).id


def status(shop: Path, id: str) -> ApprovalStatus:
    with open_registry() as registry:
        return registry.approvals.status(registry.approvals.find(id, registry.at(str(shop))))


def on_terminal(command: str) -> str:
    """Return the shell command that runs a command on a terminal of its own."""
    return f"script -qec {shlex.quote(command)} /dev/null"


def shell(sandbox: Sandbox, shop: Path, script: str, *wrapper: str, **variables: str) -> str:
    """Run a shell script, and return what it and everything it leaves behind printed."""
    done = subprocess.run(
        [*wrapper, "sh", "-c", f"{script}; true"],
        cwd=shop,
        env={**sandbox.environment, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,  # held open by what runs on in the background, so this waits for it
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    return done.stdout


@needs_script
def test_clearing_the_variables_on_a_terminal_does_not_help(sandbox: Sandbox, shop: Path, asked: str) -> None:
    command = f"{HIDE} {REMIT} approve {asked} --yes"
    for script in (command, on_terminal(command), f"{HIDE} {on_terminal(command)}"):
        told = shell(sandbox, shop, script, CLAUDECODE="1")
        assert "Claude Code runs this command, and only a person can approve a call" in told
    assert status(shop, asked) is ApprovalStatus.WAITING


def test_the_person_of_a_demo_approves_in_a_demo_only(sandbox: Sandbox, shop: Path, asked: str) -> None:
    link = sandbox.root / "remit-demo-x"
    link.symlink_to(sandbox.root / "data")
    command = f"{HIDE} {REMIT}.cli.onboarding.demo_person approve {asked} --yes"
    for home in (sandbox.root / "data", link):
        told = shell(sandbox, shop, command, CLAUDECODE="1", REMIT_HOME=str(home))
        assert "Claude Code runs this command" in told
    assert status(shop, asked) is ApprovalStatus.WAITING


@needs_script
def test_a_client_that_sets_no_variable_is_known_by_its_name(
    sandbox: Sandbox, shop: Path, asked: str
) -> None:
    client = sandbox.write(sandbox.root / "bin/codex", '#!/bin/sh\n"$@"\n')
    client.chmod(0o755)
    command = on_terminal(f"{REMIT} approve {asked} --yes")
    assert "Codex runs this command" in shell(sandbox, shop, command, str(client))
    assert status(shop, asked) is ApprovalStatus.WAITING


@pytest.mark.long
@needs_script
def test_a_command_that_detaches_itself_cannot_approve_or_trust(
    sandbox: Sandbox, shop: Path, asked: str
) -> None:
    for command in (f"{REMIT} approve {asked} --yes", f"{REMIT} undo --yes", f"{REMIT} forget . --yes"):
        for script in (f"setsid -f {command}", f"setsid -f {on_terminal(command)}"):
            told = shell(sandbox, shop, script)
            assert "a background process runs this command, and only a person can" in told
    assert status(shop, asked) is ApprovalStatus.WAITING


TERMINAL = """
import os, pty, signal, sys
pid, terminal = pty.fork()
if pid == 0:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if os.fork():
        os._exit(0)
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    try:
        os.write(1, os.read(terminal, 65_536))
    except OSError:
        break
"""


def test_the_line_from_a_command_to_the_holder_of_its_terminal_cannot_be_cut(
    sandbox: Sandbox, shop: Path, asked: str
) -> None:
    opener = f"{shlex.quote(sys.executable)} -c {shlex.quote(TERMINAL)}"
    script = f"setsid -f {opener} {REMIT} approve {asked} --yes"
    assert "a background process runs this command" in shell(sandbox, shop, script)
    assert status(shop, asked) is ApprovalStatus.WAITING


@pytest.mark.long
@needs_script
def test_the_page_that_an_agent_starts_on_a_terminal_has_no_code(sandbox: Sandbox, shop: Path) -> None:
    page = on_terminal(f"{HIDE} {REMIT} web --no-open")
    environment = {**sandbox.environment, "CLAUDECODE": "1"}
    with subprocess.Popen(
        ["sh", "-c", page],
        cwd=shop,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        told = ""
        while "/open/" not in told and (line := process.stdout.readline()):
            told += line
        process.stdin.write("\x03")  # Ctrl-C, which the terminal passes on
        process.stdin.close()
        told += process.stdout.read()
    assert "cannot decide" in told
    assert not CODE.search(told)


@pytest.mark.long
@needs_script
@needs_namespaces
def test_a_person_approves_on_a_terminal_and_in_a_script(sandbox: Sandbox, shop: Path, asked: str) -> None:
    alone = ("unshare", "-pf", "--mount-proc")  # whoever runs the tests
    told = shell(sandbox, shop, on_terminal(f"{REMIT} approve {asked} --yes"), *alone)
    assert "approved" in told
    assert status(shop, asked) is ApprovalStatus.APPROVED
    assert "can no longer be answered" in shell(sandbox, shop, f"{REMIT} approve {asked} --yes", *alone)


def test_a_process_knows_its_ancestors_up_to_the_first_and_variables_that_they_were_started_with() -> None:
    script = f"env -u MARKER {sys.executable} -c '{TELL}'; true"
    environment = {**os.environ, "MARKER": "1"}
    told = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, check=True).stdout
    own, related, holders, viewers = json.loads(told)
    by_pid = {each[0]: each for each in related}
    assert by_pid[own][3] == []
    assert by_pid[by_pid[own][1]][2:] == ["sh", ["MARKER"]]
    assert os.getpid() in by_pid
    assert (holders, viewers) == ([], [])


def test_the_holder_of_a_terminal_is_found_even_if_it_is_no_ancestor() -> None:
    ours, theirs = pty.openpty()
    holder = subprocess.Popen(["sleep", "60"], pass_fds=[ours])
    os.close(ours)
    try:
        told = subprocess.run(
            [sys.executable, "-c", TELL],
            stdin=theirs,
            stdout=subprocess.PIPE,
            check=True,
            start_new_session=True,
        ).stdout
    finally:
        holder.kill()
        holder.wait()
        os.close(theirs)
    _, _, holders, _ = json.loads(told)
    assert holder.pid in [each[0] for each in holders]


def test_without_a_process_file_system_ps_tells_the_ancestors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person_check, "PROC", "/nowhere")
    own, parent, *_ = read_process_tree(())[0]
    assert (own.pid, own.parent, parent.pid) == (os.getpid(), os.getppid(), os.getppid())
    assert own.program.startswith("python")


def test_where_nothing_tells_the_tree_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person_check, "PROC", "/nowhere")
    monkeypatch.setattr(person_check, "_PS", ("/nowhere/ps",))
    assert read_process_tree(()) == ((), (), ())


OWN = """
import os
from remit.cli.approvals.person_check import read_process_tree
parent = next(each for each in read_process_tree(()).related if each.pid == os.getppid())
print(parent.program, parent.is_own_program)
"""


def test_a_program_that_its_user_could_have_made_is_told_apart(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root could have made every program")
    copy = Path(shutil.copy("/bin/sh", tmp_path / "konsole"))
    for program, expected in (("/bin/sh", "False"), (str(copy), "True")):
        script = f"{sys.executable} -c '{OWN}'; true"
        told = subprocess.run([program, "-c", script], capture_output=True, text=True, check=True).stdout
        assert told.split()[1] == expected
