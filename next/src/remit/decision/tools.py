"""The shapes of a tool: what a file declares, a row in scope, and what its server says of it."""

from collections.abc import Collection, Mapping
from enum import IntEnum, StrEnum
from typing import NamedTuple

from remit.decision.agents import AgentProfile
from remit.decision.launch import Launch, Transport
from remit.decision.names import CLIENT_TITLES
from remit.decision.scopes import Kind, Scope

Key = tuple[str | None, ...]  # client, kind, scope, project_hash, dir, agent, server, name


class Authority(IntEnum):
    """The authority of a row's source; only an equal or higher authority may change its scope."""

    HOOK = 1
    REPORT = 2
    CONFIG = 3


class Status(StrEnum):
    """The status of a declaration under its client's settings, and of a row in this workspace."""

    ENABLED = "enabled"
    DISABLED = "disabled"
    REJECTED = "rejected"
    PENDING = "pending"
    DENIED = "denied"
    MANUAL = "manual"  # only a person may invoke it
    ITSELF = "itself"  # the gateway of the install record: listed, but never an upstream
    NESTED = "nested"  # another entry that starts a gateway: judged like any server, but never an upstream
    UNSERVED = "unserved"  # ships with the gateway, but the client does not start it
    STALE = "stale"  # removed from the files that declared it
    UNLISTED = "unlisted"  # its server no longer lists it
    SEEN = "seen"  # used or reported; no file declares it


class Origin(NamedTuple):
    """A place in a configuration file."""

    path: str
    key: str = ""  # empty: the whole file
    line: int = 0  # 0: unknown


NEVER_SHADOW = (Status.PENDING, Status.REJECTED)
RUNS = frozenset({Status.ENABLED, Status.ITSELF, Status.NESTED})  # started by the client
COULD_RUN = RUNS | {Status.PENDING}  # started after approval


class Winner(NamedTuple):
    """The declaration that shadows another."""

    scope: Scope
    source: str
    name: str | None = None  # as a person types it: of a server, its label


class Held(NamedTuple):
    """Why a definition is held until a person accepts it; no model reads the detail."""

    reason: str
    detail: str
    unlock: str
    hides_text: bool = True  # no model may read the definition, even where another gate hides the tool first


class Declaration(NamedTuple):
    """One entry of one configuration file: a tool, for a client, at a scope."""

    client: str
    kind: Kind
    scope: Scope
    project_hash: str | None
    dir: str | None  # for scope `project` only: the directory of the declaring file
    agent: str | None  # the agent whose definition declares this server
    server: str | None  # as written in the file
    name: str  # canonical: `mcp__git__*` for a server
    plugin: str | None = None
    source: str = ""  # the path of the file
    description: str | None = None
    profile: AgentProfile | None = None  # of a subagent
    launch: Launch | None = None  # in memory only, never stored
    digest: str | None = None  # of everything that the entry starts
    endpoint: str | None = None  # a digest; servers that share it are the same program or URL
    status: Status = Status.ENABLED
    shadows: bool = True  # whether it may shadow others; a project's server must be approved first

    @property
    def key(self) -> Key:
        """The unique key of the row, equal to `Tool.key`."""
        return self[:8]

    def is_called(self, name: str) -> bool:
        """Return whether a name refers to this declaration, as written in the file or in canonical form."""
        return name in (self.server, self.name, self.name.removesuffix("__*"))

    @property
    def is_served(self) -> bool:
        """Whether the gateway can serve a server: not over WebSocket, and not declared by an agent."""
        return self.agent is None and (
            self.launch is None or self.launch.transport is not Transport.WEBSOCKET
        )


