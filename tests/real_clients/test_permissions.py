"""The permission rules of the real Claude Code: through Remit, each tool is as usable as it is without Remit.

Every setting is generated: rules at all levels, trust, and a mode. The client makes the same calls alone and
with Remit installed, with the same outcome: the tool runs, the client asks, it refuses, or there is no
such tool. A tool that answers the client's prompts shows whether it asks.

Run by `make test-clients`, which installs the client; REMIT_TEST_SETTINGS tells how many.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support import real_claude
from support.processes import git
from support.real_claude import Call

CLAUDE = os.environ.get("REMIT_TEST_CLAUDE", "")
SETTINGS = int(os.environ.get("REMIT_TEST_SETTINGS", "10"))
REMIT = str(Path(sys.executable).with_name("remit"))
SERVER = """
import json, sys
tools = json.loads(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {}
    if asked["method"] == "initialize":
        info = {"name": "x", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    elif asked["method"] == "tools/list":
        result = {"tools": [{"inputSchema": {"type": "object"}, **tool} for tool in tools]}
    elif asked["method"] == "tools/call":
        is_prompt = asked["params"]["name"] == "prompt"
        said = json.dumps({"behavior": "deny", "message": "it asked"}) if is_prompt else "it ran"
        result = {"content": [{"type": "text", "text": said}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
READING = {"annotations": {"readOnlyHint": True}}
CONFIRMED = {"_meta": {"anthropic/requiresUserInteraction": True}}
TOOLS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "git": [{"name": "status"}, {"name": "reset"}, {"name": "peek", **READING}, {"name": "x__deep"}],
    "git__x": [{"name": "status"}],
    "a.b": [{"name": "go.up"}, {"name": "sign", **CONFIRMED}],
}
SERVED = (
    "git__status",
    "git__reset",
    "git__peek",
    "git__x__deep",
    "git__x__status",
    "a_b__go_up",
    "a_b__sign",
)
BUILTINS: Sequence[Call] = (
    ("Bash", {"command": "touch made", "description": "x"}),
    ("Bash", {"command": "git push --dry-run", "description": "x"}),
    ("Write", {"file_path": "written.txt", "content": "x"}),
    ("Read", {"file_path": "read.txt"}),
)
RULES = (
    *(f"mcp__{name}" for name in SERVED),
    *("mcp__git", "mcp__a_b", "mcp__git__x", "mcp__git__*", "mcp__git__s*", "mcp__git__x__*", "mcp__a_b__*"),
    *("mcp__*", "mcp__*__status", "*__go_up", "mcp__git*", "mcp__git__*s", "mcp__g*__reset"),
    *(
        "mcp__git()",
        "mcp__git__status(*)",
        "mcp__a.b",
        "mcp__GIT__status",
        "mcp__git__",
        "git",
        "mcp__git__st?tus",
    ),
    *("Bash", "Bash(*)", "Bash(touch *)", "Bash(git push:*)", "Bash()", "B*", "Write", "Edit", "Read", "W*"),
)
OUTER = ("mcp__remit", "mcp__remit__call_tool", "mcp__remit__*")  # allow nothing but the gateway itself
MODES = ("default", "default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "auto")
BY_NAME = 4  # every so many settings, the tools are also called through `call_tool`

pytestmark = pytest.mark.skipif(not CLAUDE, reason="`make test-clients` installs the client and runs this")

Settings = dict[str, Any]


@cache
def can_mount() -> bool:
    """Tell whether managed settings can be put in their place, for one process and its children."""
    try:
        return subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


class Layout:
    """A home and a project with generated settings, before or after Remit is installed."""

    def __init__(self, root: Path, seed: int, *, with_remit: bool) -> None:
        self.root, self.chance, self.with_remit = root, random.Random(seed), with_remit  # noqa: S311
        self.home, self.project = root / "home", root / "project"
        self.server = self._write(root / "server.py", SERVER)
        self.options = ["--permission-prompt-tool", "mcp__asker__prompt", "--mcp-config", self._asker()]
        for folder in (self.home / ".claude", self.project / ".claude"):
            folder.mkdir(parents=True)
        git("init", cwd=self.project)
        self._write(self.project / "read.txt", "x")
        state = {
            "mcpServers": {label: self._entry(label) for label in TOOLS},
            "projects": {str(self.project): {"hasTrustDialogAccepted": self._happens(0.7)}},
        }
        self._write(self.home / ".claude.json", state)
        self._settle()
        if with_remit:
            self._install()

    def outcomes(self) -> dict[str, str]:
        """What comes of each call."""
        calls: list[Call] = [(self._called(name), {}) for name in SERVED]
        labels = [*SERVED, *(f"{name} {given}" for name, given in BUILTINS)]
        found = self._session([*calls, *BUILTINS])
        return dict(zip(labels, found, strict=True))

    def outcomes_by_name(self) -> dict[str, str]:
        """What comes of calling each tool by its name, through the gateway's own tool."""
        calls: list[Call] = [("mcp__remit__call_tool", {"name": name}) for name in SERVED]
        return dict(zip(SERVED, self._session(calls), strict=True))

    def _session(self, calls: Sequence[Call]) -> list[str]:
        variables = {"ENABLE_TOOL_SEARCH": "false", "IS_SANDBOX": "1"}
        session = real_claude.run(
            self._client(),
            self.home,
            self.project,
            calls=calls,
            variables=variables,
            options=self.options,
            is_batched=True,
        )
        return [_outcome(result) for result in session.results]

    def _called(self, name: str) -> str:
        return f"mcp__remit__{name}" if self.with_remit else f"mcp__{name}"

    def _settle(self) -> None:
        """Write settings at every level."""
        levels: dict[str, Settings] = {
            "user": self._permissions(0.8),
            "project": self._permissions(0.6),
            "local": self._permissions(0.6),
            "managed": self._permissions(0.3 if can_mount() else 0.0),
        }
        self.mode = mode = self.chance.choice(MODES)
        if self._happens(0.5):
            self.options += ["--permission-mode", mode]
        else:
            levels[self.chance.choice(["user", "project", "local"])].setdefault("permissions", {})[
                "defaultMode"
            ] = mode
        if levels["managed"] and self._happens(0.3):
            levels["managed"]["allowManagedPermissionRulesOnly"] = True
        is_tracked = self._happens(0.3)
        self._write(self.home / ".claude/settings.json", levels["user"])
        self._write(self.project / ".claude/settings.json", levels["project"])
        self._write(self.project / ".claude/settings.local.json", levels["local"])
        if levels["managed"]:
            self._write(self.root / "etc/managed-settings.json", levels["managed"])
        if is_tracked:
            git("add", "--force", ".claude", cwd=self.project)

    def _permissions(self, probability: float) -> Settings:
        if not self._happens(probability):
            return {}
        return {
            "permissions": {
                "allow": [*self._some(4), *(rule for rule in OUTER if self._happens(0.25))],
                "ask": self._some(1),
                "deny": self._some(1),
            }
        }

    def _some(self, most: int) -> list[str]:
        chosen = self.chance.sample(RULES, self.chance.randint(0, most))
        return [self._spelled(rule) for rule in chosen]

    def _spelled(self, rule: str) -> str:
        """Write some rules about a tool by the name that it has through Remit, as the client would."""
        is_behind = self._happens(0.3) and rule.removeprefix("mcp__") in SERVED
        return self._called(rule.removeprefix("mcp__")) if is_behind else rule

    def _install(self) -> None:
        subprocess.run(
            [REMIT, "install", "claude-code", "--yes"],
            cwd=self.project,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home)},
            capture_output=True,
            check=True,
        )
        path = self.home / ".claude/settings.json"
        settings = json.loads(path.read_text())
        allowed = settings["allowedMcpServers"]
        entry = json.loads(self._asker())["mcpServers"]["asker"]
        by_command = any("serverCommand" in item for item in allowed)
        command = {"serverCommand": [entry["command"], *entry["args"]]}
        allowed.append(command if by_command else {"serverName": "asker"})
        self._write(path, settings)

    def _client(self) -> str:
        if not (self.root / "etc").exists():
            return CLAUDE
        place = "/etc/claude-code"
        mount = f'mkdir -p {place}; mount --bind "{self.root}/etc" {place}; exec "{CLAUDE}" "$@"'
        script = f"#!/bin/sh\nexec unshare --mount sh -c '{mount}' sh \"$@\"\n"
        path = self._write(self.root / "claude", script)
        path.chmod(0o755)
        return str(path)

    def _asker(self) -> str:
        entry = {
            "command": sys.executable,
            "args": ["-IS", str(self.server), json.dumps([{"name": "prompt"}])],
        }
        return json.dumps({"mcpServers": {"asker": entry}})

    def _entry(self, label: str) -> dict[str, object]:
        return {"command": sys.executable, "args": ["-IS", str(self.server), json.dumps(TOOLS[label])]}

    def _happens(self, probability: float) -> bool:
        return self.chance.random() < probability

    def _write(self, path: Path, content: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        return path


def _outcome(result: str) -> str:
    if "it asked" in result:
        return "asked"
    if "No such tool" in result:
        return "absent"
    if "Auto mode is unavailable" in result:
        return "reviewed"  # by a model that is not there
    refusals = ("has been denied", "Remit: `", "not available now", "mode `dontAsk`")
    return "refused" if any(said in result for said in refusals) else "ran"


def is_same(alone: str, behind: str, rules: Sequence[str]) -> bool:
    """Compare two outcomes.

    Where a rule allows the gateway as a whole, the client does not review its calls any more, and no hook can
    make it do so: a person is asked instead.
    """
    return alone == behind or (alone == "reviewed" and behind == "asked" and "mcp__remit" in str(rules))


def is_same_by_name(alone: str, by_name: str, mode: str) -> bool:
    """Compare the outcome of a tool with that of `call_tool`, which is never read-only.

    It is there even if the tool is not, unless a rule denies all tools of servers.
    """
    ran = ("ran", "asked") if mode == "plan" else ("ran",)
    accepted = {"absent": ("refused", "absent"), "reviewed": ("reviewed", "asked"), "ran": ran}
    return by_name in accepted.get(alone, (alone,))


@pytest.mark.parametrize("seed", range(SETTINGS))
def test_each_tool_is_as_usable_through_remit_as_without_it(seed: int, tmp_path: Path) -> None:
    alone = Layout(tmp_path.resolve() / "alone", seed, with_remit=False)
    behind = Layout(tmp_path.resolve() / "behind", seed, with_remit=True)
    expected, found = alone.outcomes(), behind.outcomes()
    rules = [path.read_text() for path in behind.root.rglob("settings*.json")]
    differing = {
        name: (expected[name], outcome)
        for name, outcome in found.items()
        if not is_same(expected[name], outcome, rules)
    }
    assert differing == {}
    if seed % BY_NAME == 0:
        by_name = behind.outcomes_by_name()
        assert {
            name: (expected[name], outcome)
            for name, outcome in by_name.items()
            if not is_same_by_name(expected[name], outcome, behind.mode)
        } == {}
