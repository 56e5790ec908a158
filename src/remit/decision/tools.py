"""A tool as one workspace sees it: what is stored, with how the client's configuration resolved it there."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.agents import AgentProfile
from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.scopes import Scope

if TYPE_CHECKING:
    from remit.decision.danger import Danger
    from remit.decision.declarations import Key


class Winner(NamedTuple):
    """The declaration that is in force instead of a shadowed one."""

    scope: Scope
    source: str


class Tool(NamedTuple):
    """Anything an agent can invoke, as one row of the catalog.

    A named tuple: a catalog has thousands, and a frozen dataclass takes ten times as long to make.
    """

    name: str
    kind: Kind
    client: str
    scope: Scope
    source: str
    authority: Authority
    project_hash: str | None = None
    dir: str | None = None  # only scope `project`: the directory of the declaring file
    server: str | None = None
    plugin: str | None = None
    agent: str | None = None  # the one that brings this server along
    status: ToolStatus = ToolStatus.ACTIVE
    config_status: ConfigStatus | None = None  # None: no file that was read for this workspace declares it
    shadowed_by: Winner | None = None
    is_trusted: bool | None = None  # None: it needs no trust to be started
    is_unlisted: bool = False  # its server was asked since, and did not list it
    is_outdated: bool = False  # its server's entry changed since the server was asked
    listed_at: int | None = None  # when its server was last asked for its tools
    failure: str | None = None  # why a server did not answer when it was last asked
    digest: str | None = None  # of a server's launch
    description: str | None = None
    profile: AgentProfile | None = None  # of a subagent
    usage_count: int = 0  # a server's is that of its tools
    last_used_at: int | None = None  # Unix milliseconds, as all times here
    discovered_at: int = 0
    updated_at: int = 0
    endpoint: str | None = None  # a digest: servers with the same one are the same program or URL
    tokens: int | None = None  # what sending its definition costs; a server's is that of its tools
    outcomes: str = ""  # of its last calls in the project that asks; see `is_demoted`
    document_id: int | None = None  # what search reads of it, once it was made ready for search
    danger: "Danger | None" = None  # what its server says of it; None: nothing
    is_held_back: bool = False  # the gateway lists it only once it is used or wanted

    @property
    def key(self) -> "Key":
        """What makes its row one of a kind, as `Declaration.key`."""
        place = (self.client, self.kind, self.scope, self.project_hash, self.dir)
        return *place, self.agent, self.server, self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What a server says of one of its tools; stored once by content, whoever uses it."""

    name: str  # canonical
    server: str | None = None
    tool: str | None = None  # as the server itself names it
    title: str | None = None
    description: str | None = None
    input_schema: str | None = None  # canonical JSON text, as are the next two
    output_schema: str | None = None
    annotations: str | None = None
    raw: str | None = None  # all of it as it came, also what is of no use here; it is served so


DEMOTING_FAILURES = 3


def is_demoted(outcomes: str) -> bool:
    """Tell whether a tool with these outcomes ranks below others."""
    return outcomes.endswith("-") and outcomes.count("-") >= DEMOTING_FAILURES


def demotion_reason(outcomes: str) -> str:
    """Say what demoted a tool."""
    return f"{outcomes.count('-')} of its last {len(outcomes)} calls here failed"
