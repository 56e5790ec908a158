"""Open sessions with the servers we call."""

import subprocess
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from remit.decision import Declaration, Definition, Failure, Key, Offer, tool_name
from remit.errors import UpstreamError
from remit.protocol import LineTransport, ServerConnection, connect
from remit.store import make_definition
from remit.trust import StartPermit


class UpstreamPool:
    """The servers of a gateway, started on first use."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._sessions: dict[Key, ServerConnection] = {}

    async def request(
        self, declaration: Declaration, permit: StartPermit, method: str, params: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Send a request to a server."""
        session = await self._open(declaration, permit)
        return await session.request(method, dict(params))

    async def list(self, declaration: Declaration, permit: StartPermit) -> Offer:
        """Ask a server for its tools."""
        try:
            session = await self._open(declaration, permit)
            lists = await session.lists({"tools"})
        except (OSError, UpstreamError) as error:
            return Offer(failure=Failure(str(error)))
        return Offer([_definition(declaration, item) for item in lists.get("tools", ())])

    async def _open(self, declaration: Declaration, permit: StartPermit) -> ServerConnection:
        session = self._sessions.get(declaration.key)
        if session is None:
            transport = await self._stack.enter_async_context(_process(permit))
            opening = connect(transport, {"name": "remit", "version": "0"}, {}, on_change=_ignore)
            session = self._sessions[declaration.key] = await self._stack.enter_async_context(opening)
        return session


@asynccontextmanager
async def open_pool() -> AsyncGenerator[UpstreamPool]:
    """Open a pool, whose servers end with it."""
    async with AsyncExitStack() as stack:
        yield UpstreamPool(stack)


@asynccontextmanager
async def _process(permit: StartPermit) -> AsyncGenerator[LineTransport]:
    launch = permit.launch
    with subprocess.Popen(  # noqa: S603 - with a permit  # noqa: ASYNC220
        [launch.command, *launch.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=permit.directory,
        start_new_session=True,
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise UpstreamError("the process has no pipes")
        try:
            yield LineTransport(process.stdout.fileno(), process.stdin.fileno())
        finally:
            process.kill()


def _ignore(method: str, params: object) -> None:
    del method, params


def _definition(declaration: Declaration, item: dict[str, Any]) -> Definition:
    name = tool_name(declaration.server or "", item["name"], declaration.plugin)
    return make_definition(name, declaration.server, item["name"], item.get("description"), item)
