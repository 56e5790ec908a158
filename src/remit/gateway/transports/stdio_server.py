"""Serves one client on the standard streams: the one that started this process."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import anyio

from remit.bootstrap import open_endpoint, open_links
from remit.gateway.ports import Endpoint, Opening
from remit.gateway.requests.dispatcher import Desk
from remit.gateway.requests.open_dispatcher import open_desk
from remit.gateway.transports.json_rpc import speak
from remit.gateway.transports.lifecycle import Say, described, monitor, run
from remit.gateway.transports.standard_streams import standard_streams

OnOpen = Callable[[Desk], Awaitable[None]]


def serve(opening: Opening, say: Say) -> int:
    """Serve one endpoint until the client goes away; gives the exit code."""

    async def work() -> None:
        async with open_links() as links, anyio.create_task_group() as tasks:

            async def on_open(desk: Desk) -> None:
                tasks.start_soon(monitor(lambda: [(opening, desk)], links).run)
                say(f"serving {described(opening)} on stdio")

            await on_stdio(open_endpoint(opening, links), opening, on_open)
            tasks.cancel_scope.cancel()

    return run(work)


async def on_stdio(
    opened: AbstractAsyncContextManager[Endpoint], opening: Opening, on_open: OnOpen | None = None
) -> None:
    """Serve one endpoint on the standard streams, until the client goes away."""
    async with standard_streams() as (source, target), open_desk(opened, opening) as desk:
        if on_open is not None:
            await on_open(desk)
        await speak(desk, source, target)
