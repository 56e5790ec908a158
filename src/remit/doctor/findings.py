"""The input and the results of a diagnosis.

A setup holds launches, which may contain secrets: it stays in memory, and no finding shows their values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.context import Context
from remit.decision.declarations import Declaration, Key, Resolved
from remit.decision.declared_launch import Launch
from remit.decision.definitions.definition_changes import ChangePolicy
from remit.decision.definitions.project_lock import UNKNOWN, ProjectLock
from remit.decision.kinds import Kind
from remit.decision.problems import Problem, Severity
from remit.decision.scopes import Scope
from remit.decision.settings_rules import ExecutedSetting, SettingsRule
from remit.decision.tools import Tool
from remit.files.bounded_reader import this_machine
from remit.memory.memory_server import is_own
from remit.scanning.declaration_lines import LineOf
from remit.trust.held_definitions import WithheldItem
from remit.upstream.launch.installed_packages import installed_package
from remit.upstream.launch.start_obstacles import LaunchFacts, started_servers

if TYPE_CHECKING:
    from remit.catalog.listing import Listings
    from remit.scanning.catalog_source import CatalogSource
    from remit.scanning.scanner import Scanner
    from remit.trust.package_commands import PackageCommand
    from remit.trust.server_sandbox import OpenedPaths


_VERSION = re.compile(r"[\w.+!-]{1,40}")


class PackageVersion(NamedTuple):
    """What this machine knows about the version of a package."""

    version: str | None = None  # None: unknown
    is_fixed: bool = False  # by the project's lock file


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One problem: where, why, and its fix."""

    severity: Severity
    check: str  # which check found it
    source: str  # the file
    subject: str | None = None  # the server, as the file names it
    scope: Scope | None = None
    place: str = ""  # inside the entry, or inside the file without a subject
    reason: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSetup:
    """The configuration of one client in one workspace."""

    context: Context
    resolved: Sequence[Resolved] = ()
    problems: Sequence[Problem] = ()
    tools: Sequence[Tool] = ()  # of this client
    facts: LaunchFacts = field(default_factory=LaunchFacts)
    at: int = 0
    changes: ChangePolicy = ChangePolicy.HARMLESS
    lock: ProjectLock | None = None  # None: the project has none
    withheld: Mapping[Key, Sequence[WithheldItem]] = field(default_factory=dict[Key, Sequence[WithheldItem]])
    trusts: Mapping[Key, str] = field(default_factory=dict[Key, str])  # digests of trusted entries
    rules: Sequence[SettingsRule] = ()
    own_rules: Sequence[SettingsRule] = ()  # written by Remit, which apply to the client only
    executed: Sequence[ExecutedSetting] = ()
    ignored: Sequence[Declaration] = ()  # servers in files where the client reads none
    line_of: LineOf = lambda _path, *_keys: 0
    version_of: Callable[[PackageCommand], PackageVersion] = lambda _: PackageVersion()
    opened: Callable[[Declaration], OpenedPaths | None] = lambda _: None  # by the sandbox of a server

    @property
    def servers(self) -> list[Resolved]:
        """Return every declared server, active or not."""
        return [item for item in self.resolved if item.declaration.kind is Kind.MCP_SERVER]

    @property
    def untrusted(self) -> set[Key]:
        """Return the keys of servers that lack the user's trust; without an install, none needs it."""
        return {tool.key for tool in self.tools if self.own_rules and tool.is_trusted is False}

    @property
    def in_force(self) -> list[Declaration]:
        """Return the servers that the client starts here."""
        return started_servers(self.resolved)

    @property
    def launches(self) -> list[tuple[Declaration, Launch]]:
        """Return the servers that the client starts here, with their launches."""
        return [(item, item.launch) for item in self.in_force if item.launch is not None]


def read_setups(
    scanner: Scanner, listings: Listings, context: Context, at: int, catalog: CatalogSource
) -> list[ClientSetup]:
    """Read the files of each client of a context again, with the facts of the machine about each launch."""
    found = scanner.readings(context)
    judged, listed = listings.list(context)
    tools = [item.tool for item in listed]
    sandboxes = scanner.sandboxes(context)
    withheld = {key: offered.withheld for key, offered in catalog.extras(context).items()}
    return [
        ClientSetup(
            context=context,
            resolved=[item for item in resolved if not is_own(item.declaration)],
            problems=reading.problems,
            rules=reading.rules,
            own_rules=reading.own_rules,
            executed=reading.executed,
            ignored=reading.ignored,
            line_of=scanner.line_of,
            opened=lambda declaration: scanner.opened_paths(declaration, sandboxes, context),
            version_of=lambda command: _version_of(command, context),
            tools=[tool for tool in tools if tool.client == client],
            facts=scanner.facts(resolved, context),
            at=at,
            changes=judged.policy.changes,
            lock=judged.policy.lock,
            withheld=withheld,
            trusts=catalog.trusts(context),
        )
        for client, (reading, resolved) in found.items()
    ]


def _version_of(command: PackageCommand, context: Context) -> PackageVersion:
    machine, root = this_machine(), context.workspace.checkout
    found = installed_package(command, root, machine.variables, machine.home)
    if found is None or _VERSION.fullmatch(found.version) is None:  # a repository may have written it
        return PackageVersion()
    is_fixed = found.integrity != UNKNOWN and found.files.startswith("sha256:")
    return PackageVersion(None if found.version == UNKNOWN else found.version, is_fixed)


def finding_about(
    declaration: Declaration, severity: Severity, check: str, *, reason: str, fix: str, place: str = ""
) -> Finding:
    """Make a finding about a declaration."""
    return Finding(
        severity=severity,
        check=check,
        source=declaration.source,
        place=place,
        subject=declaration.server,
        scope=declaration.scope,
        reason=reason,
        fix=fix,
    )


def fix_for_owner(declaration: Declaration, fix: str) -> str:
    """Address the fix of an entry to its owner: a plugin's entry returns with its next update."""
    if declaration.plugin is None:
        return fix
    return f"ask the author of the plugin `{declaration.plugin}` to {fix}, or disable the plugin"
