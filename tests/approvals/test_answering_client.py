"""Whether the client of a server on stdio may answer for a person, with real processes and streams."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system has no /proc")

TELL = """
import os, sys
from remit.approvals.answering_client import may_answer_for_person
sys.stderr.write(str(may_answer_for_person()))
"""
SERVER = [sys.executable, "-c", TELL]
# A program called `claude` that starts the server as a client does, or lets a script of its agent do so.
CLIENT = "#!{python}\nimport subprocess, sys\nsubprocess.Popen(sys.argv[1:], stdin=-1, stdout=-1).wait()\n"
AGENT = "import subprocess, sys; subprocess.Popen(sys.argv[1:], stdin=-1, stdout=-1).wait()"


@pytest.fixture
def client(tmp_path: Path) -> Path:
    program = tmp_path / "claude"
    program.write_text(CLIENT.format(python=sys.executable))
    program.chmod(0o755)
    return program


def told(*command: str | Path) -> str:
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True).stderr


def test_the_client_that_started_a_server_answers(client: Path) -> None:
    assert told(client, *SERVER) == "True"


def test_a_script_of_the_agent_does_not(client: Path) -> None:
    assert told(client, sys.executable, "-c", AGENT, *SERVER) == "False"


def test_nor_does_one_at_the_other_end_of_a_named_pipe(client: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    line = f"exec '{sys.executable}' -c '{TELL}' <> '{pipe}' >&0"
    assert told(client, "sh", "-c", line) == "False"


def test_nor_does_one_at_the_other_end_of_sockets_of_its_own(client: Path) -> None:
    line = f"""
import os, socket
ours, theirs = socket.socketpair()
os.dup2(ours.fileno(), 0)
os.dup2(ours.fileno(), 1)
os.execv({sys.executable!r}, {SERVER!r})
"""
    assert told(client, sys.executable, "-c", line) == "False"