class Tool(NamedTuple):
    """Anything an agent can invoke: one row of the catalog, as one workspace sees it."""

    client: str
    kind: Kind
    scope: Scope
    project_hash: str | None
    dir: str | None
    agent: str | None
    server: str | None
    name: str
    plugin: str | None = None
    source: str = ""
    authority: Authority = Authority.CONFIG
    status: Status = Status.ENABLED
    shadowed_by: Winner | None = None
    is_trusted: bool | None = None  # None: needs no trust
    held: Held | None = None
    description: str | None = None
    profile: AgentProfile | None = None  # of a subagent
    danger: "int | None" = None  # from its annotations, a `Danger`; None: no hints
    tokens: int | None = None  # cost of sending its definition; for a server, the sum of its tools
    definition: str | None = None  # digest of its current definition
    listed_at: int | None = None  # when its server last listed its tools; times are Unix milliseconds
    failure: str | None = None  # why the last listing failed
    is_placed: bool = False  # its row belongs to the declaration of one server, even if only a use was seen
    uses: int = 0  # for a server, the sum of its tools
    last_used_at: int | None = None
    outcomes: str = ""  # of its last calls in this project; see `is_demoted`

    @property
    def key(self) -> Key:
        """The unique key of the row, equal to `Declaration.key`."""
        return self[:8]

    @property
    def is_declared(self) -> bool:
        """Whether a file declares it, or the server of its row lists it."""
        return self.authority is Authority.CONFIG or self.is_placed

    @property
    def is_projects(self) -> bool:
        """Whether its server comes from a project, which can give it any name."""
        return self.is_trusted is not None


class Definition(NamedTuple):
    """A tool's definition from its server, stored once by content."""

    digest: str
    name: str  # canonical
    server: str | None
    tool: str | None  # the server's own name for it
    description: str | None
    raw: str  # the complete definition as received, as JSON; schemas and annotations are read from it


def without_text(tool: Tool) -> Tool:
    """Return a tool without what its definition says, so nothing finds it by that, either."""
    return tool._replace(description=None, definition=None)


DEMOTING_FAILURES = 3


def is_demoted(outcomes: str) -> bool:
    """Return whether a tool ranks lower: three of its last five calls failed, including the last one.

    Outcomes are up to five characters, `+` for success and `-` for failure, oldest first.
    """
    return outcomes.endswith("-") and outcomes.count("-") >= DEMOTING_FAILURES


# The tools through which a model uses skills, commands and subagents, and the kinds they start.
STARTERS: Mapping[str, tuple[Kind, ...]] = {
    "Skill": (Kind.SKILL, Kind.SLASH_COMMAND),
    "SlashCommand": (Kind.SKILL, Kind.SLASH_COMMAND),
    "Agent": (Kind.SUBAGENT,),
    "Task": (Kind.SUBAGENT,),
}

# The tools that a client has by itself, as far as they are known: no file declares them.
_CLAUDE_CODE = """
Agent AskUserQuestion Bash BashOutput CronCreate CronDelete CronList Edit EnterPlanMode
EnterWorktree ExitPlanMode ExitWorktree Glob Grep KillShell ListAgents ListMcpResourcesTool Monitor
MultiEdit NotebookEdit PowerShell Read ReadMcpResourceDirTool ReadMcpResourceTool ReportFindings
ScheduleWakeup SendMessage Skill SlashCommand Task TaskCreate TaskGet TaskList TaskOutput TaskStop
TaskUpdate TodoWrite ToolSearch WebFetch WebSearch Workflow Write
"""
BUILTINS: Mapping[str, Collection[str]] = {"claude-code": frozenset(_CLAUDE_CODE.split())}


def is_builtin(tool: Tool) -> bool:
    """Return whether a tool is known to be one of its client's own."""
    return tool.kind is Kind.BUILTIN and tool.name in BUILTINS.get(tool.client, ())


def builtin_tool(name: str, client: str) -> Tool | None:
    """Return the row of a client's own tool; None if the client is not known to have it."""
    if name not in BUILTINS.get(client, ()):
        return None
    return Tool(
        client, Kind.BUILTIN, Scope.GLOBAL, None, None, None, None, name,
        authority=Authority.HOOK, status=Status.SEEN,
    )  # fmt: skip


def client_title(client: str) -> str:
    """Return the display name of a client."""
    return CLIENT_TITLES.get(client, client)
