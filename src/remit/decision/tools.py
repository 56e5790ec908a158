"""Tools as one workspace sees them: the stored row with its resolved configuration."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.agents import AgentProfile
from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.scopes import Scope

if TYPE_CHECKING:
    from remit.decision.danger import Danger
    from remit.decision.declarations import Key


class Winner(NamedTuple):
    """The declaration that shadows another."""

    scope: Scope
    source: str


class Tool(NamedTuple):
    """Anything an agent can invoke: one row of the catalog.

    A named tuple, because a catalog has thousands and a frozen dataclass is ten times slower to create.
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
    agent: str | None = None  # the agent whose definition declares this server
    status: ToolStatus = ToolStatus.ACTIVE
    config_status: ConfigStatus | None = None  # None: no file of this workspace declares it
    shadowed_by: Winner | None = None
    is_trusted: bool | None = None  # None: it needs no trust
    is_unlisted: bool = False  # its server no longer lists it
    is_outdated: bool = False  # its server's entry changed since the last listing
    listed_at: int | None = None  # when its server last listed its tools
    failure: str | None = None  # why the last listing failed
    digest: str | None = None  # of a server's launch
    description: str | None = None
    profile: AgentProfile | None = None  # of a subagent
    usage_count: int = 0  # of a server: the sum over its tools
    last_used_at: int | None = None  # all times are Unix milliseconds
    discovered_at: int = 0
    updated_at: int = 0
    endpoint: str | None = None  # a digest: servers with the same one are the same program or URL
    tokens: int | None = None  # what sending its definition costs; a server's is that of its tools
    outcomes: str = ""  # of its last calls in this project; see `is_demoted`
    document_id: int | None = None  # its search document, once indexed
    danger: "Danger | None" = None  # from its annotations; None: no hints
    is_held_back: bool = False  # the gateway lists it only once it is used or wanted

    @property
    def key(self) -> "Key":
        """The unique key of its row, equal to `Declaration.key`."""
        place = (self.client, self.kind, self.scope, self.project_hash, self.dir)
        return *place, self.agent, self.server, self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A tool's definition from its server, stored once by content."""

    name: str  # canonical
    server: str | None = None
    tool: str | None = None  # as the server itself names it
    title: str | None = None
    description: str | None = None
    input_schema: str | None = None  # canonical JSON text, as are the next two
    output_schema: str | None = None
    annotations: str | None = None
    raw: str | None = None  # the full definition as received, served unchanged


DEMOTING_FAILURES = 3


def is_demoted(outcomes: str) -> bool:
    """Tell whether a tool ranks lower: three of its last five calls failed, including the last.

    Outcomes are at most five signs, `+` for success and `-` for failure, oldest first. Calls with an unknown
    outcome are left out.
    """
    return outcomes.endswith("-") and outcomes.count("-") >= DEMOTING_FAILURES


def demotion_reason(outcomes: str) -> str:
    """Say why a tool is demoted."""
    return f"{outcomes.count('-')} of its last {len(outcomes)} calls here failed"
