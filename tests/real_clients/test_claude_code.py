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

from remit.clients.claude_code import CLIENT
from remit.clients.parsing.client_reader import read_client
from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import Resolved
from remit.decision.declared_launch import command_digest
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.projects import View
from remit.decision.resolve import resolve
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from support.processes import git

CLAUDE = os.environ.get("REMIT_TEST_CLAUDE", "")
LAYOUTS = int(os.environ.get("REMIT_TEST_LAYOUTS", "40"))

pytestmark = pytest.mark.skipif(not CLAUDE, reason="`make test-clients` installs the client and runs this")

NAMES = ("git", "wiki", "a.b", "a_b", "we ird.näme", "smile😀")
LONG_AGO = "2026-01-01T00:00:00.000Z"
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
        if self._happens(0.5):
            self._write_plugins()
        for directory in (self.top, self.sub):
            self._maybe(directory / ".mcp.json", lambda: {"mcpServers": self._servers()}, 0.8)
        self._maybe(self.home / ".claude/settings.json", self._settings, 0.8)
        for directory in (self.top, self.sub):
            self._maybe(directory / ".claude/settings.json", self._settings, 0.4)
            self._maybe(directory / ".claude/settings.local.json", self._settings, 0.4)

    def _write_plugins(self) -> None:
        """Two marketplaces, one of them a directory that is read in place, and copies in several versions."""
        root = self.home / ".claude/plugins"
        orchard, here = root / "marketplaces/orchard", self.root / "here"
        known = {
            "orchard": ({"source": "github", "repo": "ada/orchard"}, orchard),
            "here": ({"source": "directory", "path": str(here)}, here),
        }
        self._write(
            root / "known_marketplaces.json",
            {
                name: {"source": source, "installLocation": str(path), "lastUpdated": LONG_AGO}
                for name, (source, path) in known.items()
            },
        )
        names = {"orchard": ("quill", "sprocket"), "here": ("lantern", "kite")}
        for name, (_, path) in known.items():
            entries = [{"name": plugin, "source": f"./plugins/{plugin}"} for plugin in names[name]]
            if self._happens(0.9):
                catalogue = {"name": name, "owner": {"name": "Ada"}, "plugins": entries}
                self._write(path / ".claude-plugin/marketplace.json", catalogue)
        for plugin in names["here"]:
            self._write_plugin(here / "plugins" / plugin, plugin)
        self._write(root / "installed_plugins.json", {"version": 2, "plugins": self._records(root)})

    def _records(self, root: Path) -> dict[str, object]:
        plugins: dict[str, object] = {}
        for plugin in ("quill", "sprocket"):
            records: list[dict[str, str]] = []
            for version in ("1.0.0", "2.0.0"):
                if self._happens(0.6):
                    folder = root / "cache/orchard" / plugin / version
                    self._write_plugin(folder, plugin)
                    record = {
                        "scope": self.chance.choice(("user", "project", "local")),
                        "installPath": str(folder),
                    }
                    if record["scope"] != "user":
                        record["projectPath"] = self.chance.choice((str(self.key), "/elsewhere"))
                    times = {"installedAt": LONG_AGO, "lastUpdated": LONG_AGO}
                    records.append({**record, "version": version, **times})
            if records:
                plugins[f"{plugin}@orchard"] = records
        return plugins

    def _write_plugin(self, folder: Path, plugin: str) -> None:
        manifest: dict[str, object] = {"name": plugin, "version": "1.0.0"}
        if self._happens(0.5):
            manifest["mcpServers"] = self._plugin_servers()
        self._write(folder / ".claude-plugin/plugin.json", manifest)
        if self._happens(0.6):
            servers = self._plugin_servers()
            self._write(folder / ".mcp.json", servers if self._happens(0.5) else {"mcpServers": servers})

    def _plugin_servers(self) -> dict[str, object]:
        return {name: self._plugin_entry() for name in ("spell", "wiki", "a.b") if self._happens(0.5)}

    def _plugin_entry(self) -> dict[str, object]:
        if self._happens(0.3) and self.commands:
            return {"command": self.chance.choice(self.commands)}  # perhaps the endpoint of another server
        return self._entry()

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
                plugins = (
                    ["plugin:quill:spell"] if name == "disabledMcpServers" and self._happens(0.5) else []
                )
                answers[name] = self._some() + plugins
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
        if self._happens(0.6):
            ids = ("quill@orchard", "sprocket@orchard", "lantern@here", "kite@here", "quill@nowhere")
            made["enabledPlugins"] = {id: self._happens(0.7) for id in ids if self._happens(0.5)}
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
                name, _, command = entry.rpartition(": ")
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
    view = View(CLIENT.name, locate(str(directory)))
    reading = read_client(CLIENT, view, Machine(home=str(home), variables={}), now_ns=0)
    resolved = resolve(
        reading.declarations,
        ClientSettings(reading.rules, is_headless=is_headless, behavior=reading.behavior),
    )
    unshadowed = [
        item for item in resolved if item.declaration.kind is Kind.MCP_SERVER and item.shadowed_by is None
    ]
    shown: dict[str, Resolved] = {}
    for statuses in ((ConfigStatus.PENDING,), (ConfigStatus.ENABLED, ConfigStatus.DISABLED)):
        nearest_last = sorted(unshadowed, key=lambda item: len(item.declaration.dir or ""))
        shown |= {label(item): item for item in nearest_last if item.config_status in statuses}
    return shown


def label(item: Resolved) -> str:
    declaration = item.declaration
    owner = f"plugin:{declaration.plugin}:" if declaration.plugin is not None else ""
    return f"{owner}{declaration.server}"


def status(item: Resolved) -> str:
    return item.config_status.value


def places(layout: Layout) -> Iterator[Path]:
    yield layout.top
    yield layout.sub


@pytest.mark.parametrize("seed", range(LAYOUTS))
def test_the_interactive_client_lists_the_same_servers_from_the_same_files(seed: int, tmp_path: Path) -> None:
    layout = Layout(tmp_path.resolve(), random.Random(seed))  # noqa: S311 - no secrets
    for directory in places(layout):
        found = resolved_by_remit(layout.home, directory, is_headless=False)  # the client changes files
        expected = listed_by_the_client(layout.home, directory)
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
        found = resolved_by_remit(layout.home, directory, is_headless=True)  # the client changes files
        expected = started_by_the_client(layout.home, directory)
        assert {
            name: (scopes.get(item.declaration.scope, item.declaration.scope), status(item))
            for name, item in found.items()
        } == expected
