"""The model of a configuration file: states, rules for tools, lists, and their positions.

Named tuples, because every command loads these and a dataclass is ten times slower to create.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from remit.conditions.count_comparison import Comparison
from remit.decision.projects import Workspace

Scalar = str | int | float | bool
KeyPath = tuple[str, ...]  # the keys that lead to a value in a file


class ConfigurationLayer(StrEnum):
    """Whose file it is, weakest first."""

    BUILTIN = "builtin"
    MACHINE = "machine"  # the user's, for all projects
    PROJECT = "project"  # shared in the repository
    LOCAL = "local"  # next to it, for one user
    MANAGED = "managed"  # an administrator's


OF_A_PROJECT = frozenset(
    {ConfigurationLayer.PROJECT, ConfigurationLayer.LOCAL}
)  # they are in the repository, so others may edit them


class DetectorKind(StrEnum):
    """How a state is detected; also the key that declares the detector."""

    FILE = "file"
    DIRECTORY = "directory"
    GLOB = "glob"
    GIT = "git"
    ENV = "env"
    VALUE = "value"
    COMMAND = "command"
    HTTP = "http"
    ENTITIES = "entities"
    PUSH = "push"


class GitFact(StrEnum):
    """The facts about a git checkout that a state can use."""

    REPOSITORY = "repository"
    BRANCH = "branch"
    DETACHED = "detached"
    MERGING = "merging"
    REBASING = "rebasing"
    DIRTY = "dirty"
    CLEAN = "clean"


ASKS_GIT = frozenset({GitFact.DIRTY, GitFact.CLEAN})  # these start git


class Strategy(StrEnum):
    """How the gateway presents the visible tools; `presentation.strategies` has a function for each."""

    AUTO = "auto"
    FLAT = "flat"
    STATE = "state"
    NAMESPACE = "namespace"
    ROOMS = "rooms"
    MANIFEST = "manifest"
    SEARCH = "search"


class Detector(NamedTuple):
    """How to detect a state; only the fields of its kind are set."""

    kind: DetectorKind
    paths: tuple[str, ...] = ()  # of a file or directory: any one is enough
    glob: str = ""
    amount: Comparison | None = None  # the expected count
    fact: GitFact | None = None
    branch: str = ""  # a pattern
    variable: str = ""
    equals: Scalar | None = None  # None: any value
    keys: KeyPath = ()  # the path to a value in a file
    argv: tuple[str, ...] = ()
    exits: tuple[int, ...] = (0,)
    url: str = ""
    statuses: tuple[int, ...] = ()  # none: any 2xx
    database: str = ""
    table: str = ""
    timeout: float = 0.0  # seconds
    lifetime: float = 0.0  # seconds for which a result is cached

    @property
    def runs(self) -> bool:
        """Whether it starts a program or connects to a server."""
        return self.kind in (DetectorKind.COMMAND, DetectorKind.HTTP) or self.fact in ASKS_GIT

    @property
    def counts(self) -> bool:
        """Whether it has a count that conditions may use."""
        return self.kind is DetectorKind.ENTITIES or self.amount is not None


class StateEntry(NamedTuple):
    """One state as a file declares it."""

    name: str
    kind: str
    description: str = ""
    detector: Detector | None = None
    implies: tuple[str, ...] = ()
    on: tuple[str, ...] = ()  # tools whose success sets it
    off: tuple[str, ...] = ()  # tools whose success clears it


class RequiredStates(NamedTuple):
    """The states that a tool requires, as `StateScope`."""

    all: tuple[str, ...] = ()
    any: tuple[str, ...] | None = None
    none: tuple[str, ...] = ()


class RequiredLocation(NamedTuple):
    """The location that a tool requires, as `LocationScope`."""

    pages: tuple[str, ...] | None = None
    routes: tuple[str, ...] | None = None
    components: tuple[str, ...] | None = None
    elements: tuple[str, ...] | None = None


class ToolEntry(NamedTuple):
    """The table of a file for a pattern of tools."""

    pattern: str
    states: RequiredStates | None = None
    when: str | None = None
    location: RequiredLocation | None = None
    namespace: str | None = None
    danger: str | None = None
    approval: bool | None = None
    ai_enabled: bool | None = None

    @property
    def has_condition(self) -> bool:
        """Whether it has states, a `when` or a location."""
        return not (self.states is None and self.when is None and self.location is None)


class ServerOptions(NamedTuple):
    """How the gateway runs and names a server; None: the default."""

    prefix: bool | None = None  # whether its tools are served with its name as prefix
    sessions: str | None = None
    inherit_env: bool | tuple[str, ...] | None = None
    deadline: float | None = None  # seconds for one request


class PresentationOptions(NamedTuple):
    """How visible tools are presented; None: not set here."""

    strategy: str | None = None
    token_budget: int | None = None


class AccessLists(NamedTuple):
    """The allow and block lists of a server, an agent, or everyone."""

    name: str
    allow: tuple[str, ...] | None = None  # None: all; empty: none
    block: tuple[str, ...] = ()
    trusted: bool | None = None  # of a server: whether its annotations are trusted
    options: ServerOptions | None = None  # of a server: how the gateway runs it
    presentation: PresentationOptions = PresentationOptions()  # of an agent


class Room(NamedTuple):
    """A named group of tools for one kind of work."""

    name: str
    description: str = ""
    tools: tuple[str, ...] = ()
    presentation: PresentationOptions = PresentationOptions()


class SessionOptions(NamedTuple):
    """What an agent gets at the start of a session, and as suggestions."""

    characters: int | None = None  # in all
    tokens: int | None = None  # in all
    tools: int | None = None  # characters about tools
    hints: bool | None = None  # whether to suggest tools
    shared_patterns: bool | None = None  # whether patterns of other projects count
    observes: bool | None = None  # whether memory observes calls


class ConfigurationContent(NamedTuple):
    """The content of one file."""

    strategy: str | None = None
    token_budget: int | None = None
    pinned: tuple[str, ...] = ()  # tools that are always listed
    own_tools: tuple[str, ...] | None = None  # Remit's own tools that are served; None: all
    env: tuple[str, ...] = ()  # environment variables that conditions may use
    states: tuple[StateEntry, ...] = ()
    tools: tuple[ToolEntry, ...] = ()
    servers: tuple[AccessLists, ...] = ()
    agents: tuple[AccessLists, ...] = ()
    rooms: tuple[Room, ...] = ()
    everyone: AccessLists = AccessLists("")
    mode: str | None = None
    ask_from: str | None = None
    session: SessionOptions = SessionOptions()
    memory: str | None = None  # how memory tools are served


class ConfigurationMistake(NamedTuple):
    """A mistake in a file, with the keys that lead to it."""

    path: KeyPath
    message: str
    hint: str | None = None
    line: int = 0  # inside the value, from 1; 0: the whole value
    column: int = 0


class ConfigurationFile(NamedTuple):
    """A configuration file, which may not exist."""

    layer: ConfigurationLayer
    path: str
    dir: str | None = None  # of a project's file: the base of its relative paths


class TomlDocument(NamedTuple):
    """A parsed file: its content, or the problem with it."""

    content: object = None
    places: Mapping[str, Sequence[int]] = {}
    problem: str = ""
    place: str = ""  # of the problem
    may_grow: bool = False  # it is empty and was just changed: an editor may still be writing it


class LoadedFile(NamedTuple):
    """A file with its content; for an invalid file, the last valid content."""

    file: ConfigurationFile
    content: ConfigurationContent
    places: Mapping[
        str, Sequence[int]
    ] = {}  # by keys joined with `KEY_SEPARATOR`: line, column, and those of the value
    is_unread: bool = False  # it exists and was never valid


KEY_SEPARATOR = "\0"


def key_path(path: KeyPath) -> str:
    """Write keys as in a TOML file."""
    return ".".join(f'"{key}"' if "." in key or "*" in key else key for key in path)


def base_dirs(file: ConfigurationFile, workspace: Workspace) -> tuple[str, ...]:
    """List the directories that a file's relative paths may start from, nearest first."""
    if file.dir is not None:
        return (file.dir,)
    return tuple(dict.fromkeys((workspace.dir, workspace.checkout)))


class StoredFile(NamedTuple):
    """A configuration file as it was last read; the texts are JSON."""

    source: str
    fingerprint: str
    content: str
    places: str
    problems: str


class StoredConfiguration(NamedTuple):
    """The stored configuration of a workspace."""

    inputs: Mapping[str, str]  # each file with its fingerprint
    problems: Sequence[Sequence[str]]  # source, place, reason
    transitions: Sequence[Sequence[str | bool]]  # pattern, state, truth
    observes: bool = True  # whether memory observes calls
