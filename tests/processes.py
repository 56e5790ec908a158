"""Servers and gateways as processes of their own, for tests, proofs and benchmarks alike."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

SERVERS = Path(__file__).parent / "gateway" / "servers"
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
SECONDS = 60  # to be there, on a slow day
END = 20  # seconds to end when told to

Reached = Sequence[str] | str | Mapping[str, object]  # a server's command, its URL, or its whole entry


def server(program: str, *arguments: str) -> list[str]:
    """The command of one of the servers beside the tests."""
    return [sys.executable, str(SERVERS / program), *arguments]


class Listener(NamedTuple):
    """A process that listens, and what it says while it runs."""

    port: int
    pid: int
    said: list[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass
class Place:
    """A user's machine in a folder: a home with servers for Claude Code, one project, Remit's own data."""

    root: Path

    def __post_init__(self) -> None:
        self.home, self.project = self.root / "home", self.root / "project"
        for folder in (self.home, self.project):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        own = {"HOME": str(self.home), "REMIT_HOME": str(self.root / "data"), "NO_COLOR": "1"}
        return {"PATH": os.environ["PATH"], **own}

    def declare(self, servers: Mapping[str, Reached], configuration: str = "") -> None:
        """Write which servers there are, by command, URL or entry, and what the user's `remit.toml` says."""
        entries = {label: _entry(reached) for label, reached in servers.items()}
        (self.home / ".claude.json").write_text(json.dumps({"mcpServers": entries}), "utf-8")
        own = self.home / ".config/remit/remit.toml"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(configuration, "utf-8")

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "remit", "serve", "--project", str(self.project), *arguments]

    def learn(self) -> None:
        """Ask all servers for their tools, so that the first list need not wait for them."""
        command = [sys.executable, "-m", "remit", "scan", "--connect", "--project", str(self.project)]
        subprocess.run(command, env=self.environment, check=True, capture_output=True)

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
    """Run something that says, in a line of either stream, on which port of the loopback it listens."""
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
