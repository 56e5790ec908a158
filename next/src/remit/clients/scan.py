"""Reads the clients whose files changed, and stores what they say.

Most commands find everything unchanged, so parsing and resolving are loaded only when something changed.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from remit.decision import (
    CLIENT_TITLES,
    REMIT,
    Context,
    Declaration,
    Face,
    Kind,
    Resolved,
    Scope,
    Status,
    Tool,
    View,
    Workspace,
)
from remit.files import Fingerprints, Machine
from remit.store import Changes, Problem, Reading, Store
from remit.text import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.clients.reader import ClientReading, ReadEdits

_LINES_LIMIT = 16 * 2**20  # bytes of a file in which a line is looked for
_TABLES = (  # that clients keep their servers in; plugins have files that are the table
    ("mcpServers",),
    ("servers",),
    ("mcp_servers",),
    ("mcp", "servers"),
    ("mcp",),
    ("context_servers",),
    ("extensions",),
    (),
)

# Adds Remit's own server to what a view declares; told whether a gateway runs there, or has run.
OwnServer = Callable[[View, Sequence[Resolved], bool], tuple[Sequence[Resolved], Sequence[Problem]]]


class ClientPresence(NamedTuple):
    """A client on this machine, or one that is not there, with its files for a workspace."""

    client: str
    files: Sequence[str]  # existing ones
    servers: int
    problems: int
    is_found: bool  # on this machine; another client may read the same files
    gateways: int  # of the servers, those that are Remit itself


def no_own_server(
    _view: View, resolved: Sequence[Resolved], _is_served: bool
) -> tuple[Sequence[Resolved], Sequence[Problem]]:
    """Add nothing."""
    return resolved, ()


class Scanner:
    """Keeps the stored readings of clients' files current."""

    def __init__(
        self,
        store: Store,
        machine: Machine,
        clock: Clock,
        own_server: OwnServer = no_own_server,
        *,
        read_edits: "ReadEdits | None" = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store = store
        self._machine = machine
        self._clock = clock
        self._own_server = own_server
        self._read_edits = read_edits
        self._now_ns = now_ns
        self._last: dict[View, ClientReading] = {}
        self._fingerprints: dict[View, Fingerprints] = {}

    def refresh(self, context: Context) -> None:
        """Read and store the clients whose files changed since the last scan of this workspace."""
        for view in _views(context):
            if not self._is_unchanged(view, context):
                self._scan(view, context)

    def scan(self, context: Context) -> Changes:
        """Read and store everything again, and return the changes."""
        changes = [self._scan(view, context) for view in _views(context)]
        return Changes(
            [item for change in changes for item in change.added],
            [item for change in changes for item in change.removed],
            [item for change in changes for item in change.changed],
        )

    def readings(self, context: Context) -> Mapping[str, "ClientReading"]:
        """Read everything again, store the views that changed, and return the readings by client."""
        readings: dict[str, ClientReading] = {}
        for view in _views(context):
            reading = readings[view.client] = self._read(view, context)
            if not self._is_unchanged(view, context):
                self._save(view, reading)
        return readings

    def last_resolved(self, context: Context) -> list[Resolved]:
        """Return the resolved declarations of the last scan, with launches; store nothing."""
        resolved: list[Resolved] = []
        for view in _views(context):
            reading = self._last.get(view)
            if reading is None or reading.inputs != self._store.scans.inputs(view):
                reading = self._read(view, context)
            resolved += reading.resolved
        return resolved

    def inputs(self, context: Context) -> dict[str, str]:
        """Return the inputs of the last scan, with their fingerprints."""
        views = _views(context)
        return {name: mark for view in views for name, mark in self._store.scans.inputs(view).items()}

    def presences(self, context: Context) -> list[ClientPresence]:
        """List the clients with their files here; store nothing."""
        return [self._presence(self._read(view, context)) for view in _views(context)]

    def _is_unchanged(self, view: View, context: Context) -> bool:
        stored = self._store.scans.inputs(view)
        last = self._fingerprints.get(view)
        if last is None or last.stored != stored:
            last = self._fingerprints[view] = Fingerprints(stored, self._machine)
            if context.face is Face.GATEWAY and not self._was_served(view):
                return False
        return last.are_unchanged()

    def _scan(self, view: View, context: Context) -> Changes:
        return self._save(view, self._read(view, context))

    def _read(self, view: View, context: Context) -> "ClientReading":
        from remit.clients.reader import Kept, read_client

        scans = self._store.scans
        kept = Kept(
            partial(scans.files, view.client, workspace=view.workspace), partial(scans.last_declared, view)
        )
        reading = read_client(
            view, self._machine, now_ns=self._now_ns(), read_edits=self._read_edits, kept=kept
        )
        # Once a gateway ran here, its own server stays listed, even between runs.
        is_served = context.face is Face.GATEWAY or self._was_served(view)
        resolved, problems = self._own_server(view, reading.resolved, is_served)
        self._last[view] = reading._replace(resolved=resolved, problems=[*reading.problems, *problems])
        return self._last[view]

    def _save(self, view: View, reading: "ClientReading") -> Changes:
        stored = Reading(
            reading.resolved,
            reading.inputs,
            reading.permissions,
            reading.problems,
            reading.facts._asdict(),
            reading.stored,
        )
        return self._store.scans.save(stored, view, self._clock())

    def _was_served(self, view: View) -> bool:
        last = self._store.scans.last(view)
        return last is not None and any(item.declaration.source == REMIT for item in last.resolved)

    def _presence(self, reading: "ClientReading") -> ClientPresence:
        from remit.clients.table import is_on_machine

        servers = {item.key: item for item in reading.declarations if item.kind is Kind.MCP_SERVER}
        return ClientPresence(
            reading.client,
            reading.files,
            servers=sum(item.source != REMIT for item in servers.values()),
            problems=len(reading.problems),
            is_found=is_on_machine(reading.client, self._machine),
            gateways=sum(item.status is Status.ITSELF for item in servers.values()),
        )


def line_of(path: str, *keys: str) -> int:
    """Find the line of the member that keys lead to in a JSON or TOML file; 0 if it is not there.

    A link is not followed: a repository's may lead to a file of the user's that nobody asked for.
    """
    from remit.files import FileError, JsonText, parse_toml, positions, read_text

    try:
        text = read_text(path, limit=_LINES_LIMIT, within=[path]) or ""
        if path.endswith(".toml"):
            parse_toml(text)  # positions are only found in valid text
            return positions(text).get(keys, (0,))[0]
        item = JsonText(text, lenient=True).find(keys)
    except (FileError, ValueError):
        return 0
    return 0 if item is None else text.count("\n", 0, item.start) + 1


def declaration_line(tool: Tool | Declaration, workspace: Workspace) -> int:
    """Find the line that declares a server or the server of a tool; 0 if the whole file does."""
    if tool.server is None or tool.kind not in (Kind.MCP_SERVER, Kind.MCP_TOOL) or tool.agent is not None:
        return 0
    tables: Sequence[tuple[str, ...]] = _TABLES
    if tool.scope is Scope.LOCAL:
        tables = (("projects", workspace.project.path.replace(os.sep, "/"), "mcpServers"), *_TABLES)
    lines = (line_of(tool.source, *keys, tool.server) for keys in tables)
    return next(filter(None, lines), 0)


def _views(context: Context) -> Iterator[View]:
    """Yield the views of a context; a project in a shared database has no files."""
    if context.workspace.has_files:
        for client in CLIENT_TITLES if context.client is None else (context.client,):
            yield context.view(client)
