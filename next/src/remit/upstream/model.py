"""The servers that may be called, made in one place: a decided row, its permit, its options."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from remit.config import Sandbox, ServerOptions
from remit.decision import (
    Context,
    Declaration,
    Failure,
    Key,
    Kind,
    Launch,
    Offer,
    Resolved,
    ToolDecision,
    tool_name,
)
from remit.store import TrustedEntry
from remit.trust import StartPermit, permit_start

DEADLINE = 60.0  # seconds to start and to list
PATIENCE = 600.0  # seconds for a call without an answer or progress; a tool may run for long


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A server to start or to reach, with the permit to do so."""

    key: Key  # of its declaration
    label: str  # the server's name, as written in the file
    client: str
    source: str  # the file of its entry
    permit: StartPermit | None = field(compare=False)  # None: Remit's own server, which starts nothing
    plugin: str | None = None
    deadline: float = DEADLINE
    patience: float = PATIENCE
    shared: bool | None = None  # whether all callers share a session; None: if it keeps no state
    # Variables: all, the necessary ones, or these as well.
    inherits: bool | tuple[str, ...] = True
    wrap: tuple[str, ...] = ()  # the program that starts it, before its own command
    sandbox: Sandbox | None = None
    root: str = ""  # the project to which the paths of its sandbox are relative
    version: str | None = field(default=None, compare=False)  # of the protocol, as it answered before

    @property
    def launch(self) -> Launch:
        """The launch that its permit is for, with unexpanded variables."""
        return Launch() if self.permit is None else self.permit.launch

    @property
    def directory(self) -> str:
        """The directory that it starts in."""
        return "" if self.permit is None else self.permit.directory

    def is_started_like(self, other: "Upstream") -> bool:
        """Return whether another upstream is started, and used, in the same way."""
        if self is other:
            return True
        return self == other and (self.launch, self.directory) == (other.launch, other.directory)

    def canonical(self, tool: str) -> str:
        """Return the canonical name of one of its tools."""
        return tool_name(self.label, tool, self.plugin)


def make_upstreams(
    resolved: Iterable[Resolved],
    rows: Iterable[ToolDecision],
    context: Context,
    options: Callable[[Declaration], ServerOptions],
    trusted: Mapping[Key, TrustedEntry],
    offers: Mapping[Key, Offer] | None = None,
) -> Mapping[Key, Upstream]:
    """Make the upstreams of the decided servers that may be started, from the entries as they were just read.

    `offers` are what the servers answered before; their protocol is tried first.
    """
    declared = {item.declaration.key: item.declaration for item in resolved}
    upstreams: dict[Key, Upstream] = {}
    for row in rows:
        declaration = declared.get(row.tool.key)
        if row.tool.kind is Kind.MCP_SERVER and row.decision.is_available and declaration is not None:
            known = (offers or {}).get(declaration.key)
            version = None if known is None else known.protocol_version
            upstream = _upstream(declaration, context, options(declaration), trusted, version)
            if upstream is not None:
                upstreams[declaration.key] = upstream
    return upstreams


def _upstream(
    declaration: Declaration,
    context: Context,
    options: ServerOptions,
    trusted: Mapping[Key, TrustedEntry],
    version: str | None,
) -> Upstream | None:
    workspace = context.workspace
    permit = permit_start(declaration, workspace, home=context.home, trusted=trusted, options=options)
    if permit is None or not declaration.is_served:
        return None
    inherits = options.inherit_env
    return Upstream(
        key=declaration.key,
        label=declaration.server or declaration.name,
        client=declaration.client,
        source=declaration.source,
        permit=permit,
        plugin=declaration.plugin,
        patience=options.deadline or PATIENCE,
        shared=options.shared,
        inherits=(not permit.is_projects and options.sandbox is None) if inherits is None else inherits,
        wrap=options.wrap,
        sandbox=options.sandbox,
        root="" if options.sandbox is None else workspace.dir,
        version=version,
    )


class Health(StrEnum):
    """The health of an upstream."""

    IDLE = "idle"  # the first call starts it
    STARTING = "starting"
    UP = "up"
    DOWN = "down"  # it failed; the next call tries again, perhaps after a pause
    BROKEN = "broken"  # it failed so often that calls fail at once for a while


class UpstreamStatus(NamedTuple):
    """The status of one upstream."""

    key: Key
    label: str
    health: Health
    sessions: int = 0
    calls: int = 0
    errors: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None
    failure: Failure | None = None
    protocol_version: str | None = None
    restarts: int = 0  # after a failure
    output: Sequence[str] = ()  # the last lines of stderr, without secrets
