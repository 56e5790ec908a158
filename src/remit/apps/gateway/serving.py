"""Serves one endpoint: opened, with its face, its changes relayed, until it is left."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio

from remit.apps.gateway.pipes import standard_streams
from remit.apps.gateway.server import Face
from remit.exchange import Endpoint


@asynccontextmanager
async def faced(
    opened: AbstractAsyncContextManager[Endpoint], *, is_stdio: bool = False
) -> AsyncGenerator[Face]:
    """Give an endpoint its face for as long as it is open."""
    async with opened as endpoint, anyio.create_task_group() as tasks:
        face = Face(endpoint, tasks, is_stdio=is_stdio)
        tasks.start_soon(face.relay_changes)
        try:
            yield face
        finally:
            face.end()
            tasks.cancel_scope.cancel()


async def serve_on_stdio(opened: AbstractAsyncContextManager[Endpoint]) -> None:
    """Serve one client on the standard streams, until it goes away."""
    async with faced(opened, is_stdio=True) as face, standard_streams() as (source, target):
        await face.run(source, target, face.create_initialization_options())
