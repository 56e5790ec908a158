"""What an endpoint serves, in the words of the protocol."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from remit.protocol.json_rpc import Answer, Params
from remit.upstream.ports import RequestContext


class PublishedList(NamedTuple):
    """A list as an endpoint serves it; equal revisions are equal bytes."""

    items: list[Any]
    revision: str


class ListKind(StrEnum):
    """What of an endpoint may change."""

    TOOLS = "tools"
    RESOURCES = "resources"
    PROMPTS = "prompts"


class EndpointChange(NamedTuple):
    """Something that those who listen are told: a list that changed, or one resource."""

    part: ListKind
    uri: str | None = None  # of a resource that was updated; None: the list itself


class EndpointSpec(NamedTuple):
    """Which endpoint is meant: all that a command line or a URL says of it."""

    directory: str
    client: str = "claude-code"
    agent: str | None = None
    room: str | None = None
    strategy: str | None = None
    mode: str | None = None
    is_headless: bool = False  # the client that started it has no terminal to ask on


class Endpoint(Protocol):
    """What one endpoint serves: every list and every call by the same decisions."""

    @property
    def instructions(self) -> str | None: ...

    @property
    def capabilities(self) -> Mapping[str, Any]: ...  # with `extensions` and `experimental` of its strategy

    async def tools(self, asked: Params) -> PublishedList:
        """List the tools; `asked` are the raw parameters, for strategies that read more of them.

        Raises:
            JsonRpcError: a scope is asked for that does not exist.
        """
        ...

    def input_schema(self, name: str) -> Mapping[str, Any] | None: ...

    async def call(self, asked: Params, caller: RequestContext) -> Answer:
        """Call a tool: decide, ask a person where that is needed, pass on, record.

        Raises:
            JsonRpcError: there is no such tool, or the upstream answers with an error.
        """
        ...

    async def resources(self) -> PublishedList: ...

    async def templates(self) -> PublishedList: ...

    async def prompts(self) -> PublishedList: ...

    async def pass_on(self, method: str, asked: Params, caller: RequestContext) -> Answer:
        """Read or subscribe to a resource, get a prompt, complete an argument, set a log level."""
        ...

    def changes(self) -> AbstractAsyncContextManager[AsyncIterator[EndpointChange]]: ...

    async def leave(self, session: str) -> None:
        """End what is kept for a caller's session alone: it is over."""
        ...
