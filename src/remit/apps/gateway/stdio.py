"""Serves one client on the standard streams: the one that started this process."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import anyio

from remit.apps.gateway.faces import faced
from remit.apps.gateway.pipes import standard_streams
from remit.apps.gateway.running import Say, described, monitor, until_told
from remit.apps.gateway.server import Face
from remit.bootstrap import open_endpoint, open_links
from remit.exchange import Endpoint, Opening

OnOpen = Callable[[Face], Awaitable[None]]


def serve(opening: Opening, say: Say) -> int:
    """Serve one endpoint until the client goes away; gives the exit code."""

    async def work() -> None:
        async with open_links() as links, anyio.create_task_group() as tasks:

            async def on_open(face: Face) -> None:
                tasks.start_soon(monitor(lambda: [(opening, face)], links).run)
                say(f"serving {described(opening)} on stdio")

            await on_stdio(open_endpoint(opening, links), opening, on_open)
            tasks.cancel_scope.cancel()

    return anyio.run(until_told, work)


async def on_stdio(
    opened: AbstractAsyncContextManager[Endpoint], opening: Opening, on_open: OnOpen | None = None
) -> None:
    """Serve one endpoint on the standard streams, until the client goes away."""
    async with standard_streams() as (source, target), faced(opened, opening, is_stdio=True) as face:
        if on_open is not None:
            await on_open(face)
        await face.run(source, target, face.create_initialization_options())
