"""Real processes for tests, proofs and benchmarks: servers, gateways, git, pipes."""

import json
import os
import re
import select
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from support.forked_commands import fork_server

SERVERS = Path(__file__).parent / "servers"
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
SECONDS = 60  # until it listens
END = 20  # seconds to end after SIGTERM

Reached = Sequence[str] | str | Mapping[str, object]  # a server's command, its URL, or its whole entry


def server_command(program: str, *arguments: str) -> list[str]:
    """Return the command of one of the programs in `support/servers`."""
    return [sys.executable, str(SERVERS / program), *arguments]


def forked_server_command(program: str, *arguments: str) -> list[str]:
    """Return the command of one that uses the SDK, which takes a second to import: it runs in a fork."""
    return fork_server().command(str(SERVERS / program), *arguments)


def forked_script(folder: Path, script: str, *arguments: str) -> list[str]:
    """Return a command that runs a script in a process of its own, which has Remit loaded."""
    path = folder / "script.py"
    path.write_text(script, "utf-8")
    return fork_server().command(str(path), *arguments)


class Listener(NamedTuple):
    """A process that listens on a port, and the lines it prints."""

    port: int
    pid: int
    said: list[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass
class ServedProject:
    """A user's machine in a folder: a home with servers for Claude Code, one project, Remit's own data."""

    root: Path
    is_forked: bool = False  # the gateway starts in milliseconds, in a fork of a process that has it loaded

    def __post_init__(self) -> None:
        self.home, self.project = self.root / "home", self.root / "project"
        for folder in (self.home, self.project):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        own = {"HOME": str(self.home), "REMIT_HOME": str(self.root / "data"), "NO_COLOR": "1"}
        return {"PATH": os.environ["PATH"], **own}

    def declare(self, servers: Mapping[str, Reached], configuration: str = "") -> None:
        """Write the user's servers (by command, URL or entry) and `remit.toml`."""
        entries = {label: _entry(reached) for label, reached in servers.items()}
        (self.home / ".claude.json").write_text(json.dumps({"mcpServers": entries}), "utf-8")
        own = self.home / ".config/remit/remit.toml"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(configuration, "utf-8")

    def command(self, *arguments: str) -> list[str]:
        return [*self._remit, "serve", "--project", str(self.project), *arguments]

    def learn(self) -> None:
        """Scan all servers, so the first list does not wait for them."""
        command = [*self._remit, "scan", "--connect", "--project", str(self.project)]
        subprocess.run(command, env=self.environment, check=True, capture_output=True)

    @property
    def _remit(self) -> list[str]:
        return fork_server().command("remit") if self.is_forked else [sys.executable, "-m", "remit"]

    @contextmanager
    def serving(self, *arguments: str) -> Generator["Listener"]:
        """Run the gateway on a free port."""
        command = self.command("--http", "127.0.0.1:0", *arguments)
        with listening(command, environment=self.environment, cwd=self.project) as listener:
            yield listener


def _entry(reached: Reached) -> Mapping[str, object]:
    if isinstance(reached, Mapping):
        return reached
    if isinstance(reached, str):
        return {"type": "http", "url": reached}
    return {"command": reached[0], "args": list(reached[1:])}


@contextmanager
def listening(
    command: Sequence[str], *, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Generator[Listener]:
    """Run a command that prints the loopback port it listens on."""
    with subprocess.Popen(
        command,
        env=dict(environment) if environment is not None else None,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
    ) as process:
        watchdog = threading.Timer(SECONDS, process.kill)
        watchdog.start()
        try:
            said = list[str]()
            port = _port(process, said)
            watchdog.cancel()
            threading.Thread(target=_drain, args=(process, said), daemon=True).start()
            yield Listener(port, process.pid, said)
        finally:
            watchdog.cancel()
            _end(process)


def _port(process: subprocess.Popen[str], said: list[str]) -> int:
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line)
        if found := ADDRESS.search(line) or re.fullmatch(r"(\d+)\n", line):
            return int(found[1])
    raise AssertionError(f"{process.args} does not listen:\n{''.join(said)}")


def _drain(process: subprocess.Popen[str], said: list[str]) -> None:
    assert process.stdout is not None
    said.extend(process.stdout)


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(timeout=END)
    except subprocess.TimeoutExpired:
        process.kill()


def run_together(processes: Sequence[subprocess.Popen[bytes]]) -> list[int]:
    """Release processes that wait for the end of their input, and return their exit codes."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    return [process.wait(timeout=240) for process in processes]


def read_pipe(pipe: Path) -> str:
    """Read what another process writes into a named pipe, within a minute."""
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert select.select([reader], [], [], 60)[0], "nothing was written into the pipe"
    os.set_blocking(reader, True)
    with open(reader, encoding="utf-8") as opened:
        return opened.read()


def git(*arguments: str, cwd: Path) -> None:
    """Run the real git, without the user's configuration."""
    settings = (
        "user.name=Ada",
        "user.email=ada@localhost",
        "protocol.file.allow=always",
        "init.defaultBranch=main",
    )
    options = [word for setting in settings for word in ("-c", setting)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *options, *arguments], cwd=cwd, env=environment, check=True, capture_output=True)
