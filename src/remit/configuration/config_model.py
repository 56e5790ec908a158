"""The model of a configuration file: states, rules for tools, lists, access, and key positions.

Named tuples, because every command loads these and dataclasses are ten times slower to create.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal, NamedTuple

from remit.configuration.detector_kinds import Detector
from remit.decision.definitions.project_lock import ProjectLock
from remit.decision.projects import Workspace
from remit.decision.requirements import LocationScope, StateScope

KeyPath = tuple[str, ...]  # the keys that lead to a value
PRINCIPAL = "principal"
CREDENTIALS = ("machine", PRINCIPAL)  # whose credentials a server is used with


class Role(StrEnum):
    """A role in a project; each includes those before it."""

    READER = "reader"  # list and search tools
    USER = "user"  # call them
    APPROVER = "approver"  # answer the approvals of the project
    ADMIN = "admin"  # change its policy

    @property
    def rank(self) -> int:
        """Its place in the order, from the weakest."""
        return _RANKS[self]

    def includes(self, other: "Role") -> bool:
        """Check whether it may do all that another may."""
        return self.rank >= other.rank


_RANKS = {role: rank for rank, role in enumerate(Role)}


class SignInClient(NamedTuple):
    """How the pages of a gateway sign people in at the issuer."""

    client_id: str
    public_url: str  # the origin at which browsers reach the gateway
    secret_file: str | None = None
    scopes: tuple[str, ...] = ("openid",)
    audience_parameter: str = "resource"  # what tells the issuer the audience of the token; "none": nothing

    @property
    def is_secure(self) -> bool:
        """Whether browsers come over TLS."""
        return self.public_url.startswith("https://")


class IdentityProvider(NamedTuple):
    """The issuer whose access tokens a gateway accepts."""

    issuer: str
    audience: tuple[str, ...]  # a token must be for one of them
    jwks: str | None = None  # the address of its keys; None: as its metadata says
    name_claim: str = "sub"
    groups_claim: str = "groups"
    sign_in: SignInClient | None = None  # None: people paste a token


class AccessRule(NamedTuple):
    """A role that a group or a person has in some projects."""

    role: Role
    projects: tuple[str, ...]  # paths, names in URLs or hashes; `*`: every project
    group: str | None = None
    principal: str | None = None


class CallLimits(NamedTuple):
    """What one principal may use of a gateway; None: as much as there is."""

    calls_per_minute: int | None = None
    concurrent_calls: int | None = None
    endpoints: int | None = None


UNLIMITED = CallLimits()


class ConfigurationLayer(StrEnum):
    """The owner of a file, weakest first."""

    BUILTIN = "builtin"
    MACHINE = "machine"  # the user's, for all projects
    TEAM = "team"  # of the projects of a team, in a shared store
    LOCK = "lock"  # a project's lock
    PROJECT = "project"  # shared in the repository
    LOCAL = "local"  # the user's own, next to the shared file
    MANAGED = "managed"  # an administrator's


OF_A_PROJECT = frozenset(
    {ConfigurationLayer.LOCK, ConfigurationLayer.PROJECT, ConfigurationLayer.LOCAL}
)  # in the repository, so others may edit them


ANY_PROJECT = "*"  # in the `projects` of a table


class StateEntry(NamedTuple):
    """A state as a file declares it."""

    name: str
    kind: str
    description: str = ""
    detector: Detector | None = None
    implies: tuple[str, ...] = ()
    on: tuple[str, ...] = ()  # tools whose success sets it
    off: tuple[str, ...] = ()  # tools whose success clears it
    agents: bool = False  # whether agents may run the commands that set, clear or push it


class ToolEntry(NamedTuple):
    """A file's table for a pattern of tools."""

    pattern: str
    states: StateScope | None = None
    when: str | None = None
    location: LocationScope | None = None
    namespace: str | None = None
    danger: str | None = None
    approval: bool | None = None
    ai_enabled: bool | None = None
    result_budget: int | None = None  # tokens of one result; 0: no limit

    @property
    def has_condition(self) -> bool:
        """Whether it has required states, a `when` or a location."""
        return bool(self.condition_keys)

    @property
    def condition_keys(self) -> tuple[str, ...]:
        """The keys of its required states, its `when` and its location."""
        return tuple(key for key in ("states", "when", "location") if getattr(self, key) is not None)


class Strategy(StrEnum):
    """How the gateway lists visible tools; `presentation/listing_strategies.py` has a function for each."""

    AUTO = "auto"
    FLAT = "flat"
    STATE = "state"
    NAMESPACE = "namespace"
    ROOMS = "rooms"
    MANIFEST = "manifest"
    SEARCH = "search"


class ServerOptions(NamedTuple):
    """How the gateway runs and names a server; None means the default."""

    prefix: bool | None = None  # whether to prefix its tools with its name
    sessions: str | None = None
    inherit_env: bool | tuple[str, ...] | None = None
    deadline: float | None = None  # seconds per request
    credentials: str | None = None  # whose it is used with


class PresentationOptions(NamedTuple):
    """How visible tools are presented; None means not set."""

    strategy: str | None = None
    token_budget: int | None = None


class SandboxOptions(NamedTuple):
    """What a server may reach when Remit starts it in a sandbox."""

    network: bool = False
    read: tuple[str, ...] = ()  # paths, relative to the project
    write: tuple[str, ...] = ()
    unix_sockets: bool = False


