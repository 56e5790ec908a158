"""Tools as one workspace sees them: the stored row with its resolved configuration."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from remit.decision.agents import AgentProfile
from remit.decision.kinds import Authority, ConfigStatus, Kind, ToolStatus
from remit.decision.scopes import Scope

if TYPE_CHECKING:
    from remit.decision.danger import Danger, Rating
    from remit.decision.declarations import Key
    from remit.decision.definitions.definition_changes import DefinitionChange


class Winner(NamedTuple):
    """The declaration that shadows another."""

    scope: Scope
    source: str
    name: str | None = None  # as a person types it: of a server, its label


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
    dir: str | None = None  # for scope `project` only: the directory of the declaring file
    server: str | None = None
    plugin: str | None = None
    agent: str | None = None  # the agent whose definition declares this server
    status: ToolStatus = ToolStatus.ACTIVE
    config_status: ConfigStatus | None = None  # None: no file in this workspace declares it
    shadowed_by: Winner | None = None
    is_trusted: bool | None = None  # None: needs no trust
    is_unlisted: bool = False  # its server no longer lists it
    is_outdated: bool = False  # its server's entry has changed since the last listing
    listed_at: int | None = None  # when its server last listed its tools
    failure: str | None = None  # why the last listing failed
    digest: str | None = None  # digest of a server's launch
    description: str | None = None
    profile: AgentProfile | None = None  # of a subagent
    usage_count: int = 0  # for a server, the sum of its tools
    last_used_at: int | None = None  # all times are Unix milliseconds
    discovered_at: int = 0
    updated_at: int = 0
    endpoint: str | None = None  # a digest; servers that share it are the same program or URL
    tokens: int | None = None  # cost of sending its definition; for a server, the sum of its tools
    outcomes: str = ""  # of its last calls in this project; see `is_demoted`
    document_id: int | None = None  # its search document, once indexed
    danger: "Danger | None" = None  # from its annotations; None: no hints
    is_held_back: bool = False  # the gateway lists it only once it is used or its condition holds
    is_placed: bool = False  # its row belongs to the declaration of one server, even if only a use was seen
    described_danger: "Rating | None" = None  # from its description and parameters; None: they say nothing
    accepted_danger: "Danger | None" = None  # from the accepted annotations, if its definition changed
    change: "DefinitionChange | None" = None  # since its definition was accepted
    pin: str | None = None  # digest of what matters in its definition
    entry: str | None = None  # digest of its server's launch
    trusted_entry: str | None = None  # the last that the user trusted
    has_held_text: bool = False  # no model may read its definition

    @property
    def is_projects(self) -> bool:
        """Whether its server comes from a project, which can give it any name."""
        return self.is_trusted is not None

    @property
    def key(self) -> "Key":
        """The unique key of the row, equal to `Declaration.key`."""
        place = (self.client, self.kind, self.scope, self.project_hash, self.dir)
        return *place, self.agent, self.server, self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A tool's definition from its server, stored once by content."""

    name: str  # canonical
    server: str | None = None
    tool: str | None = None  # the server's own name for it
    title: str | None = None
    description: str | None = None
    input_schema: str | None = None  # canonical JSON, like the next two
    output_schema: str | None = None
    annotations: str | None = None
    raw: str | None = None  # the complete definition as received, served unchanged


def without_text(tool: Tool) -> Tool:
    """Return a tool without what its definition says, so search does not find it by that, either."""
    return tool._replace(description=None, document_id=None, described_danger=None, has_held_text=True)


def definition_without_text(definition: Definition) -> Definition:
    """Return a definition with the tool's name alone, and whether it has an output schema."""
    output = None if definition.output_schema is None else _ANY_OBJECT
    return Definition(
        name=definition.name, server=definition.server, tool=definition.tool, output_schema=output
    )


_ANY_OBJECT = '{"type":"object"}'
_NEEDS_PERSON = "anthropic/requiresUserInteraction"  # in a definition's `_meta`; clients ask despite any rule


def needs_person(definition: Definition) -> bool:
    """Return whether a server wants a person to confirm each call of a tool."""
    if definition.raw is None or _NEEDS_PERSON not in definition.raw:
        return False
    meta: object = json.loads(definition.raw).get("_meta")
    return isinstance(meta, dict) and cast("dict[str, object]", meta).get(_NEEDS_PERSON) is True


DEMOTING_FAILURES = 3


def is_demoted(outcomes: str) -> bool:
    """Return whether a tool ranks lower: three of its last five calls failed, including the last one.

    Outcomes are up to five characters, `+` for success and `-` for failure, oldest first. Calls with unknown
    outcome are not included.
    """
    return outcomes.endswith("-") and outcomes.count("-") >= DEMOTING_FAILURES


def demotion_reason(outcomes: str) -> str:
    """Return why a tool is demoted."""
    return f"{outcomes.count('-')} of its last {len(outcomes)} calls here failed"


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


def builtin_tool(name: str, client: str | None) -> Tool | None:
    """Return the row of a client's own tool; None if the client is not known to have it."""
    if client is None or name not in BUILTINS.get(client, ()):
        return None
    return Tool(name, Kind.BUILTIN, client, Scope.GLOBAL, "", Authority.HOOK)
