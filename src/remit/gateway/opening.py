"""Opening: makes an endpoint ready in one directory, for one client, and perhaps one agent or room."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial

import anyio.to_thread

from remit.core.configuration.reading import STRATEGIES
from remit.core.decide import Context
from remit.core.serving.plan import Chosen
from remit.exchange import Links, Opening
from remit.gateway.calling import Identity
from remit.gateway.endpoint import LiveEndpoint, opened
from remit.gateway.inventory import Inventory
from remit.gateway.stocking import ReadOffer
from remit.registry import Registry


@asynccontextmanager
async def serve(
    opening: Opening,
    links: Links,
    open_registry: Callable[[], Registry],
    read: ReadOffer,
    now: Callable[[], int],
) -> AsyncGenerator[LiveEndpoint]:
    """Serve an endpoint, with a registry of its own, until the context is left.

    Raises:
        RemitError: there is no such directory, client, agent or room, or the store cannot be used.
        ValueError: there is no such mode or strategy.
    """
    if opening.strategy is not None and opening.strategy not in STRATEGIES:
        raise ValueError(f"no strategy is called `{opening.strategy}`: there are {', '.join(STRATEGIES)}")
    registry = await anyio.to_thread.run_sync(open_registry)
    try:
        chosen = Chosen(opening.strategy, opening.agent, opening.room)
        make = partial(_context, registry, opening)
        inventory = await anyio.to_thread.run_sync(Inventory, registry, make, chosen)
        identity = Identity(_name(opening), opening.client, opening.agent)
        async with opened(inventory, links, read, open_registry, identity, now) as endpoint:
            yield endpoint
    finally:
        registry.close()


def _context(registry: Registry, opening: Opening) -> Context:
    return registry.at(opening.directory, opening.client, agent=opening.agent, mode=opening.mode)


def _name(opening: Opening) -> str:
    parts = [f"a/{opening.agent}"] if opening.agent is not None else []
    parts += [f"rooms/{opening.room}"] if opening.room is not None else []
    return "/".join(parts)
