"""Opens an endpoint with its desk, its changes relayed, until it is left."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio

from remit.gateway.ports import Endpoint, EndpointSpec
from remit.gateway.requests.dispatcher import Dispatcher


@asynccontextmanager
async def open_dispatcher(
    opened: AbstractAsyncContextManager[Endpoint], opening: EndpointSpec
) -> AsyncGenerator[Dispatcher]:
    """Answer for an endpoint for as long as it is open."""
    async with opened as endpoint, anyio.create_task_group() as tasks:
        desk = Dispatcher(endpoint, opening, tasks)
        tasks.start_soon(desk.relay_changes)
        try:
            yield desk
        finally:
            tasks.cancel_scope.cancel()
