"""What Remit's own configuration says: states, rules for tools, and where each was said.

Named tuples, not dataclasses: every command reads these, and a dataclass takes ten times as long to make.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from remit.conditions.count_comparison import Comparison
from remit.decision.projects import Workspace

Scalar = str | int | float | bool
KeyPath = tuple[str, ...]  # the keys that lead to a place in a file


class ConfigurationLayer(StrEnum):
    """Whose file it is, the weakest first."""

    BUILTIN = "builtin"
    MACHINE = "machine"  # the user's, for all projects
    PROJECT = "project"  # shared in the repository
    LOCAL = "local"  # beside it, for one user
    MANAGED = "managed"  # an administrator's


OF_A_PROJECT = frozenset(
    {ConfigurationLayer.PROJECT, ConfigurationLayer.LOCAL}
)  # they lie in the repository: others may edit them


class DetectorKind(StrEnum):
    """How a state is found out; also the key that declares it."""

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
    """What can be asked of git."""

    REPOSITORY = "repository"
    BRANCH = "branch"
    DETACHED = "detached"
    MERGING = "merging"
    REBASING = "rebasing"
    DIRTY = "dirty"
    CLEAN = "clean"


ASKS_GIT = frozenset({GitFact.DIRTY, GitFact.CLEAN})  # git itself is started for these


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
    """How to find out whether a state holds; only what its kind needs is given."""

    kind: DetectorKind
    paths: tuple[str, ...] = ()  # of a file or directory: one of them is enough
    glob: str = ""
    amount: Comparison | None = None  # how many there should be
    fact: GitFact | None = None
    branch: str = ""  # a pattern
    variable: str = ""
    equals: Scalar | None = None  # None: it need only be there
    keys: KeyPath = ()  # the way to a value in a file
    argv: tuple[str, ...] = ()
    exits: tuple[int, ...] = (0,)
    url: str = ""
    statuses: tuple[int, ...] = ()  # none: any of the 200s
    database: str = ""
    table: str = ""
    timeout: float = 0.0  # seconds
    lifetime: float = 0.0  # seconds for which an answer is kept

    @property
    def runs(self) -> bool:
        """Whether it starts a program or reaches a server."""
        return self.kind in (DetectorKind.COMMAND, DetectorKind.HTTP) or self.fact in ASKS_GIT

    @property
    def counts(self) -> bool:
        """Whether it counts something that conditions may ask about."""
        return self.kind is DetectorKind.ENTITIES or self.amount is not None


class StateEntry(NamedTuple):
    """One state as a file declares it."""

    name: str
    kind: str
    description: str = ""
    detector: Detector | None = None
    implies: tuple[str, ...] = ()
    on: tuple[str, ...] = ()  # patterns of tools whose success sets it
    off: tuple[str, ...] = ()  # and of those whose success clears it


class RequiredStates(NamedTuple):
    """The states that a tool asks for, as `StateScope`."""

    all: tuple[str, ...] = ()
    any: tuple[str, ...] | None = None
    none: tuple[str, ...] = ()


class RequiredLocation(NamedTuple):
    """Where in an application a tool belongs, as `LocationScope`."""

    pages: tuple[str, ...] | None = None
    routes: tuple[str, ...] | None = None
    components: tuple[str, ...] | None = None
    elements: tuple[str, ...] | None = None


class ToolEntry(NamedTuple):
    """What a file says of the tools that a pattern covers."""

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
        """Whether it asks for anything that may hold or not."""
        return not (self.states is None and self.when is None and self.location is None)


class ServerOptions(NamedTuple):
    """How the gateway runs and names a server; None: as usual."""

    prefix: bool | None = None  # whether its name is put before its tools' names
    sessions: str | None = None
    inherit_env: bool | tuple[str, ...] | None = None
    deadline: float | None = None  # seconds for one request


class PresentationOptions(NamedTuple):
    """How visible tools are presented; None: as is said elsewhere."""

    strategy: str | None = None
    token_budget: int | None = None


class AccessLists(NamedTuple):
    """Which tools of a server, or for an agent, may be used."""

    name: str
    allow: tuple[str, ...] | None = None  # None: all; empty: none
    block: tuple[str, ...] = ()
    trusted: bool | None = None  # of a server: whether what it says of its tools is believed
    options: ServerOptions | None = None  # of a server: how the gateway runs it
    presentation: PresentationOptions = PresentationOptions()  # of an agent


class Room(NamedTuple):
    """Tools that belong together for one kind of work."""

    name: str
    description: str = ""
    tools: tuple[str, ...] = ()
    presentation: PresentationOptions = PresentationOptions()


class SessionOptions(NamedTuple):
    """What an agent is told at the start of a session, and by hints."""

    characters: int | None = None  # in all
    tokens: int | None = None  # in all
    tools: int | None = None  # characters that are about tools
    hints: bool | None = None  # whether tools are suggested
    shared_patterns: bool | None = None  # whether what followed what in other projects counts, by name
    observes: bool | None = None  # whether what calls leave behind is kept, and told


class ConfigurationContent(NamedTuple):
    """All that one file says."""

    strategy: str | None = None
    token_budget: int | None = None
    pinned: tuple[str, ...] = ()  # patterns of tools that are always listed
    own_tools: tuple[str, ...] | None = None  # those of Remit's own that are served; None: all
    env: tuple[str, ...] = ()  # variables whose values conditions may ask about
    states: tuple[StateEntry, ...] = ()
    tools: tuple[ToolEntry, ...] = ()
    servers: tuple[AccessLists, ...] = ()
    agents: tuple[AccessLists, ...] = ()
    rooms: tuple[Room, ...] = ()
    everyone: AccessLists = AccessLists("")
    mode: str | None = None
    ask_from: str | None = None
    session: SessionOptions = SessionOptions()
    memory: str | None = None  # how the tools of memory are served


class ConfigurationMistake(NamedTuple):
    """Something in a file that cannot be used, at the keys that lead to it."""

    path: KeyPath
    message: str
    hint: str | None = None
    line: int = 0  # inside the value, from 1; 0: the value as a whole
    column: int = 0


class ConfigurationFile(NamedTuple):
    """A file of the configuration, whether it exists or not."""

    layer: ConfigurationLayer
    path: str
    dir: str | None = None  # of a project's: what its paths are relative to


class TomlDocument(NamedTuple):
    """What was read of a file: its content, or why there is none."""

    content: object = None
    places: Mapping[str, Sequence[int]] = {}
    problem: str = ""
    place: str = ""  # of the problem
    may_grow: bool = False  # there is nothing in it, since a moment ago: somebody may just be writing it


class LoadedFile(NamedTuple):
    """A file with what it says; of a broken one, what it said when it could last be used."""

    file: ConfigurationFile
    content: ConfigurationContent
    places: Mapping[
        str, Sequence[int]
    ] = {}  # of keys, joined by `KEYS`: line, column, and those of the value
    is_unread: bool = False  # it exists, and could never be used: nobody knows what it says


KEY_SEPARATOR = "\0"


def key_path(path: KeyPath) -> str:
    """Write keys as a file has them."""
    return ".".join(f'"{key}"' if "." in key or "*" in key else key for key in path)


def base_dirs(file: ConfigurationFile, workspace: Workspace) -> tuple[str, ...]:
    """List the directories in which a file's relative paths are looked for, the nearest first."""
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
    """What the files come to in a workspace."""

    inputs: Mapping[str, str]  # each file with its fingerprint
    problems: Sequence[Sequence[str]]  # source, place, reason
    transitions: Sequence[Sequence[str | bool]]  # pattern, state, truth
    observes: bool = True  # whether what calls leave behind is kept
