"""Opens an endpoint in one directory, for one client and optionally one agent or room."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import anyio
from anyio import to_thread

from remit.catalog.contexts import DEFAULT_CLIENT
from remit.configuration.config_model import Strategy
from remit.decision.context import Context
from remit.gateway.call_handler import CallHandler
from remit.gateway.call_records.call_journal import CallJournal
from remit.gateway.call_records.call_recorder import CallOrigin, CallRecorder
from remit.gateway.call_records.call_spool import CallSpool
from remit.gateway.change_feed import ChangeFeed
from remit.gateway.change_tracker import ChangeSignal
from remit.gateway.current_lists import CurrentLists
from remit.gateway.discover_tools import ToolDiscovery
from remit.gateway.endpoint import LiveEndpoint
from remit.gateway.inventory import Inventory
from remit.gateway.inventory_refresh import InventoryRefresher
from remit.gateway.memory_upstream import MemoryUpstream
from remit.gateway.ports import EndpointSpec
from remit.gateway.registry_worker import RegistryWorker
from remit.gateway.remit_tool_calls import OwnToolHandler
from remit.gateway.requests.call_metrics import CallMetrics
from remit.gateway.resource_routing import ResourceRouter
from remit.gateway.results.result_store import ResultStore
from remit.gateway.server_list_keeper import OfferReader, ServerListKeeper
from remit.presentation.serving_plan import EndpointChoice
from remit.registry import Registry
from remit.sessions.install_notices import NoticeKind, notices_section
from remit.upstream.upstream_pool import UpstreamPool

if TYPE_CHECKING:  # loaded when memory is first called
    from remit.memory.project_memory import Memory
    from remit.scanning.ports import Notifier

_log = logging.getLogger("remit.gateway")


class EndpointResources(NamedTuple):
    """The external resources of an endpoint."""

    open_registry: Callable[[], Registry]
    open_notifier: Callable[[], Notifier]
    read_offer: OfferReader
    now: Callable[[], int]  # Unix milliseconds
    open_memory: Callable[[str], Memory]  # for the project of a directory
    data_directory: str  # where large results are kept, and calls that wait for the store
    metrics: CallMetrics  # of the process
    keeps_journal: bool = False  # whether calls are written down before they are answered


@asynccontextmanager
async def serve_endpoint(
    spec: EndpointSpec, pool: UpstreamPool, resources: EndpointResources
) -> AsyncGenerator[LiveEndpoint]:
    """Serve an endpoint with its own registry until the context exits.

    Raises:
        RemitError: the directory, client, agent or room does not exist, or the store cannot be used.
        ValueError: the mode or strategy does not exist.
    """
    if spec.strategy is not None and spec.strategy not in list(Strategy):
        raise ValueError(f"no strategy is called `{spec.strategy}`: expected one of {', '.join(Strategy)}")
    registry = await to_thread.run_sync(resources.open_registry)
    try:
        make_context = partial(_context, registry, spec)
        # Without an install, the client may search Remit's list anyway, whatever Remit marks in it.
        searches = spec.is_installed and registry.states.searches_itself(make_context())
        choice = EndpointChoice(spec.strategy, spec.agent, spec.room, searches)
        inventory = await to_thread.run_sync(Inventory, registry, make_context, choice)
        worker = RegistryWorker(inventory)
        find_reachable = partial(worker.run, Inventory.reachable_memories)
        with closing(
            MemoryUpstream(partial(resources.open_memory, spec.directory), find_reachable)
        ) as memory:
            async with _live(worker, pool, memory, resources, _origin(spec)) as endpoint:
                yield endpoint
    finally:
        registry.close()


@asynccontextmanager
async def _live(
    worker: RegistryWorker[Inventory],
    pool: UpstreamPool,
    memory: MemoryUpstream,
    resources: EndpointResources,
    origin: CallOrigin,
) -> AsyncGenerator[LiveEndpoint]:
    """Build an endpoint and run its tasks; record the remaining calls when it ends."""
    first, warning = await worker.run(Inventory.lists), await worker.run(_warning)
    await worker.run(_log_problems)
    spool = CallSpool(resources.data_directory)
    journal = await worker.run(_journal, resources.data_directory) if resources.keeps_journal else None
    recorder = CallRecorder(worker, spool, origin, journal)
    router, signal = ResourceRouter(pool), ChangeSignal()
    discovery = ToolDiscovery(resources.open_registry)
    results = ResultStore(resources.data_directory, resources.now)
    await to_thread.run_sync(results.sweep)
    error: Exception | None = None
    try:
        async with anyio.create_task_group() as group:
            keeper = ServerListKeeper(worker, resources.read_offer)
            refresher = InventoryRefresher(worker, pool, memory, keeper, group, signal)
            lists = CurrentLists(worker, pool, refresher, first)
            own_tools = OwnToolHandler(worker, lists, discovery)
            calls = CallHandler(
                worker=worker,
                pool=pool,
                memory=memory,
                own_tools=own_tools,
                lists=lists,
                refresher=refresher,
                router=router,
                recorder=recorder,
                results=results,
                now=resources.now,
                metrics=resources.metrics,
            )
            feed = ChangeFeed(worker, lists, refresher, signal, resources.open_notifier)
            endpoint = LiveEndpoint(
                pool=pool,
                lists=lists,
                refresher=refresher,
                calls=calls,
                router=router,
                feed=feed,
                warning=warning,
            )
            await worker.run(Inventory.follow, signal.from_threads())
            for task in (recorder.run, feed.run, feed.watch_files, endpoint.follow_servers):
                group.start_soon(task)
            try:
                yield endpoint
            except Exception as raised:  # raised below, outside the task group
                error = raised
            finally:
                feed.stop()
            group.cancel_scope.cancel()
    finally:
        await recorder.flush()
        await discovery.close()
        results.close()
    if error is not None:
        raise error


def _log_problems(inventory: Inventory) -> None:
    """Log what is wrong with Remit's own files: an invalid one may hide every tool."""
    for problem in inventory.registry.configuration.problems(inventory.context.workspace):
        _log.warning("%s: %s", problem.source, problem.reason)


def _warning(inventory: Inventory) -> str:
    """Say that hooks are off: only the gateway can, because they do not run."""
    found = inventory.registry.protection.notices(inventory.context)
    return notices_section([notice for notice in found if notice.kind is NoticeKind.HOOKS])


def _context(registry: Registry, spec: EndpointSpec) -> Context:
    return registry.at(
        spec.directory,
        spec.client,
        is_headless=spec.is_headless,
        agent=spec.agent,
        parents=spec.parents,
        mode=spec.mode,
    )


def _journal(inventory: Inventory, data_directory: str) -> CallJournal:
    context = inventory.context
    return CallJournal(data_directory, context.client or DEFAULT_CLIENT, context.workspace)


def _origin(spec: EndpointSpec) -> CallOrigin:
    parts = [f"a/{each}" for each in (*reversed(spec.parents), spec.agent) if each is not None]
    parts += [f"rooms/{spec.room}"] if spec.room is not None else []
    return CallOrigin("/".join(parts), spec.client, spec.agent)
