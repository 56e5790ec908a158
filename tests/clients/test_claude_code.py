"""Remit's reading of Claude Code's files against the real client: the same servers, winners and statuses.

Run by `make test-clients`, which installs the client. `claude mcp list` is the interactive client, which asks
before it uses a project's servers; the first event of `claude -p` is the client without a terminal, which
does not ask.
"""

import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from remit.adapters.clients.claude_code import CLIENT
from remit.adapters.clients.reading import read_client
from remit.adapters.clients.wire import command_digest
from remit.adapters.files import Machine
from remit.adapters.git import locate
from remit.core.client_settings import ClientSettings
from remit.core.declarations import Resolved
from remit.core.kinds import ConfigStatus
from remit.core.resolve import resolve
from support import git

CLAUDE = os.environ.get("REMIT_TEST_CLAUDE", "")
LAYOUTS = int(os.environ.get("REMIT_TEST_LAYOUTS", "40"))

pytestmark = pytest.mark.skipif(not CLAUDE, reason="`make test-clients` installs the client and runs this")

NAMES = ("git", "wiki", "a.b", "a_b", "we ird.näme", "smile😀")
STATUSES = {"⏸ Pending": "pending", "✘ Failed": "enabled", "⊘ Disabled": "disabled"}


@dataclass
class Layout:
    """A home and a project with configuration in every place, chosen by a seed."""

    root: Path
    chance: random.Random
    top: Path = field(init=False)
    commands: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.home = self.root / "home"
        self.top = self.root / "main"
        self.sub = self.top / "packages" / "api"
        (self.home / ".claude").mkdir(parents=True)
        self.sub.mkdir(parents=True)
        kind = self.chance.choice(("plain", "git", "git", "worktree", "link"))
        if kind != "plain":
            git("init", cwd=self.top)
        if kind == "worktree":
            git("commit", "--allow-empty", "--message", "start", cwd=self.top)
            git("worktree", "add", str(self.root / "tree"), cwd=self.top)
            self.key, self.top = self.top, self.root / "tree"
            self.sub = self.top / "packages" / "api"
            self.sub.mkdir(parents=True)
        else:
            self.key = self.top
        if kind == "link":
            (self.root / "link").symlink_to(self.top)
            self.top = self.root / "link"
            self.sub = self.top / "packages" / "api"
        self._write_state()
        for directory in (self.top, self.sub):
            self._maybe(directory / ".mcp.json", lambda: {"mcpServers": self._servers()}, 0.8)
        self._maybe(self.home / ".claude/settings.json", self._settings, 0.8)
        for directory in (self.top, self.sub):
            self._maybe(directory / ".claude/settings.json", self._settings, 0.4)
            self._maybe(directory / ".claude/settings.local.json", self._settings, 0.4)

    def _write_state(self) -> None:
        keys = {str(self.key), *(str(self.sub) for _ in range(self.chance.randrange(2)))}
        projects = {key: self._answers() for key in sorted(keys)}
        content = {
            "mcpServers": self._servers(),
            "projects": {**projects, "/elsewhere": {"mcpServers": self._servers()}},
        }
        self._write(self.home / ".claude.json", content)

    def _answers(self) -> dict[str, object]:
        answers: dict[str, object] = {
            "mcpServers": self._servers(),
            "hasTrustDialogAccepted": self._happens(0.6),
        }
        for name in ("disabledMcpServers", "disabledMcpjsonServers", "enabledMcpjsonServers"):
            if self._happens(0.4):
                answers[name] = self._some()
        return answers

    def _servers(self) -> dict[str, object]:
        return {name: self._entry() for name in self._some()}

    def _entry(self) -> dict[str, object]:
        command = f"cmd-{len(self.commands)}"
        self.commands.append(command)
        if self._happens(0.05):
            return {"url": "https://mcp.test/"}  # without a type: skipped alone
        return {"command": command, "disabled": self._happens(0.1)}  # which means nothing here

    def _settings(self) -> dict[str, object]:
        made: dict[str, object] = {}
        if self._happens(0.5):
            made["enableAllProjectMcpServers"] = self._happens(0.8)
        for name in ("enabledMcpjsonServers", "disabledMcpjsonServers"):
            if self._happens(0.3):
                made[name] = self._some()
        if self._happens(0.2):
            made["deniedMcpServers"] = [self._matcher()]
        if self._happens(0.1):
            made["allowedMcpServers"] = [self._matcher() for _ in range(self.chance.randrange(4))]
        return made

    def _matcher(self) -> dict[str, object]:
        if self._happens(0.5) or not self.commands:
            return {"serverName": self.chance.choice(NAMES)}
        return {"serverCommand": [self.chance.choice(self.commands)]}

    def _some(self) -> list[str]:
        return [name for name in NAMES if self._happens(0.35)]

    def _happens(self, probability: float) -> bool:
        return self.chance.random() < probability

    def _maybe(self, path: Path, content: Callable[[], object], probability: float) -> None:
        if self._happens(probability):
            self._write(path, content())

    def _write(self, path: Path, content: object) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")


