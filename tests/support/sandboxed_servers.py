"""A machine with secrets, and a server under bubblewrap that tries to reach them."""

import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from remit.configuration.config_model import SandboxOptions
from remit.decision.declared_launch import Launch
from remit.trust.server_sandbox import Sandbox, SandboxError
from remit.upstream.launch.bubblewrap import SandboxBuilder, bubblewrap_program, started_with
from remit.upstream.upstream_pool import UpstreamPool, open_upstream_pool
from support.processes import SERVERS
from support.upstream_pools import RecordingCaller, launch_resources, upstream


def obstacle() -> str | None:
    try:
        bubblewrap_program()
    except SandboxError as error:
        return error.reason
    return None


class SandboxMachine:
    """A home with secrets, two projects, and a server in one of them."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = self.home / "code" / "shop"
        self.data = self.home / ".local" / "share" / "remit"
        (self.project / "out").mkdir(parents=True)
        (self.project / "readme.txt").write_text("a shop")
        self.secrets = [
            self.home / ".ssh" / "id_ed25519",
            self.home / ".aws" / "credentials",
            self.home / ".npmrc",
            self.home / "notes.txt",
            self.home / "code" / "other" / "plan.txt",
            self.data / "remit.db",
        ]
        for file in self.secrets:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("hunter22")

    @asynccontextmanager
    async def opened(
        self,
        sandbox: SandboxOptions,
        *,
        variables: dict[str, str] | None = None,
        arguments: tuple[str, ...] = (),
        command: str = sys.executable,
    ) -> AsyncGenerator["Probe"]:
        known = {"PATH": os.environ["PATH"], "HOME": str(self.home), **(variables or {})}
        resources = launch_resources(known, home=str(self.home))
        object.__setattr__(resources, "own", (str(self.data),))
        launch = Launch(command=command, args=(str(SERVERS / "probe.py"), *arguments))
        at = str(self.project)
        made = upstream(launch, directory=at, sandbox=sandbox, root=at, home=str(self.home), inherits=False)
        async with open_upstream_pool(resources) as pool:
            yield Probe(pool, made)


@contextmanager
def started(
    machine: SandboxMachine,
    *words: str,
    read: tuple[str, ...] = (),
    write: tuple[str, ...] = (),
    is_projects: bool = False,
    network: bool = False,
    unix_sockets: bool = False,
    **variables: str,
) -> Generator[subprocess.Popen[str]]:
    """Start a command of an entry in a sandbox, at the project."""
    project = str(machine.project)
    readable, writable = (
        tuple(os.path.normpath(os.path.join(project, path)) for path in paths) for paths in (read, write)
    )
    sandbox = Sandbox(project, network, readable, writable, unix_sockets)
    builder = SandboxBuilder(sandbox, str(machine.home), (str(machine.data),), is_projects)
    users = {"PATH": "/usr/bin:/bin", "HOME": str(machine.home)}
    made = builder.command(words, project, {**users, **variables}, users)
    pipe = subprocess.PIPE
    with (
        started_with(made) as (start, descriptors),
        subprocess.Popen(
            start, env={}, pass_fds=descriptors, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        ) as process,
    ):
        yield process


def inside(
    machine: SandboxMachine,
    *words: str,
    read: tuple[str, ...] = (),
    write: tuple[str, ...] = (),
    is_projects: bool = False,
    network: bool = False,
    unix_sockets: bool = False,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run a command of an entry in a sandbox, and return what it said."""
    opened = started(
        machine,
        *words,
        read=read,
        write=write,
        is_projects=is_projects,
        network=network,
        unix_sockets=unix_sockets,
        **variables,
    )
    with opened as process:
        output, errors = process.communicate(timeout=60)
    return subprocess.CompletedProcess(words, process.returncode, output, errors)


class Probe:
    """The server, which runs shell commands."""

    def __init__(self, pool: UpstreamPool, made: Any) -> None:
        self._pool = pool
        self._upstream = made

    async def run(self, command: str) -> tuple[bool, str]:
        """Return whether a command succeeds, and its output."""
        params = {"name": "run", "arguments": {"command": command}}
        answer: Any = await self._pool.request(self._upstream, "tools/call", params, RecordingCaller())
        return not answer["isError"], answer["content"][0]["text"]
