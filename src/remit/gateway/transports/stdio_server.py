"""Serves one client on the standard streams: the one that started this process."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import anyio

from remit.bootstrap import open_endpoint, open_upstream_pool
from remit.gateway.ports import Endpoint, EndpointSpec
from remit.gateway.requests.dispatcher import Dispatcher
from remit.gateway.requests.open_dispatcher import open_dispatcher
from remit.gateway.transports.json_rpc import serve_client
from remit.gateway.transports.lifecycle import Print, describe_opening, run_until_stopped, status_monitor
from remit.gateway.transports.standard_streams import standard_streams

OnOpen = Callable[[Dispatcher], Awaitable[None]]


def serve(opening: EndpointSpec, say: Print) -> int:
    """Serve one endpoint until the client goes away; gives the exit code."""

    async def work() -> None:
        async with open_upstream_pool() as links, anyio.create_task_group() as tasks:

            async def on_open(desk: Dispatcher) -> None:
                tasks.start_soon(status_monitor(lambda: [(opening, desk)], links).run)
                say(f"serving {describe_opening(opening)} on stdio")

            await serve_stdio(open_endpoint(opening, links), opening, on_open)
            tasks.cancel_scope.cancel()

    return run_until_stopped(work)


async def serve_stdio(
    opened: AbstractAsyncContextManager[Endpoint], opening: EndpointSpec, on_open: OnOpen | None = None
) -> None:
    """Serve one endpoint on the standard streams, until the client goes away."""
    async with standard_streams() as (source, target), open_dispatcher(opened, opening) as desk:
        if on_open is not None:
            await on_open(desk)
        await serve_client(desk, source, target)
