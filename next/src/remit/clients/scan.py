"""Reads the files of clients that changed, and stores what they declare."""

import json
import os
from collections.abc import Callable
from typing import Any

from remit.decision import (
    Context,
    Declaration,
    Kind,
    Launch,
    Resolved,
    Scope,
    Status,
    Transport,
    Workspace,
    ancestors,
    resolve,
    server_name,
)
from remit.store import Reading, Store
from remit.text import as_object


class Scanner:
    """Keeps the stored readings of clients' files current."""

    def __init__(self, store: Store, home: str, clock: Callable[[], int]) -> None:
        self._store = store
        self._home = home
        self._clock = clock
        self._resolved: list[Resolved] = []

    def refresh(self, context: Context) -> None:
        """Read the files of clients that changed since the last scan."""
        view = context.view(context.client or "claude-code")
        inputs = {path: _fingerprint(path) for path in _files(self._home, context.workspace)}
        self._resolved = resolve(_declarations(self._home, context.workspace))
        if inputs != self._store.scans.inputs(view):
            self._store.scans.save(Reading(self._resolved, inputs), view, self._clock())

    def last_resolved(self, context: Context) -> list[Resolved]:
        """Return the declarations of the last refresh, with their launches."""
        del context
        return self._resolved


def _files(home: str, workspace: Workspace) -> list[str]:
    return [
        os.path.join(home, ".claude.json"),
        *(os.path.join(d, ".mcp.json") for d in ancestors(workspace.dir)),
    ]


def _fingerprint(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"


def _declarations(home: str, workspace: Workspace) -> list[Declaration]:
    user = _read(os.path.join(home, ".claude.json"))
    project = workspace.project
    mine = as_object(as_object(user.get("projects")).get(project.path))
    found = _servers(user, Scope.GLOBAL, None, None, os.path.join(home, ".claude.json"))
    found += _servers(mine, Scope.LOCAL, project.hash, None, os.path.join(home, ".claude.json"))
    for dir in ancestors(workspace.dir):
        path = os.path.join(dir, ".mcp.json")
        found += _servers(_read(path), Scope.PROJECT, project.hash, dir, path)
    return found


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as opened:
            return as_object(json.load(opened))
    except (OSError, ValueError):
        return {}


def _servers(
    content: dict[str, Any], scope: Scope, project_hash: str | None, dir: str | None, path: str
) -> list[Declaration]:
    found: list[Declaration] = []
    for label, entry in as_object(content.get("mcpServers")).items():
        values = as_object(entry)
        launch = Launch(
            Transport(values.get("type", "http" if "url" in values else "stdio")),
            values.get("command", ""),
            tuple(values.get("args", ())),
            values.get("env", {}),
            url=values.get("url", ""),
        )
        place = ("claude-code", Kind.MCP_SERVER, scope, project_hash, dir, None, label, server_name(label))
        found.append(
            Declaration(
                *place,
                source=path,
                launch=launch,
                digest=launch.digest,
                endpoint=launch.endpoint,
                status=Status.NESTED if launch.starts_remit else Status.ENABLED,
            )
        )
    return found
