"""Servers under bubblewrap, which try to get out."""

import os
import shutil
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from remit.config import Sandbox
from remit.decision import Launch
from remit.errors import NotReadyError
from remit.upstream import LocalLauncher, Upstream, sandbox
from remit.upstream.process import ServerProcess, start_process
from support.upstreams import upstream

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use any `bwrap` that works."""
    monkeypatch.setattr(sandbox, "PROGRAMS", (*sandbox.PROGRAMS, shutil.which("bwrap") or ""))
    problem = sandbox.sandbox_problem(Sandbox(), "/nowhere", "/home/nobody")
    if problem is not None:
        pytest.skip(problem.reason)


class Machine:
    """A home with a secret and a project, and Remit's own directory."""

    def __init__(self, root: Path) -> None:
        self.home, self.data = root / "home", root / "data"
        self.project = self.home / "code/shop"
        (self.project / ".git/hooks").mkdir(parents=True)
        (self.project / "readme.txt").write_text("a shop")
        (self.home / ".ssh").mkdir()
        (self.home / ".ssh/id").write_text("secret")

    def server(self, script: str, options: Sandbox, **fields: Any) -> Upstream:
        launch = Launch(command="/bin/sh", args=("-c", script), env={"TOKEN": "t0k3n"})
        given: dict[str, Any] = {"sandbox": options, "root": str(self.project), "inherits": False, **fields}
        return upstream(launch, directory=str(self.project), **given)

    @asynccontextmanager
    async def running(self, server: Upstream) -> AsyncGenerator[ServerProcess]:
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        launcher = LocalLauncher(variables, str(self.home), str(self.data))
        async with launcher.ready(server, None) as ready:
            words, env = ready.words, ready.environment
            async with start_process(words, env=env, cwd=ready.cwd, options=ready.options) as process:
                yield process

    async def run(self, script: str, options: Sandbox | None = None, **fields: Any) -> str:
        """Run a script in a sandbox, and return what it writes to stderr."""
        async with self.running(
            self.server(f"exec 1>&2; {script}", options or Sandbox(), **fields)
        ) as process:
            pass
        return process.tail.text


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path.resolve())


async def test_a_server_reads_its_project_and_nothing_else_of_the_machine(machine: Machine) -> None:
    assert await machine.run("pwd; cat readme.txt") == f"{machine.project}\na shop"
    assert "secret" not in await machine.run(f"cat {machine.home}/.ssh/id")
    assert "No such file" in await machine.run("cat /etc/shadow")
    assert "Read-only" in await machine.run("echo no > readme.txt")
    assert len((await machine.run("ls /proc | grep '^[0-9]'")).split()) < 8


async def test_it_keeps_a_home_of_its_own(machine: Machine) -> None:
    await machine.run("echo kept > $HOME/note; echo x > /tmp/x")
    assert (await machine.run("cat $HOME/note; cat /tmp/x 2>/dev/null")) == "kept\n"
    assert not (machine.home / "note").exists()
    assert await machine.run("cat $HOME/note 2>&1 | grep -c kept", root=str(machine.home / "code")) == "0\n"


async def test_it_writes_where_it_may_but_not_what_others_run(machine: Machine) -> None:
    options = Sandbox(read=(), write=(".", "out/new"))
    assert "Read-only" in await machine.run("touch made out/new/x; echo > .git/hooks/pre-commit", options)
    assert sorted(path.name for path in machine.project.iterdir()) == [".git", "made", "out", "readme.txt"]
    assert (machine.project / "out/new/x").exists()
    assert not (machine.project / ".git/hooks/pre-commit").exists()


async def test_it_reaches_the_network_only_if_it_may(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for network, expected in ((False, "refused"), (True, "connected")):
            code = (
                "import socket, sys\n"
                "try:\n"
                f"    socket.create_connection(('127.0.0.1', {port}))\n"
                "    sys.stderr.write('connected')\n"
                "except OSError:\n"
                "    sys.stderr.write('refused')\n"
            )
            launch = Launch(command=sys.executable, args=("-c", code))
            options = Sandbox(network=network)
            boxed = upstream(
                launch, directory=str(machine.project), sandbox=options, root=str(machine.project)
            )
            async with machine.running(boxed) as process:
                pass
            assert process.tail.text == expected


async def test_its_variables_are_in_no_list_of_processes(machine: Machine) -> None:
    async with machine.running(machine.server("read line", Sandbox())) as process:
        shown = (
            Path(f"/proc/{process.pid}/cmdline").read_bytes()
            + Path(f"/proc/{process.pid}/environ").read_bytes()
        )
    assert b"t0k3n" not in shown
    assert await machine.run("echo $TOKEN") == "t0k3n\n"


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        ("away", "`away` is a link out of the project"),
        ("~", "`~` contains your home directory"),
        ("/", "`/` contains your home directory"),
    ],
)
async def test_what_leads_out_of_the_project_is_refused(machine: Machine, read: str, reason: str) -> None:
    (machine.project / "away").symlink_to(machine.home / ".ssh")
    with pytest.raises(NotReadyError) as caught:
        await machine.run("true", Sandbox(read=(read,)))
    assert str(caught.value) == f"cannot be started in its sandbox: {reason}"
