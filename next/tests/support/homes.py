"""A user's machine in a temporary directory: a home, projects, an administrator's files, and readings."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remit.clients import ClientReading, Scanner, read_client
from remit.decision import RUNS, Context, Declaration, Face, Kind, LaunchFlags, Resolved, View
from remit.files import EditedFile, Machine, locate
from remit.store import Store, open_store

LISTED = (Kind.MCP_SERVER, Kind.PLUGIN)


def servers(*labels: str, **entries: Mapping[str, object]) -> dict[str, Any]:
    """Return the content of a `.mcp.json`."""
    plain = {label: {"command": f"run-{label}"} for label in labels}
    return {"mcpServers": {**plain, **entries}}


class Home:
    """A machine, and the clients' files on it."""

    def __init__(self, root: Path, client: str = "claude-code") -> None:
        self.root = root.resolve()
        self.client = client
        self.path = self.root / "home"
        self.managed = self.root / "machine/etc/claude-code"
        self.variables: dict[str, str] = {}
        self.platform = "linux"
        self.edited: dict[str, EditedFile] = {}  # what Remit wrote, by path
        self.later_ns = 10_000_000_000  # files count as settled
        self.path.mkdir()
        self._store: Store | None = None
        self._scanner: Scanner | None = None

    def project(self, name: str = "shop", *, git: bool = True) -> Path:
        """Make a project, with an empty `.git` unless told otherwise."""
        path = self.root / "code" / name
        (path / ".git").mkdir(parents=True) if git else path.mkdir(parents=True)
        return path

    def write(self, path: Path | str, content: object) -> Path:
        """Write a file; a relative path is one of the home."""
        path = self.path / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    @property
    def machine(self) -> Machine:
        return Machine(str(self.path), self.variables, self.platform, str(self.root / "machine"))

    def read(
        self, directory: Path, *, client: str | None = None, flags: LaunchFlags | None = None
    ) -> ClientReading:
        """Read a client's files, without a store."""
        view = View(client or self.client, locate(str(directory)), flags or LaunchFlags())
        return read_client(view, self.machine, now_ns=0, read_edits=lambda _reader: self.edited.get)

    def context(
        self, directory: Path, *, client: str | None = None, face: Face = Face.CLIENT, headless: bool = False
    ) -> Context:
        flags = LaunchFlags(is_headless=headless)
        return Context(locate(str(directory)), client or self.client, flags, face=face)

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = open_store(":memory:")
        return self._store

    @property
    def scanner(self) -> Scanner:
        if self._scanner is None:
            self._scanner = Scanner(
                self.store, self.machine, lambda: 1, read_edits=lambda _reader: self.edited.get
            )
        return self._scanner

    def scanned(self, directory: Path, *, client: str | None = None, headless: bool = False) -> list[str]:
        """Refresh, and list what the client loads according to the store."""
        context = self.context(directory, client=client, headless=headless)
        self.scanner.refresh(context)
        last = self.store.scans.last(context.view(client or self.client))
        return [] if last is None else loaded(last.resolved)


def loaded(resolved: ClientReading | list[Resolved] | Any) -> list[str]:
    """List the servers and plugins that a client loads, as scope and label."""
    items = resolved.resolved if isinstance(resolved, ClientReading) else resolved
    return sorted(
        named(item.declaration)
        for item in items
        if item.declaration.status in RUNS and item.shadowed_by is None and item.declaration.kind in LISTED
    )


def outcome(reading: ClientReading) -> dict[str, str]:
    """Map what is not shadowed, as scope, label and command, to its status."""
    return {
        f"{named(item.declaration)} {command(item.declaration)}".strip(): str(item.declaration.status)
        for item in reading.resolved
        if item.shadowed_by is None or item.declaration.status == "pending"
    }


def statuses(reading: ClientReading) -> dict[str, str]:
    """Map everything that is not shadowed, as scope and label, to its status."""
    return {
        named(item.declaration): str(item.declaration.status)
        for item in reading.resolved
        if item.shadowed_by is None or item.declaration.status == "pending"
    }


def named(declaration: Declaration) -> str:
    return f"{declaration.scope} {declaration.server or declaration.name}"


def command(declaration: Declaration) -> str:
    launch = declaration.launch
    return "" if launch is None else " ".join((launch.command or launch.url, *launch.args))


def winner(reading: ClientReading, label: str = "git") -> Declaration:
    """Return the declaration of a server that counts."""
    [item] = [
        item.declaration
        for item in reading.resolved
        if item.declaration.server == label and item.shadowed_by is None and item.declaration.status in RUNS
    ]
    return item


def reasons(reading: ClientReading) -> list[str]:
    return [problem.reason for problem in reading.problems]