class AccessLists(NamedTuple):
    """The allow and block lists of a server, of an agent, or for everyone."""

    name: str
    allow: tuple[str, ...] | None = None  # None: all; empty: none
    block: tuple[str, ...] = ()
    trusted: bool | None = None  # for a server: whether its annotations are trusted
    options: ServerOptions | None = None  # for a server: how the gateway runs it
    sandbox: SandboxOptions | Literal[False] | None = None  # for a server; False: none by this file
    result_budget: int | None = None  # for a server: tokens of one result; 0: no limit
    projects: tuple[str, ...] = ()  # whose own servers of this name it may also permit something
    presentation: PresentationOptions = PresentationOptions()  # for an agent


class Room(NamedTuple):
    """A named group of tools for one kind of work."""

    name: str
    description: str = ""
    tools: tuple[str, ...] = ()
    presentation: PresentationOptions = PresentationOptions()


class Namespace(NamedTuple):
    """A group of tools that are presented together."""

    name: str
    description: str = ""


class SessionOptions(NamedTuple):
    """What an agent receives at the start of a session, and whether it gets suggestions."""

    characters: int | None = None  # total
    tokens: int | None = None  # total
    tools: int | None = None  # characters for tools
    hints: bool | None = None  # whether to suggest tools
    shared_patterns: bool | None = None  # whether to use patterns of other projects
    observes: bool | None = None  # whether to store observations of calls in memory


class RetentionOptions(NamedTuple):
    """For how many milliseconds the store keeps what; None means not set."""

    audit: int | None = None
    usage: int | None = None


class ConfigurationContent(NamedTuple):
    """The content of one file."""

    strategy: str | None = None
    token_budget: int | None = None
    result_budget: int | None = None  # tokens of one result; 0: no limit
    promote: str | None = None  # when a tool that was found and called is listed
    pinned: tuple[str, ...] = ()  # tools that are always listed
    own_tools: tuple[str, ...] | None = None  # Remit's own tools to serve; None: all
    env: tuple[str, ...] = ()  # environment variables that conditions may use
    states: tuple[StateEntry, ...] = ()
    tools: tuple[ToolEntry, ...] = ()
    servers: tuple[AccessLists, ...] = ()
    agents: tuple[AccessLists, ...] = ()
    rooms: tuple[Room, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    everyone: AccessLists = AccessLists("")
    mode: str | None = None
    ask_from: str | None = None
    notifications: bool | None = None  # whether the desktop shows that a call waits for approval
    session: SessionOptions = SessionOptions()
    memory: str | None = None  # how to serve the memory tools
    filters: tuple[str, ...] = ()  # Python files with filters, by absolute path
    memory_projects: tuple[str, ...] | None = None  # memories that every project may use
    names_store: bool = False  # whether it says where the store is; its address is never kept
    retention: RetentionOptions = RetentionOptions()  # only of a user's or an administrator's file
    changes: str | None = None  # which changed definitions are accepted
    identity: IdentityProvider | None = None  # whose access tokens a gateway accepts
    access: tuple[AccessRule, ...] = ()
    limits: CallLimits = UNLIMITED  # per principal
    lock: ProjectLock | None = None  # only of a lock


class ConfigurationMistake(NamedTuple):
    """A mistake in a file, with the keys that lead to it."""

    path: KeyPath
    message: str
    hint: str | None = None
    line: int = 0  # line within the value, from 1; 0: the whole value
    column: int = 0


class ConfigurationFile(NamedTuple):
    """A configuration file, which may not exist."""

    layer: ConfigurationLayer
    path: str
    dir: str | None = None  # for a project's file: the base of its relative paths


class TomlDocument(NamedTuple):
    """A parsed file: its content, or its problem."""

    content: object = None
    places: Mapping[str, Sequence[int]] = {}
    problem: str = ""
    place: str = ""  # position of the problem
    may_grow: bool = False  # empty and just changed, so an editor may still be writing it


class LoadedFile(NamedTuple):
    """A file with its content, or with its last valid content if it is invalid now."""

    file: ConfigurationFile
    content: ConfigurationContent
    places: Mapping[
        str, Sequence[int]
    ] = {}  # by keys joined with `KEY_SEPARATOR`: line and column of the key, then of the value
    is_unread: bool = False  # it exists and was never valid


KEY_SEPARATOR = "\0"


def key_path(path: KeyPath) -> str:
    """Write keys in TOML syntax."""
    return ".".join(f'"{key}"' if "." in key or "*" in key else key for key in path)


def base_dirs(file: ConfigurationFile, workspace: Workspace) -> tuple[str, ...]:
    """List the directories that a file's relative paths may start from, nearest first."""
    if file.dir is not None:
        return (file.dir,)
    return tuple(dict.fromkeys((workspace.dir, workspace.checkout)))


class StoredFile(NamedTuple):
    """A configuration file as last read; its texts are JSON."""

    source: str
    fingerprint: str
    content: str
    places: str
    problems: str


class StoredConfiguration(NamedTuple):
    """The stored configuration of a workspace."""

    inputs: Mapping[str, str]  # fingerprints by file
    problems: Sequence[Sequence[str]]  # source, place, reason
    transitions: Sequence[Sequence[str | bool]]  # pattern, state, truth
    observes: bool = True  # whether to store observations of calls in memory
    retention: Mapping[str, int] = {}  # milliseconds by what is kept, where a file says so