def environment(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ANTHROPIC_API_KEY": "not-a-key",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",  # nobody answers: only the start of a session is wanted
    }


def listed_by_the_client(home: Path, directory: Path) -> dict[str, tuple[str, str]]:
    """What `claude mcp list` prints: name to command and status."""
    output = subprocess.run(
        [CLAUDE, "mcp", "list"],
        cwd=directory,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
    found: dict[str, tuple[str, str]] = {}
    for line in output.splitlines():
        for mark, status in STATUSES.items():
            entry, separator, _ = line.partition(f" - {mark}")
            if separator:
                name, _, command = entry.partition(": ")
                found[name] = (command.strip(), status)
    return found


def started_by_the_client(home: Path, directory: Path) -> dict[str, tuple[str, str]]:
    """What a session without a terminal has: name to scope and status."""
    command = [CLAUDE, "-p", "hello", "--output-format", "stream-json", "--verbose"]
    with subprocess.Popen(
        command,
        cwd=directory,
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        events = (json.loads(line) for line in process.stdout if line.startswith("{"))
        init = next(event for event in events if event.get("subtype") == "init")
        process.kill()
    return {
        server["name"]: (server["source"], "disabled" if server["status"] == "disabled" else "enabled")
        for server in init["mcp_servers"]
    }


def resolved_by_remit(home: Path, directory: Path, *, is_headless: bool) -> dict[str, Resolved]:
    """The declaration of each name that the client would show."""
    reading = read_client(CLIENT, locate(str(directory)), Machine(home=str(home), variables={}), now_ns=0)
    resolved = resolve(reading.declarations, ClientSettings(reading.rules, is_headless=is_headless))
    waiting = (ConfigStatus.PENDING, ConfigStatus.REJECTED)
    shown = {
        item.declaration.server or "": item
        for item in _nearest_last(resolved)
        if item.config_status is ConfigStatus.PENDING
    }
    shown |= {
        item.declaration.server or "": item
        for item in resolved
        if item.shadowed_by is None and item.config_status not in waiting
    }
    return {name: item for name, item in shown.items() if item.config_status is not ConfigStatus.DENIED}


def _nearest_last(resolved: list[Resolved]) -> list[Resolved]:
    return sorted(resolved, key=lambda item: len(item.declaration.dir or ""))


def status(item: Resolved) -> str:
    return item.config_status.value


def places(layout: Layout) -> Iterator[Path]:
    yield layout.top
    yield layout.sub


@pytest.mark.parametrize("seed", range(LAYOUTS))
def test_the_interactive_client_lists_the_same_servers_from_the_same_files(seed: int, tmp_path: Path) -> None:
    layout = Layout(tmp_path.resolve(), random.Random(seed))  # noqa: S311 - no secrets
    for directory in places(layout):
        expected = listed_by_the_client(layout.home, directory)
        found = resolved_by_remit(layout.home, directory, is_headless=False)
        assert {name: status(item) for name, item in found.items()} == {
            name: state for name, (_, state) in expected.items()
        }
        for name, (command, _) in expected.items():
            assert found[name].declaration.endpoint == command_digest([command])


@pytest.mark.parametrize("seed", range(LAYOUTS))
def test_the_client_without_a_terminal_starts_the_same_servers_at_the_same_scopes(
    seed: int, tmp_path: Path
) -> None:
    layout = Layout(tmp_path.resolve(), random.Random(seed))  # noqa: S311 - no secrets
    scopes: Mapping[str, str] = {"global": "user"}
    for directory in places(layout):
        expected = started_by_the_client(layout.home, directory)
        found = resolved_by_remit(layout.home, directory, is_headless=True)
        assert {
            name: (scopes.get(item.declaration.scope, item.declaration.scope), status(item))
            for name, item in found.items()
        } == expected
