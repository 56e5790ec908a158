"""Worlds to attack: a user's machine, a repository, and Claude Code as far as it matters to an attack.

Nothing here imports Remit: every attack goes through the command, in a process of its own. Where variables of
the repository reach what install wrote, it starts as a client starts it; the rest is forked from a process
that has the command loaded.
A mistake in a world is a `RuntimeError`, so it is never taken for an attack that worked.
"""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from attacks.peers import SECONDS, Gateway, Server
from support import real_claude
from support.forked_commands import Done, fork_server

REMIT = str(Path(sys.executable).with_name("remit"))
CLAUDE = os.environ.get("REMIT_TEST_CLAUDE", "")
needs_claude = pytest.mark.skipif(not CLAUDE, reason="`make attack` installs the real client and runs this")
KEPT = ("HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR")  # no project setting reaches a hook or a server
BUSY = "the machine is too busy"
BASH: Mapping[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "true"}}  # of an event

Call = tuple[str, Mapping[str, object]]
Settings = dict[str, Any]


def require(is_so: bool, what: str) -> None:
    """Hold a world to what an attack takes for granted.

    Raises:
        RuntimeError: it is not so.
    """
    if not is_so:
        raise RuntimeError(f"the attack cannot be judged: {what}")


@dataclass
class World:
    """A user's machine with one repository that somebody else wrote."""

    root: Path

    def __post_init__(self) -> None:
        self.home, self.repository = self.root / "home", self.root / "code" / "shop"
        for folder in (self.home / ".claude", self.repository / ".git", self.root / "servers"):
            folder.mkdir(parents=True)

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "NO_COLOR": "1"}

    @property
    def user_settings(self) -> Settings:
        """What the user's settings of Claude Code say now."""
        return _read(self.home / ".claude/settings.json")

    @property
    def denied_tools(self) -> list[str]:
        """The tools that the user's settings deny as a whole."""
        return [rule for rule in self.user_settings["permissions"]["deny"] if "(" not in rule]

    @property
    def project_settings(self) -> Settings:
        """What the repository's settings of Claude Code say."""
        return _read(self.repository / ".claude/settings.json")

    def server(self, name: str, *tools: Mapping[str, object]) -> Server:
        """Make a server; who declares it is another question."""
        made = Server(name, self.root / "servers")
        made.offer(*tools)
        return made

    def write(self, path: Path, content: object) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")

    def declare(
        self,
        servers: Mapping[str, Server],
        *,
        local: Mapping[str, Server] | None = None,
        approved: Sequence[str] = (),
    ) -> None:
        """Write the user's own servers, those of the user in this repository, and what the user approved."""
        project = {
            "hasTrustDialogAccepted": True,
            "mcpServers": _entries(local or {}),
            "enabledMcpjsonServers": list(approved),
        }
        state = {"mcpServers": _entries(servers), "projects": {str(self.repository): project}}
        self.write(self.home / ".claude.json", state)

    def approve(self, label: str) -> None:
        """Approve of a repository's server, as the client's dialog does."""
        state = _read(self.home / ".claude.json")
        state["projects"][str(self.repository)]["enabledMcpjsonServers"].append(label)
        self.write(self.home / ".claude.json", state)

    def bring(self, entries: Mapping[str, Server | Mapping[str, object]]) -> None:
        """Let the repository declare servers."""
        found = {
            label: entry.entry if isinstance(entry, Server) else entry for label, entry in entries.items()
        }
        self.write(self.repository / ".mcp.json", {"mcpServers": found})

    def settle(self, **settings: object) -> None:
        """Write the user's settings of Claude Code."""
        self.write(self.home / ".claude/settings.json", settings)

    def impose(self, **settings: object) -> None:
        """Let the repository bring settings of Claude Code."""
        self.write(self.repository / ".claude/settings.json", settings)

    def configure(self, text: str) -> None:
        """Write the user's `remit.toml`."""
        self.write(self.home / ".config/remit/remit.toml", text)

    def remit(self, *words: str, variables: Mapping[str, str] | None = None) -> str:
        """Run the command in the repository, and give what it prints; it has to end well."""
        done = self._run(words, variables=variables)
        if done.code:
            raise RuntimeError(f"remit {' '.join(words)}: {done.stderr}")
        return done.stdout

    def attempt(self, *words: str) -> Done:
        """Run the command in the repository as an agent would, however it ends."""
        return self._run(words)

    def advice(self, *words: str) -> str:
        """What a command tells the person beside its output."""
        return self._run(words).stderr

    def doctor(self) -> str:
        """What `remit doctor` finds, as one text; its exit code says whether it found anything."""
        told = json.loads(self._run(["doctor", "--json"]).stdout)
        return json.dumps(told["findings"])

    def install(self) -> None:
        self.remit("install", "claude-code", "--yes")

    def block_bash(self) -> None:
        """Install Remit for a user who lets the client run Bash, and blocks it in Remit."""
        self.declare({})
        self.settle(permissions={"allow": ["Bash"]})
        self.configure('block = ["Bash"]\n')
        self.install()

    def hook(self, event: str, **fields: object) -> dict[str, Any]:
        """Tell `remit hook` of an event, and give what it answers."""
        done = self._run(["hook"], stdin=json.dumps(self.event(event, **fields)).encode())
        if done.code or done.stderr:
            raise RuntimeError(f"remit hook: {done.stderr}")
        said: dict[str, Any] = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}
        return self.hook(event, **fields) if _is_busy(said) else said

    def start_session(self, project: Path | None = None, **fields: object) -> dict[str, Any]:
        """Tell the installed hook that a session starts, with the variables that the client gives it."""
        here = project or self.repository
        (group,) = self.user_settings["hooks"]["SessionStart"]
        (handler,) = group["hooks"]
        event = self.event("SessionStart", source="startup", cwd=str(here), **fields)
        done = self._answer([handler["command"], *handler["args"]], event, here, SECONDS)
        require(done.returncode == 0 and not done.stderr, f"the hook fails: {done.stderr}")
        return json.loads(done.stdout) if done.stdout else {}

    def event(self, name: str, **fields: object) -> dict[str, Any]:
        """Make an event as the client does, with its keys in the same order."""
        common = {"session_id": "s-1", "transcript_path": "", "cwd": str(self.repository)}
        return {**common, "permission_mode": "default", "hook_event_name": name, **fields}

    @contextmanager
    def serve(self, *words: str, capabilities: Sequence[str] = ()) -> Generator[Gateway]:
        """Start the gateway in the repository, as a client with these capabilities would."""
        command = fork_server().command("remit", "serve", *words)
        with self._speaking(command, self.environment, capabilities) as gateway:
            yield gateway

    @contextmanager
    def serve_as_installed(self, project: Path | None = None) -> Generator[Gateway]:
        """Start the entry that install wrote, with the variables that the client gives it."""
        entry = _read(self.home / ".claude.json")["mcpServers"]["remit"]
        environment = {**self._reached(), **entry.get("env", {})}
        words = [entry["command"], *entry["args"]]
        if (forked := self._forked(words)) is not None:
            words = fork_server().command("remit", *forked)
        with self._speaking(words, environment, project=project) as gateway:
            yield gateway

    def runs(self, event: Mapping[str, Any]) -> bool:
        """Tell whether Claude Code would run a call: its rules as observed in 2.1.325.

        The user's `permissions.deny` beats all. The repository may switch hooks off. A hook blocks by its
        answer or by exit code 2; any other failure lets the call through, unless the hook is declared with
        `"onFailure": "block"`.
        """
        if event["tool_name"] in self.user_settings.get("permissions", {}).get("deny", ()):
            return False
        if self.project_settings.get("disableAllHooks"):
            return True
        groups = self.user_settings.get("hooks", {}).get("PreToolUse", ())
        handlers = [handler for group in groups for handler in group["hooks"]]
        return not any(self._is_blocked(handler, event) for handler in handlers)

    def started(self) -> dict[str, Any]:
        """The servers that Claude Code would start here: its rules as observed in 2.1.325.

        A repository's entry stands above the user's of that name, even where it is not allowed itself, unless
        the user disabled it by name. All lists add up; where any has a command, names count for nothing.
        """
        disabled = self.user_settings.get("disabledMcpjsonServers", ())
        brought = _read(self.repository / ".mcp.json").get("mcpServers", {})
        declared = {
            **_read(self.home / ".claude.json").get("mcpServers", {}),
            **{label: entry for label, entry in brought.items() if label not in disabled},
        }
        both = (self.user_settings, self.project_settings)
        lists = [settings["allowedMcpServers"] for settings in both if "allowedMcpServers" in settings]
        allowed = list(chain.from_iterable(lists))
        return {
            label: entry for label, entry in declared.items() if not lists or _allows(allowed, label, entry)
        }

    def claude(self, *calls: Call, options: Sequence[str] = ()) -> real_claude.Session:
        """Run the real client in the repository, with a model that makes these calls."""
        given = {"ENABLE_TOOL_SEARCH": "false", "IS_SANDBOX": "1"}
        return real_claude.run(
            CLAUDE, self.home, self.repository, calls=calls, variables=given, options=options
        )

    def runs_in_claude(self) -> bool:
        """Tell whether the real client runs a command that its model asks for."""
        ran = self.repository / "ran"
        self.claude(("Bash", {"command": f"touch {ran}", "description": "try"}))
        return ran.exists()

    def _reached(self) -> dict[str, str]:
        said = self.project_settings.get("env", {})
        return {**self.environment, **{name: value for name, value in said.items() if name not in KEPT}}

    def _forked(self, words: Sequence[str]) -> Sequence[str] | None:
        """The words of the command that install wrote; None where the repository's variables reach it."""
        own = [sys.executable, "-I", "-m", "remit"]
        ends = [at + len(own) for at in range(len(words)) if list(words[at : at + len(own)]) == own]
        return words[ends[0] :] if ends and self._reached() == self.environment else None

    def _answer(
        self, words: Sequence[str], event: Mapping[str, Any], cwd: Path, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """What a hook answers to an event: in a fork, or as the client starts it.

        Raises:
            subprocess.TimeoutExpired: it takes too long.
        """
        told, environment = json.dumps(event), self._reached()
        if (forked := self._forked(words)) is None:
            return subprocess.run(
                words, input=told, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout
            )
        done = fork_server().run(
            forked, cwd=cwd, environment=environment, stdin=told.encode(), deadline=timeout
        )
        if done.is_late:
            raise subprocess.TimeoutExpired(list(words), timeout)
        return subprocess.CompletedProcess(list(words), done.code, done.stdout, done.stderr)

    def _is_blocked(self, handler: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
        command = handler["command"]
        words = [command, *handler["args"]] if "args" in handler else ["sh", "-c", command]
        is_closed = handler.get("onFailure") == "block"
        try:
            done = self._answer(words, event, self.repository, handler["timeout"])
        except subprocess.TimeoutExpired:
            return is_closed
        if done.returncode:
            return done.returncode == 2 or is_closed
        said: dict[str, Any] = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}
        if _is_busy(said):  # a model calls again
            return self._is_blocked(handler, event)
        return said.get("permissionDecision", "allow") != "allow"

    def _run(
        self, words: Sequence[str], *, stdin: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> Done:
        environment = {**self.environment, **(variables or {})}
        done = fork_server().run(
            words, cwd=self.repository, environment=environment, stdin=stdin, deadline=SECONDS
        )
        require(not done.is_late, f"remit {' '.join(words)} does not end")
        return done

    @contextmanager
    def _speaking(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        capabilities: Sequence[str] = (),
        project: Path | None = None,
    ) -> Generator[Gateway]:
        process = subprocess.Popen(
            words,
            cwd=project or self.repository,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        gateway = Gateway(process)
        try:
            gateway.open(*capabilities)
            yield gateway
        finally:
            gateway.end()


def _is_busy(said: Mapping[str, Any]) -> bool:
    return BUSY in said.get("permissionDecisionReason", "")


def _allows(allowed: Sequence[Mapping[str, Any]], label: str, entry: Mapping[str, Any]) -> bool:
    if commands := [item["serverCommand"] for item in allowed if "serverCommand" in item]:
        return [entry["command"], *entry.get("args", ())] in commands
    return {"serverName": label} in allowed


def _entries(servers: Mapping[str, Server]) -> dict[str, object]:
    return {label: server.entry for label, server in servers.items()}


def _read(path: Path) -> Settings:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
