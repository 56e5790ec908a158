"""The interface of an endpoint, in protocol terms."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from remit.decision.projects import TEAM
from remit.protocol.json_rpc import Answer, Params
from remit.upstream.ports import RequestContext


class PublishedList(NamedTuple):
    """A list as an endpoint serves it; equal revisions mean equal bytes."""

    items: list[Any]
    revision: str


class SessionView(NamedTuple):
    """How the list of a session differs from that of its endpoint."""

    promoted: Collection[str] = ()  # tools that it lists since it called them
    withheld: Collection[str] = ()  # tools that are not for its client


class ListKind(StrEnum):
    """The parts of an endpoint that can change."""

    TOOLS = "tools"
    RESOURCES = "resources"
    PROMPTS = "prompts"


class EndpointChange(NamedTuple):
    """A change to announce: of a list, or of one resource."""

    part: ListKind
    uri: str | None = None  # the updated resource; None: the list itself


class EndpointSpec(NamedTuple):
    """Identifies an endpoint, as given by a command line or a URL."""

    directory: str
    client: str = "claude-code"
    agent: str | None = None
    room: str | None = None
    strategy: str | None = None
    mode: str | None = None
    is_headless: bool = False  # the client that started it has no terminal for prompts
    parents: tuple[str, ...] = ()  # the agents above the agent, nearest first
    is_installed: bool = False  # by an entry of `remit install`

    @property
    def roots(self) -> Answer:
        """The directory in protocol terms, for servers; a team's project has none."""
        path = Path(self.directory)
        is_teams = self.directory.startswith(TEAM)
        return {"roots": [] if is_teams else [{"uri": path.as_uri(), "name": path.name}]}


class ToolCounts(NamedTuple):
    """How many tools an endpoint lists, of those that can be called."""

    listed: int
    available: int


class Endpoint(Protocol):
    """Serves lists and calls based on the same decisions."""

    @property
    def tool_counts(self) -> ToolCounts: ...

    @property
    def instructions(self) -> str | None: ...

    @property
    def capabilities(self) -> Mapping[str, Any]: ...  # with `extensions` and `experimental` of its strategy

    async def tools(self, asked: Params, session: SessionView | None = None) -> PublishedList:
        """List the tools of an endpoint, or of one session.

        `asked` are the raw parameters, since some strategies read more of them.

        Raises:
            JsonRpcError: the requested scope does not exist.
        """
        ...

    def input_schema(self, name: str) -> Mapping[str, Any] | None: ...

    async def call(self, asked: Params, caller: RequestContext) -> Answer:
        """Call a tool: decide, ask for approval if needed, forward, record.

        Raises:
            JsonRpcError: there is no such tool, or the upstream answers with an error.
        """
        ...

    def withheld(self, capabilities: Mapping[str, Any]) -> frozenset[str]:
        """Return the names of tools that are not for sessions with these capabilities."""
        ...

    def meet(self, principal: str | None) -> None:
        """Note who asks for lists: some servers can only be listed with a caller's credential."""
        ...

    def list_for_all(self) -> None:
        """List what servers offer to any client, because the list is for all."""
        ...

    def promotes(self, asked: Params) -> str | None:
        """Return the name of the tool that a session lists once this call has succeeded, if any."""
        ...

    async def resources(self) -> PublishedList: ...

    async def templates(self) -> PublishedList: ...

    async def prompts(self) -> PublishedList: ...

    async def pass_on(self, method: str, asked: Params, caller: RequestContext) -> Answer:
        """Forward a request for a resource, a prompt, a completion or a log level."""
        ...

    def changes(self) -> AbstractAsyncContextManager[AsyncIterator[EndpointChange]]: ...

    def is_bound(self, session: str) -> bool:
        """Return whether a caller's session has upstream sessions of its own."""
        ...

    async def leave(self, session: str) -> None:
        """Release the upstream sessions that belong to a caller's session, which is over."""
        ...
