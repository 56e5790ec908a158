"""Reports from clients and agents: tools that were used or announced, and calls about to be made.

Named tuples instead of dataclasses, because short-lived hook processes import this module.
"""

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.kinds import Authority
from remit.decision.projects import Workspace
from remit.decision.scopes import Scope
from remit.decision.tool_names import (
    MCP,
    canonical,
    meant_names,
    served_name,
    server_name,
    server_rows,
    storable,
)

if TYPE_CHECKING:
    from remit.decision.declarations import Key

# How a client names the file in which it found a server; other words name servers that no file declares.
SOURCE_SCOPES = {
    "user": Scope.GLOBAL,
    "project": Scope.PROJECT,
    "local": Scope.LOCAL,
    "plugin": Scope.PLUGIN,
    "managed": Scope.MANAGED,
    "enterprise": Scope.MANAGED,
}
AGENT_SOURCE = "agent"  # the definition of an agent, at any scope
_LONGEST_CALL_ID = 256  # characters; clients choose it, and indexes have limits


class ReportedTool(NamedTuple):
    """A tool that a client used or an agent reported, and where."""

    name: str
    client: str
    workspace: Workspace
    authority: Authority
    at: int
    # Whether the last scan of the workspace is current. If not, the tool stays local to the workspace until
    # the next scan finds its server.
    is_scanned: bool
    server: str | None = None  # the client's name for it, if known
    scope: Scope | None = None  # if the reporter knows it
    subject: str | None = None  # the skill, command or agent that the tool starts
    source: str | None = None  # where the client found the server's declaration, if it tells
    key: "Key | None" = None  # of the tool that answered, if the reporter knows its declaration


def stored_call_id(given: str) -> str:
    """Return a client's id of a call as it is stored: a digest, if it is very long."""
    id = storable(given)
    return id if len(id) <= _LONGEST_CALL_ID else sha256(id.encode()).hexdigest()


class CallOutcome(NamedTuple):
    """The outcome of one call."""

    session_id: str | None = None
    call_id: str | None = None
    succeeded: bool | None = None
    duration_ms: int | None = None


class ClientCall(NamedTuple):
    """A call as a client's hook reports it."""

    name: str  # the client's name for it
    server: str | None = None
    source: str | None = None  # where the client found the server's declaration
    subject: str | None = None  # the skill, command or agent that the tool starts
    agent: str | None = None  # the calling agent; None: the main session
    mode: str | None = None  # the client's mode
    is_anothers: bool = False  # another server uses the name `remit`
    through: str | None = None  # the gateway's tool that makes the call, if it is not called directly
    label: str | None = None  # the client's whole name for the server, which includes a plugin
    reached: str | None = (
        None  # for a tool that reads resources: the server in its arguments; "": all servers
    )
    parents: tuple[str, ...] | None = None  # the agents above, nearest first; None: not known
    is_orphan: bool = False  # the client started it as an agent, and nobody knows below which one

    @property
    def is_own(self) -> bool:
        """Whether the call goes through the gateway, which decides itself."""
        return not self.is_anothers and served_name(self.name) is not None

    @property
    def served(self) -> str | None:
        """The gateway's name of the tool."""
        return served_name(self.name)

    @property
    def tool(self) -> str:
        """The canonical name of the tool."""
        own = served_name(self.name) if self.is_own else None
        return canonical(self.name if own is None else MCP + own)

    @property
    def meant(self) -> tuple[str, ...]:
        """The canonical names that the gateway may understand; none for the tools of other servers."""
        own = served_name(self.name) if self.is_own else None
        return () if own is None else meant_names(own)

    @property
    def names(self) -> list[str]:
        """The names of all rows that the decision depends on."""
        subjects = () if self.subject is None else (self.subject, f"/{self.subject}")
        agents = () if self.agent is None else (self.agent, *(self.parents or ()))
        called = canonical(self.name)  # in case the server called `remit` is not Remit
        named = dict.fromkeys((self.tool, *self.meant, called))
        tools = [each for name in named for each in (name, *server_rows(name))]
        reached = (server_name(self.reached),) if self.reached else ()
        return list(dict.fromkeys((*tools, *subjects, *agents, *reached)))
