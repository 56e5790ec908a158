"""Which processes are related to one, read from real processes on real terminals."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from remit.approvals import process_tree
from remit.approvals.process_tree import read_process_tree

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")

TELL = """
import json, os, sys
from remit.approvals.process_tree import read_process_tree
tree = read_process_tree({"MARKER"}, {"tmux"})
line = lambda some: [[each.pid, each.parent, each.name, sorted(each.variables)] for each in some]
print(json.dumps([os.getpid(), line(tree.related), line(tree.holders), [*map(line, tree.viewers)]]))
"""


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
    monkeypatch.setattr(process_tree, "PROC", "/nowhere")
    own, parent, *_ = read_process_tree(())[0]
    assert (own.pid, own.parent, parent.pid) == (os.getpid(), os.getppid(), os.getppid())
    assert own.program.startswith("python")


def test_where_nothing_tells_the_tree_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "PROC", "/nowhere")
    monkeypatch.setattr(process_tree, "_PS", ("/nowhere/ps",))
    assert read_process_tree(()) == ((), (), ())


OWN = """
import os
from remit.approvals.process_tree import read_process_tree
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
