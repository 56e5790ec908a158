"""The world of `remit demo`: a project, two servers and a policy in a temporary home."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

_SERVER = Path(__file__).with_name("server.py")
_SETTINGS = {"env": {"ENABLE_TOOL_SEARCH": "false"}}  # the client sends every definition, not only names
_POLICY = """\
[states.tests-passed]
kind = "workflow"
description = "The test suite passed"

[tools."mcp__deploy__release"]
states = ["tests-passed"]
approval = true

[tools."mcp__orders__refund_order"]
ai_enabled = false
"""
_DATA: Mapping[str, list[dict[str, Any]]] = {
    "orders": [
        {"number": 1001, "customer": "Ada Lovelace", "items": ["1 lamp"], "total": 49.0, "status": "shipped"},
        {"number": 1002, "customer": "Alan Turing", "items": ["2 chairs"], "total": 198.0, "status": "paid"},
    ],
    "deploy": [{"version": "2.2.0"}, {"version": "2.3.0"}],
}
_KEPT = ("PATH", "LANG", "LC_ALL", "TERM", "COLUMNS", "TMPDIR", "PYTHONPATH", "SYSTEMROOT", "PATHEXT", "TEMP")


class World(NamedTuple):
    """A home directory of its own, with one project."""

    home: Path

    @property
    def shop(self) -> Path:
        """The project, with a policy."""
        return self.home / "shop"

    @property
    def environment(self) -> dict[str, str]:
        """The variables of every process: none that leads to the user's own files, or marks an agent."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        homes = dict.fromkeys(("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"), str(self.home))
        return {**kept, **homes, "REMIT_HOME": str(self.home / ".remit"), "NO_COLOR": "1"}


def build_world(directory: Path) -> World:
    """Write the demo's files into an empty directory."""
    world = World(directory.resolve())
    (world.shop / ".git").mkdir(parents=True)
    servers: dict[str, Any] = {}
    for name, records in _DATA.items():
        data = _write(world.home / f".demo/{name}.json", records)
        servers[name] = {"command": sys.executable, "args": ["-I", str(_SERVER), name, str(data)]}
    deploy = {str(world.shop): {"mcpServers": {"deploy": servers.pop("deploy")}}}
    _write(world.home / ".claude.json", {"mcpServers": servers, "projects": deploy})
    _write(world.home / ".claude/settings.json", _SETTINGS)
    (world.shop / "remit.toml").write_text(_POLICY, "utf-8")
    return world


def _write(path: Path, content: object) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=2), "utf-8")
    return path
