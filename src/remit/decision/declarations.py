"""Declarations: entries of clients' configuration files before they are resolved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from remit.decision.agents import AgentProfile
from remit.decision.declared_launch import Launch, Transport
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.permissions.client_permissions import PermissionRule
from remit.decision.problems import Problem
from remit.decision.scopes import Scope
from remit.decision.settings_rules import ASKS_AT_A_TERMINAL, ClientBehavior, ExecutedSetting, SettingsRule
from remit.decision.tool_names import REMIT

Key = tuple[str | None, ...]  # identifies a row


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One entry of one configuration file: a tool, for a client, at a scope."""

    name: str  # canonical: `mcp__git__*` for a server
    kind: Kind
    client: str
    scope: Scope
    source: str  # the path of the file
    project_hash: str | None = None
    dir: str | None = None
    server: str | None = None  # as written in the file
    plugin: str | None = None
    agent: str | None = None  # the agent whose definition declares this server
    endpoint: str | None = None  # digest of its launch, like `digest`
    digest: str | None = None
    launch: Launch | None = field(default=None, repr=False, compare=False)  # in memory only, never stored
    is_remit: bool = False
    description: str | None = None
    profile: AgentProfile | None = None  # of a subagent
    own_status: ConfigStatus | None = None  # set by the entry itself
    # Only for an invalid file: whether a policy denied it when the file was last valid.
    was_denied: bool | None = field(default=None, compare=False)

    @property
    def key(self) -> Key:
        """The unique key of the row, equal to `Tool.key`."""
        place = (self.client, self.kind, self.scope, self.project_hash, self.dir)
        return *place, self.agent, self.server, self.name

    def is_called(self, name: str) -> bool:
        """Return whether a name refers to this declaration, as written in the file or in canonical form."""
        return name in (self.server, self.name, self.name.removesuffix("__*"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A declaration with its status and the declaration that shadows it."""

    declaration: Declaration
    config_status: ConfigStatus
    shadowed_by: Declaration | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The differences between two scans of a workspace."""

    added: Sequence[Declaration] = ()
    removed: Sequence[Declaration] = ()
    changed: Sequence[Declaration] = ()

    def without_remit(self) -> "Changes":
        """Leave out Remit's own entry and server, which come and go with an install."""
        return Changes(
            added=[item for item in self.added if not _is_of_remit(item)],
            removed=[item for item in self.removed if not _is_of_remit(item)],
            changed=[item for item in self.changed if not _is_of_remit(item)],
        )


def _is_of_remit(declaration: Declaration) -> bool:
    return declaration.is_remit or declaration.source == REMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientReading:
    """The declarations and rules in a client's files, and the inputs they came from."""

    client: str
    declarations: Sequence[Declaration]
    rules: Sequence[SettingsRule] = ()
    inputs: dict[str, str]  # each file or variable that was read, with its fingerprint
    unreadable: frozenset[str] = frozenset()  # files that exist but are invalid
    lost: frozenset[Scope] = (
        frozenset()
    )  # scopes that an unreadable file contributes to, whose declarations may be incomplete
    problems: Sequence[Problem] = ()
    files: Sequence[str] = ()  # existing files
    behavior: ClientBehavior = ASKS_AT_A_TERMINAL
    permissions: Sequence[PermissionRule] = ()  # those of its rules that count
    own_rules: Sequence[
        SettingsRule
    ] = ()  # rules that Remit wrote, which the client follows and Remit ignores
    executed: Sequence[ExecutedSetting] = ()  # code of the repository that the client runs
    ignored: Sequence[Declaration] = ()  # servers in files where the client reads none
    gateway_files: frozenset[str] = frozenset()  # with the entry of an install of Remit


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReading:
    """The stored content of files that cannot be read."""

    declarations: Sequence[Declaration]
    rules: Sequence[SettingsRule]
    denied: Mapping[Key, bool]  # whether a policy denied each declaration


def is_served(declaration: Declaration) -> bool:
    """Tell whether Remit can serve a server: not over WebSocket, and not declared by an agent."""
    launch = declaration.launch
    return declaration.agent is None and (launch is None or launch.transport is not Transport.WEBSOCKET)
