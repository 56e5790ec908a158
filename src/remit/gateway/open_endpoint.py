"""Opening: makes an endpoint ready in one directory, for one client, and perhaps one agent or room."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import anyio
from anyio import to_thread

from remit.configuration.config_model import Strategy
from remit.decision.context import Context
from remit.gateway.call_handler import CallHandler, CallOrigin
from remit.gateway.call_recorder import CallRecorder
from remit.gateway.discover_tools import ToolDiscovery
from remit.gateway.endpoint import LiveEndpoint
from remit.gateway.inventory import Inventory
from remit.gateway.inventory_refresh import InventoryRefresher, OfferReader
from remit.gateway.memory_upstream import MemoryUpstream
from remit.gateway.ports import EndpointSpec
from remit.gateway.quick_reads import QuickReads
from remit.gateway.registry_worker import RegistryWorker
from remit.gateway.resource_routing import ResourceRouter
from remit.gateway.state_watcher import Pulse
from remit.presentation.plan import EndpointChoice
from remit.registry import Registry
from remit.upstream.ports import UpstreamPool

if TYPE_CHECKING:  # loaded when memory is first called
    from remit.memory.project_memory import Memory
    from remit.scanning.ports import Notifier


class EndpointResources(NamedTuple):
    """What an endpoint is made with."""

    open_registry: Callable[[], Registry]
    open_notifier: Callable[[], Notifier]
    read_offer: OfferReader
    now: Callable[[], int]  # Unix milliseconds
    open_memory: Callable[[str], Memory]  # for whoever works in a directory


@asynccontextmanager
async def serve_endpoint(
    opening: EndpointSpec, links: UpstreamPool, means: EndpointResources
) -> AsyncGenerator[LiveEndpoint]:
    """Serve an endpoint, with registries of its own, until the context is left.

    Raises:
        RemitError: there is no such directory, client, agent or room, or the store cannot be used.
        ValueError: there is no such mode or strategy.
    """
    if opening.strategy is not None and opening.strategy not in list(Strategy):
        raise ValueError(f"no strategy is called `{opening.strategy}`: there are {', '.join(Strategy)}")
    registry = await to_thread.run_sync(means.open_registry)
    upstreams = MemoryUpstream(links, partial(means.open_memory, opening.directory))
    try:
        chosen = EndpointChoice(opening.strategy, opening.agent, opening.room)
        inventory = await to_thread.run_sync(
            Inventory, registry, partial(_context, registry, opening), chosen
        )
        calls_of = CallOrigin(_name(opening), opening.client, opening.agent)
        async with _live(inventory, upstreams, means, calls_of) as endpoint:
            yield endpoint
    finally:
        upstreams.close()
        registry.close()


@asynccontextmanager
async def _live(
    inventory: Inventory, links: UpstreamPool, means: EndpointResources, identity: CallOrigin
) -> AsyncGenerator[LiveEndpoint]:
    """Have an endpoint watch and record; what was acknowledged is kept when it ends."""
    clerk = RegistryWorker(inventory)
    board = await clerk.do(Inventory.board)
    open_registry = means.open_registry
    recorder, discovery = CallRecorder(open_registry, lambda: inventory.context), ToolDiscovery(open_registry)
    pulse = Pulse(open_registry, means.open_notifier, inventory.context)
    passing = ResourceRouter(links)
    glances = QuickReads(inventory, await to_thread.run_sync(open_registry))
    error: Exception | None = None
    try:
        async with anyio.create_task_group() as group:
            stocker = InventoryRefresher(clerk, links, means.read_offer, group, lambda: endpoint.stir())
            calls = CallHandler(
                *(clerk, links, recorder, identity, means.now, glances.at_target),
                on_answer=lambda key, answer: endpoint.learn(key, answer),
            )
            follow = partial(pulse.begin, group, lambda: endpoint.stir())
            endpoint = LiveEndpoint(clerk, links, calls, passing, discovery, stocker, board, glances, follow)
            stocker.consider(board)
            for task in (recorder.run, endpoint.watch, endpoint.heed):
                group.start_soon(task)
            try:
                yield endpoint
            except Exception as raised:  # as it is, and not in a group
                error = raised
            finally:
                pulse.stop()
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await recorder.close()
            await discovery.close()
            glances.close()
    if error is not None:
        raise error


def _context(registry: Registry, opening: EndpointSpec) -> Context:
    return registry.at(
        opening.directory,
        opening.client,
        is_headless=opening.is_headless,
        agent=opening.agent,
        mode=opening.mode,
    )


def _name(opening: EndpointSpec) -> str:
    parts = [f"a/{opening.agent}"] if opening.agent is not None else []
    parts += [f"rooms/{opening.room}"] if opening.room is not None else []
    return "/".join(parts)
