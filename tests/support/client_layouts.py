"""Generated homes and projects, on which Remit's reading of a client's files is held to the real client."""

import json
import os
import random
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from remit.clients.parsing.client_reader import Client, read_client
from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import Resolved
from remit.decision.declared_launch import Launch, Transport, command_digest
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.problems import Problem
from remit.decision.projects import View
from remit.decision.resolve import resolve
from remit.decision.scopes import strength
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from support.processes import git

LAYOUTS = int(os.environ.get("REMIT_TEST_LAYOUTS", "30"))
NAMES = ("git", "wiki", "a.b", "a_b", "we ird.näme", "Tides")


@dataclass
class Layout:
    """A home, and a project with two directories inside one another, chosen by a seed."""

    root: Path
    chance: random.Random
    variables: dict[str, str] = field(default_factory=dict[str, str])
    commands: int = 0

    def __post_init__(self) -> None:
        self.home = self.root / "home"
        self.home.mkdir(parents=True)
        self.key = self.top = self.root / "main"
        self.top.mkdir()
        kind = self.chance.choice(("plain", "git", "git", "worktree", "link"))
        if kind != "plain":
            git("init", cwd=self.top)
        if kind == "worktree":
            git("commit", "--allow-empty", "--message", "start", cwd=self.top)
            git("worktree", "add", str(self.root / "tree"), cwd=self.top)
            self.top = self.root / "tree"
        if kind == "link":
            (self.root / "link").symlink_to(self.top)
            self.top = self.root / "link"
        self.middle = self.top / "packages"
        self.sub = self.middle / "api"
        self.sub.mkdir(parents=True)

    @property
    def directories(self) -> tuple[Path, Path, Path]:
        return self.top, self.middle, self.sub

    def happens(self, probability: float) -> bool:
        return self.chance.random() < probability

    def some(self, probability: float = 0.35) -> list[str]:
        return [name for name in NAMES if self.happens(probability)]

    def command(self) -> str:
        """A command of its own for each entry, which no machine has."""
        self.commands += 1
        return f"no-such-command-{self.commands}"

    def write(self, path: Path, content: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def run(self, command: list[str], directory: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the real client in this home, with nobody to talk to on the network."""
        nowhere = "http://127.0.0.1:9"
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "npm_config_registry"), nowhere)
        own = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", "NO_COLOR": "1"}
        return subprocess.run(
            command,
            cwd=directory,
            env={**own, **proxies, **variables, **self.variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def read(self, client: Client, directory: Path) -> tuple[dict[str, Resolved], list[Problem]]:
        """Read the same files with Remit: the declaration that stands for each server, and what is wrong."""
        view = View(client.name, locate(str(directory)))
        machine = Machine(home=str(self.home), variables=self.variables)
        reading = read_client(client, view, machine, now_ns=0)
        resolved = resolve(reading.declarations, ClientSettings(reading.rules, behavior=reading.behavior))
        return _shown(resolved), list(reading.problems)


def _shown(resolved: list[Resolved]) -> dict[str, Resolved]:
    servers = [
        item for item in resolved if item.declaration.kind is Kind.MCP_SERVER and item.shadowed_by is None
    ]
    strongest_last = sorted(servers, key=_weakness)
    return {str(item.declaration.server): item for item in strongest_last}


def _weakness(item: Resolved) -> tuple[bool, int, int]:
    rank, nearness = strength(item.declaration.kind, item.declaration.scope, item.declaration.dir)
    return item.config_status is not ConfigStatus.PENDING, -rank, -nearness


def endpoint(words: list[str] | str) -> str:
    """The endpoint of a command, or of a URL."""
    return (
        Launch(transport=Transport.HTTP, url=words).endpoint
        if isinstance(words, str)
        else command_digest(words)
    )


def statuses(found: Mapping[str, Resolved], *hidden: ConfigStatus) -> dict[str, tuple[str, str | None]]:
    """What Remit says of each server, but for those with a status that the client does not list."""
    return {
        name: (item.config_status.value, item.declaration.endpoint)
        for name, item in found.items()
        if item.config_status not in hidden
    }
