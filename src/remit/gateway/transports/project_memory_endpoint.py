"""An endpoint with only the memory tools of a project."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio

from remit.decision.projects import Workspace
from remit.decision.tool_lookup import near_names
from remit.gateway.memory_tools import MemoryTools
from remit.gateway.memory_upstream import FindReachable, call_memory
from remit.gateway.ports import EndpointChange, EndpointSpec, PublishedList, SessionView, ToolCounts
from remit.gateway.registry_worker import RegistryWorker
from remit.gateway.transports.lifecycle import GatewayOpeners, Print, run_until_stopped
from remit.gateway.transports.stdio_server import serve_stdio
from remit.memory.memory_scopes import reachable_memories
from remit.memory.memory_server import instructions
from remit.memory.project_memory import Memory
from remit.memory.tool_permissions import TOOLS
from remit.protocol.json_rpc import Answer, ErrorCode, JsonRpcError, Params
from remit.registry import Registry
from remit.text.spelling import as_question
from remit.upstream.ports import RequestContext

_NOTHING = PublishedList([], "none")


class MemoryEndpoint:
    """Serves the memory tools, which never change."""

    capabilities: Mapping[str, Any] = {"tools": {}}

    def __init__(self, memory: Memory, find_reachable: FindReachable) -> None:
        self._find_reachable = find_reachable
        self._tools = MemoryTools(memory)
        self._listing = PublishedList(self._tools.tools(), "all")
        self.instructions: str | None = instructions(memory.workspace)

    @property
    def tool_counts(self) -> ToolCounts:
        """How many tools are listed: all of them."""
        return ToolCounts(len(self._listing.items), len(self._listing.items))

    async def tools(
        self,
        asked: Params,  # noqa: ARG002 - there is one list
        session: SessionView | None = None,  # noqa: ARG002
    ) -> PublishedList:
        """List the tools."""
        return self._listing

    def withheld(self, capabilities: Mapping[str, Any]) -> frozenset[str]:  # noqa: ARG002
        """Return no names: all tools are for all clients."""
        return frozenset()

    def meet(self, principal: str | None) -> None:
        """Do nothing: no server needs a credential."""

    def list_for_all(self) -> None:
        """Do nothing: all tools are for all clients."""

    def promotes(self, asked: Params) -> str | None:
        """Return None, because all tools are listed."""

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the input schema of a tool."""
        return self._tools.input_schema(name)

    async def call(self, asked: Params, caller: RequestContext) -> Answer:
        """Call a tool.

        Raises:
            JsonRpcError: there is no such tool.
        """
        try:
            return await call_memory(self._tools, asked["name"], asked, caller, await self._find_reachable())
        except KeyError:
            near = as_question(near_names(asked["name"], TOOLS))
            told = "; ".join(filter(None, (f"Unknown tool: {asked['name']}", near)))
            raise JsonRpcError(ErrorCode.INVALID_PARAMS, told) from None

    async def resources(self) -> PublishedList:
        """Return an empty list."""
        return _NOTHING

    async def templates(self) -> PublishedList:
        """Return an empty list."""
        return _NOTHING

    async def prompts(self) -> PublishedList:
        """Return an empty list."""
        return _NOTHING

    async def pass_on(self, method: str, asked: Params, caller: RequestContext) -> Answer:  # noqa: ARG002 - part of the interface
        """Refuse: there are no upstreams.

        Raises:
            JsonRpcError: always.
        """
        raise JsonRpcError(ErrorCode.METHOD_NOT_FOUND, "Method not found", method)

    def changes(self) -> AbstractAsyncContextManager[AsyncIterator[EndpointChange]]:
        """Listen for changes; there are none."""
        return _silence()

    def is_bound(self, session: str) -> bool:  # noqa: ARG002 - no session is
        """Return that a session may move: it has no state here."""
        return False

    async def leave(self, session: str) -> None:
        """Do nothing: sessions have no state."""


def serve(directory: str, openers: GatewayOpeners, say: Print) -> int:
    """Serve the user's memory on stdio and return the exit code.

    Raises:
        RemitError: the directory does not exist, or the database cannot be used.
    """
    with openers.memory(directory) as memory, openers.registry() as registry:
        worker = RegistryWorker(registry)

        async def find_reachable() -> frozenset[str] | None:
            return await worker.run(_reachable, memory.workspace)

        async def work() -> None:
            say(f"serving the memory of {memory.workspace.project.path} on stdio")
            await serve_stdio(_opened(memory, find_reachable), EndpointSpec(memory.workspace.dir))

        return run_until_stopped(work)


def _reachable(registry: Registry, workspace: Workspace) -> frozenset[str] | None:
    shared = registry.configuration.current(workspace).configuration.memory_projects
    return reachable_memories(workspace, shared)


@asynccontextmanager
async def _opened(memory: Memory, find_reachable: FindReachable) -> AsyncGenerator[MemoryEndpoint]:
    yield MemoryEndpoint(memory, find_reachable)


@asynccontextmanager
async def _silence() -> AsyncGenerator[AsyncIterator[EndpointChange]]:
    yield _never()


async def _never() -> AsyncGenerator[EndpointChange]:
    await anyio.sleep_forever()
    yield  # pyright: ignore[reportReturnType] - never reached
