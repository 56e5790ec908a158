"""Declarations: what clients' configuration files say, before it is worked out which of it is in force."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from remit.decision.agents import AgentProfile
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.launch import Launch
from remit.decision.scopes import Scope

Key = tuple[str | None, ...]  # of a row


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One entry of one config file: this tool, for this client, at this scope."""

    name: str  # canonical: `mcp__git__*` for a server
    kind: Kind
    client: str
    scope: Scope
    source: str  # the file's path
    project_hash: str | None = None
    dir: str | None = None
    server: str | None = None  # as written in the file
    plugin: str | None = None
    agent: str | None = None  # the one that brings this server along
    endpoint: str | None = None  # of its launch, as is the digest
    digest: str | None = None
    launch: Launch | None = field(default=None, repr=False, compare=False)  # while it is read, never stored
    is_remit: bool = False
    description: str | None = None
    profile: AgentProfile | None = None  # of a subagent
    own_status: ConfigStatus | None = None  # what its own entry or record makes of it, where it does
    # Only while a file is broken: whether a policy denied it when all could be read.
    was_denied: bool | None = field(default=None, compare=False)

    @property
    def key(self) -> Key:
        """What makes its row one of a kind: as in the index of the table, and as `Tool.key`."""
        place = (self.client, self.kind, self.scope, self.project_hash, self.dir)
        return *place, self.agent, self.server, self.name

    def is_called(self, name: str) -> bool:
        """Tell whether a person may mean it by a name: as written in the file, or as rows have it."""
        return name in (self.server, self.name, self.name.removesuffix("__*"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A declaration with what became of it."""

    declaration: Declaration
    config_status: ConfigStatus
    shadowed_by: Declaration | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a scan found different from the last one of the same workspace."""

    added: Sequence[Declaration] = ()
    removed: Sequence[Declaration] = ()
    changed: Sequence[Declaration] = ()
