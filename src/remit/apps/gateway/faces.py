"""Gives an endpoint its face: opened, its changes relayed, until it is left."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio

from remit.apps.gateway.server import Face
from remit.exchange import Endpoint, Opening


@asynccontextmanager
async def faced(
    opened: AbstractAsyncContextManager[Endpoint], opening: Opening, *, is_stdio: bool = False
) -> AsyncGenerator[Face]:
    """Give an endpoint its face for as long as it is open."""
    async with opened as endpoint, anyio.create_task_group() as tasks:
        face = Face(endpoint, opening, tasks, is_stdio=is_stdio)
        tasks.start_soon(face.relay_changes)
        try:
            yield face
        finally:
            tasks.cancel_scope.cancel()
