"""Sightings and calls: somebody used a tool, said that it exists, or is about to call it.

Named tuples, not dataclasses: a hook process lives for milliseconds and imports this module.
"""

from typing import NamedTuple

from remit.decision.kinds import Authority
from remit.decision.projects import Workspace
from remit.decision.scopes import Scope
from remit.decision.tool_names import MCP, canonical, served_name, server_rows


class ReportedTool(NamedTuple):
    """A tool that somebody used or reported, and where."""

    name: str
    client: str
    workspace: Workspace
    authority: Authority
    at: int
    # Whether the last scan of the workspace still holds. If not, the tool is kept to the workspace until the
    # next scan says which server it belongs to.
    is_scanned: bool
    server: str | None = None  # as the client names it, where it says so
    scope: Scope | None = None  # where the sender claims to know it
    subject: str | None = None  # of a tool that starts something: the skill, command or agent


class CallOutcome(NamedTuple):
    """What is known of one call."""

    session_id: str | None = None
    call_id: str | None = None
    succeeded: bool | None = None
    duration_ms: int | None = None


class ClientCall(NamedTuple):
    """A call as a client's hook tells of it."""

    name: str  # as the client calls it
    server: str | None = None
    source: str | None = None  # where the client has the server from
    subject: str | None = None  # of a tool that starts something: the skill, command or agent
    agent: str | None = None  # whose call it is, where it is not the main session's
    mode: str | None = None  # the client's
    is_anothers: bool = False  # of a server that has Remit's name, and is another

    @property
    def is_own(self) -> bool:
        """Whether it goes through the gateway, which decides itself."""
        return not self.is_anothers and served_name(self.name) is not None

    @property
    def tool(self) -> str:
        """The canonical name of what is called."""
        own = served_name(self.name) if self.is_own else None
        return canonical(self.name if own is None else MCP + own)

    @property
    def names(self) -> list[str]:
        """The names of all rows that have a say in it."""
        subjects = () if self.subject is None else (self.subject, f"/{self.subject}")
        agents = () if self.agent is None else (self.agent,)
        called = canonical(self.name)  # another tool, where the server is not what its name says
        tools = (self.tool, *server_rows(self.tool), called, *server_rows(called))
        return list(dict.fromkeys((*tools, *subjects, *agents)))
