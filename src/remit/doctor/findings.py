"""What a diagnosis works on, and what it finds.

A patient holds launches, which may hold secrets: it lives in memory, and no finding shows a value of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from remit.decision.context import Context
from remit.decision.declarations import Declaration, Resolved
from remit.decision.kinds import Kind
from remit.decision.launch import Launch
from remit.decision.problems import Problem, Severity
from remit.decision.scopes import Scope
from remit.decision.settings_rules import SettingsRule
from remit.decision.tools import Tool
from remit.upstream.launch.launch_facts import LaunchFacts
from remit.upstream.launch.start_obstacles import started_servers


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to mend: what, where, why, and how."""

    severity: Severity
    check: str  # which check found it
    source: str  # the file
    place: str = ""  # inside the entry, or inside the file where there is no subject
    subject: str | None = None  # the server, as the file names it
    scope: Scope | None = None
    reason: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """All that is known of one client's configuration in one workspace."""

    context: Context
    resolved: Sequence[Resolved] = ()
    problems: Sequence[Problem] = ()
    tools: Sequence[Tool] = ()  # of this client
    facts: LaunchFacts = field(default_factory=LaunchFacts)
    at: int = 0
    rules: Sequence[SettingsRule] = ()
    own_rules: Sequence[SettingsRule] = ()  # those that Remit wrote, which count for the client alone

    @property
    def servers(self) -> list[Resolved]:
        """Every declared server, in force or not."""
        return [item for item in self.resolved if item.declaration.kind is Kind.MCP_SERVER]

    @property
    def in_force(self) -> list[Declaration]:
        """The servers that the client starts here."""
        return started_servers(self.resolved)

    @property
    def launches(self) -> list[tuple[Declaration, Launch]]:
        """The servers that the client starts here, with how; a file that is broken now has none."""
        return [(item, item.launch) for item in self.in_force if item.launch is not None]


def about(
    declaration: Declaration, severity: Severity, check: str, *, reason: str, fix: str, place: str = ""
) -> Finding:
    """Find something about a declaration."""
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


def to_its_owner(declaration: Declaration, fix: str) -> str:
    """Address a mend of an entry: what a plugin brings comes back with its next update."""
    if declaration.plugin is None:
        return fix
    return f"ask the author of the plugin `{declaration.plugin}` to {fix}, or switch the plugin off"
