"""Lists many servers side by side, for synchronous callers."""

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from typing import NamedTuple

import anyio
from anyio.from_thread import start_blocking_portal

from remit.decision import Failure, Offer
from remit.errors import UpstreamError
from remit.upstream.launch import Launcher
from remit.upstream.model import Upstream
from remit.upstream.pool import UpstreamPool, open_pool

MAX_CONCURRENT = 8


class Progress(NamedTuple):
    """A server that has answered, or failed, and how many have."""

    upstream: Upstream
    offer: Offer
    done: int
    count: int


def refresh(
    upstreams: Sequence[Upstream], launcher: Launcher, on_progress: Callable[[Progress], None]
) -> list[Offer]:
    """List the servers, a few at once, and return what each offers, in their order; a failure is an answer.

    `on_progress` runs in the caller's thread, so it may store the list, and a slow one delays no server.
    """
    offers: dict[int, Offer] = {}
    limit = anyio.Semaphore(MAX_CONCURRENT)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_pool(launcher, on_list=_ignore)) as pool,
    ):
        asked = {
            portal.start_task_soon(_ask, pool, upstream, limit): number
            for number, upstream in enumerate(upstreams)
        }
        for future in as_completed(asked):
            number = asked[future]
            offers[number] = offer = future.result()
            on_progress(Progress(upstreams[number], offer, len(offers), len(upstreams)))
    return [offers[number] for number in range(len(upstreams))]


async def _ask(pool: UpstreamPool, upstream: Upstream, limit: anyio.Semaphore) -> Offer:
    async with limit:
        try:
            offer = await pool.list(upstream)
        except UpstreamError as error:
            failure = Failure(error.reason, error.hint, error.next_step, error.output)
            offer = Offer(failure=failure)
        await pool.drop({upstream.key})
        return offer


async def _ignore(upstream: Upstream, offer: Offer) -> None:
    del upstream, offer
