"""What a diagnosis starts from, and what it finds.

A setup holds launches, which may contain secrets: it stays in memory, and no finding shows their values.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from remit.clients import ClientReading, InstallLevel, load_record, record_path
from remit.decision import RUNS, Context, Declaration, Face, Key, Kind, Launch, Resolved, Scope, Tool
from remit.errors import FileChangeError
from remit.store import TrustedEntry
from remit.text import as_list, as_object

if TYPE_CHECKING:
    from remit.catalog import Registry
    from remit.files import Machine
    from remit.hooks import Notice
    from remit.trust import HeldDefinition
    from remit.upstream import Obstacle


class Severity(StrEnum):
    """How bad a finding is, worst first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Finding(NamedTuple):
    """One problem: where, why, and its fix."""

    severity: Severity
    check: str  # which check found it
    source: str  # the file
    reason: str
    fix: str
    subject: str | None = None  # the server, as the file names it
    scope: Scope | None = None
    place: str = ""  # inside the entry, or inside the file without a subject


def about(
    item: Declaration | Tool, severity: Severity, check: str, *, reason: str, fix: str, place: str = ""
) -> Finding:
    """Make a finding about a server."""
    return Finding(
        severity=severity,
        check=check,
        source=item.source,
        place=place,
        subject=item.server,
        scope=item.scope,
        reason=reason,
        fix=fix,
    )


def for_owner(item: Declaration, fix: str) -> str:
    """Address the fix of an entry to its owner: a plugin's entry returns with its next update."""
    if item.plugin is None:
        return fix
    return f"ask the author of the plugin `{item.plugin}` to {fix}, or disable the plugin"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSetup:
    """The configuration of one client in one workspace, as its files say now."""

    context: Context
    reading: ClientReading
    tools: Sequence[Tool] = ()  # of this client
    absent: "Mapping[Key, Obstacle]" = field(default_factory=dict[Key, "Obstacle"])  # programs and files
    unready: "Mapping[Key, Obstacle]" = field(default_factory=dict[Key, "Obstacle"])  # for Remit, too
    trusted: Mapping[Key, TrustedEntry] = field(default_factory=dict[Key, TrustedEntry])
    pending: "Sequence[HeldDefinition]" = ()
    notices: "Sequence[Notice]" = ()  # what weakens an install
    lost: Sequence[
        tuple[str, str]
    ] = ()  # files that an install starts and that do not exist; who starts them

    @property
    def servers(self) -> list[Resolved]:
        """Every declared server, active or not."""
        return [item for item in self.reading.resolved if item.declaration.kind is Kind.MCP_SERVER]

    @property
    def started(self) -> list[Declaration]:
        """The servers that the client starts here."""
        return [
            item.declaration
            for item in self.servers
            if item.declaration.status in RUNS and item.shadowed_by is None
        ]

    @property
    def launches(self) -> list[tuple[Declaration, Launch]]:
        """The servers that the client starts here, with their launches."""
        return [(item, item.launch) for item in self.started if item.launch is not None]

    @property
    def untrusted(self) -> set[Key]:
        """The servers that lack the user's trust; without an install, none needs it."""
        if self.context.face is Face.CLIENT:
            return set()
        return {tool.key for tool in self.tools if tool.is_trusted is False}

    def row(self, item: Declaration) -> Tool | None:
        """Return the stored row of a declaration."""
        return next((tool for tool in self.tools if tool.key == item.key), None)


def read_setups(registry: "Registry", context: Context) -> list[ClientSetup]:
    """Read the files of each client of a context again, with what is known of its servers."""
    from remit.files import this_machine
    from remit.trust import pending
    from remit.upstream import start_obstacles

    machine, directory = this_machine(), context.workspace.dir
    readings = registry.clients.readings(context)
    catalog = registry.catalog(context)
    trusted = registry.store.trust.entries(context.workspace)
    held = pending(registry.store, context)
    return [
        ClientSetup(
            context=context,
            reading=reading,
            tools=[tool for tool in catalog.tools if tool.client == client],
            absent=start_obstacles(reading.declarations, machine, directory, by_remit=False),
            unready=start_obstacles(reading.declarations, machine, directory, by_remit=True),
            trusted=trusted,
            pending=[item for item in held if item.tool.client == client],
            notices=_notices(reading, context._replace(client=client), machine),
            lost=_lost(client, machine),
        )
        for client, reading in readings.items()
    ]


def _lost(client: str, machine: "Machine") -> list[tuple[str, str]]:
    """List the programs of the install records that do not exist, each with the file that starts it."""
    paths = (record_path(client, machine, is_managed=is_managed) for is_managed in (False, True))
    lost: dict[tuple[str, str], None] = {}
    for path in paths:
        try:
            record = load_record(path)
        except FileChangeError:  # a notice tells
            continue
        for file in () if record is None else record.files:
            entries = [as_object(key.value) for key in file.keys]
            handlers = [as_object(handler) for entry in entries for handler in as_list(entry.get("hooks"))]
            for starter in (*entries, *handlers):
                words = [
                    *as_list(starter.get("command")),
                    starter.get("command"),
                    *as_list(starter.get("args")),
                ]
                files = (word for word in words if isinstance(word, str) and os.path.isabs(word))
                lost |= {(word, file.path): None for word in files if not os.path.exists(word)}
    return list(lost)


def _notices(reading: ClientReading, context: Context, machine: "Machine") -> "list[Notice]":
    from remit.hooks import Notice, NoticeKind, installed, weakened

    try:
        install = installed(context, machine)
    except FileChangeError as error:
        return [Notice(NoticeKind.RULES, str(error), f"run `remit install {reading.client}`")]
    if install is None or install.record.level is InstallLevel.CONTEXT:
        return []
    return weakened(reading, context, install)
