"""The command `remit` as a process, on a machine in a temporary directory, in a pipe or at a terminal."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from support.servers import recorded

SOURCE = Path(__file__).parents[2] / "src"
SECONDS = 60  # a command that takes longer is stuck


class Finished(NamedTuple):
    """What a command printed."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class CommandLine:
    """A home, projects, and a user who types commands."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.home = self.root / "home"
        self.shop = self.root / "home/work/shop"
        (self.home / ".claude").mkdir(parents=True)
        (self.shop / ".git").mkdir(parents=True)
        self.variables: dict[str, str] = {}

    def project(self, name: str) -> Path:
        path = self.home / "work" / name
        (path / ".git").mkdir(parents=True)
        return path

    def write(self, path: Path, content: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def mine(self, **servers: Mapping[str, object]) -> Path:
        """Declare servers of the user's own."""
        return self.write(self.home / ".claude.json", {"mcpServers": servers})

    def shared(self, project: Path, **servers: Mapping[str, object]) -> Path:
        """Declare servers of a project."""
        return self.write(project / ".mcp.json", {"mcpServers": servers})

    def recorded(self, name: str, *tools: str) -> dict[str, object]:
        """Return the entry of a server that lists tools; it notes each of its starts in a file."""
        listed = [
            {"name": tool, "description": f"{tool} of {name}", "inputSchema": {"type": "object"}}
            for tool in tools
        ]
        offer = self.write(self.root / f"{name}.json", {"tools": listed})
        note = self.root / f"{name}.started"
        words = f'echo x >> "{note}"; exec "{sys.executable}" "{recorded.__file__}" "{offer}"'
        return {"command": "/bin/sh", "args": ["-c", words]}

    def starts(self, name: str) -> int:
        note = self.root / f"{name}.started"
        return len(note.read_text().splitlines()) if note.exists() else 0

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(SOURCE),
            "COVERAGE_PROCESS_START": "",
            **self.variables,
        }

    def __call__(self, *words: str, cwd: Path | None = None, input: str = "") -> Finished:
        """Run a command in a pipe."""
        process = subprocess.run(
            [sys.executable, "-m", "remit", *words],
            cwd=cwd or self.shop,
            env=self.environment,
            input=input,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert "Traceback" not in process.stderr, process.stderr
        return Finished(process.returncode, process.stdout, process.stderr)

    def at_terminal(self, *words: str, cwd: Path | None = None, columns: int = 100) -> Finished:
        """Run a command with all its streams on one terminal."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 200, columns, 0, 0))
        with subprocess.Popen(
            [sys.executable, "-m", "remit", *words],
            cwd=cwd or self.shop,
            env={**self.environment, "TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        ) as process:
            os.close(theirs)
            shown = b""
            while chunk := _read(ours):
                shown += chunk
            os.close(ours)
            return Finished(process.wait(SECONDS), shown.decode().replace("\r\n", "\n"), "")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end was closed
        return b""
