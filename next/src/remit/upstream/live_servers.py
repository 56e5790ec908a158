"""Asks many servers for their tools, side by side, and stores what they answer; for synchronous callers."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import anyio
from anyio.from_thread import start_blocking_portal

from remit.config import data_directory
from remit.decision import (
    REMIT,
    Context,
    Decision,
    Declaration,
    Face,
    Failure,
    Kind,
    Offer,
    Tool,
    ToolDecision,
    closest_to_being_visible,
    find,
    needs_trust,
)
from remit.errors import NotFoundError, UpstreamError
from remit.files import this_machine
from remit.trust import Inspector, OtherTools, PreparedList
from remit.upstream.launch import Launcher, LocalLauncher
from remit.upstream.model import DEADLINE, ServerOptions, Upstream, make_upstreams
from remit.upstream.pool import UpstreamPool, open_pool

if TYPE_CHECKING:
    from remit.catalog import Registry

MAX_CONCURRENT = 8


class ServerListing(NamedTuple):
    """A server and what it offers; None: it was not asked."""

    tool: Tool
    decision: Decision
    offer: Offer | None = None

    @property
    def failure(self) -> str | None:
        """Why there is no list."""
        if self.offer is not None:
            return None if self.offer.failure is None else self.offer.failure.reason
        return "its file cannot be read now" if self.decision.is_available else self.decision.full_reason


def refresh(
    registry: "Registry",
    context: Context,
    names: Sequence[str],
    on_progress: Callable[[ServerListing], None],
    *,
    launcher: Launcher | None = None,
    inspector: Inspector | None = None,
    deadline: float = DEADLINE,
) -> list[ServerListing]:
    """Ask the named servers, or all available ones, and store their lists as each arrives.

    Raises:
        NotFoundError: a name is no server's here.
    """
    context = context._replace(face=Face.GATEWAY)  # Remit starts them
    catalog = registry.catalog(context)
    chosen = _chosen(registry.tools(context), names)

    def options(declaration: Declaration) -> ServerOptions:
        project, source = declaration.project_hash, declaration.source
        is_projects = needs_trust(declaration.scope, project, source, context.workspace)
        label, plugin = declaration.server or "", declaration.plugin
        return catalog.configuration.options(label, plugin, is_projects=is_projects)

    trusted = registry.store.trust.entries(context.workspace)
    upstreams = make_upstreams(catalog.resolved, chosen, context, options, trusted, catalog.offers)
    listings = {row.tool.key: ServerListing(*row) for row in chosen}

    def keep(upstream: Upstream, offer: Offer) -> None:
        declaration = catalog.declarations[upstream.key].declaration
        prepared, store = PreparedList(declaration, offer, inspector), registry.store
        known = store.listings.known(declaration, prepared.digests, context.workspace)
        prepared.inspect(known, OtherTools(*store.listings.names(context.workspace)))
        prepared.keep(store, context.workspace, time.time_ns() // 1_000_000)
        listings[upstream.key] = listing = listings[upstream.key]._replace(offer=offer)
        on_progress(listing)

    if launcher is None:
        machine = this_machine()
        launcher = LocalLauncher(machine.variables, machine.home, data_directory(machine))
    ask_all([replace(upstream, deadline=deadline) for upstream in upstreams.values()], launcher, keep)
    return list(listings.values())


def ask_all(
    upstreams: Sequence[Upstream], launcher: Launcher, on_answer: Callable[[Upstream, Offer], None]
) -> None:
    """Ask servers, a few at once; a failure is an answer.

    `on_answer` runs in the caller's thread, to which the store belongs, so a slow one delays no server.
    """
    limit = anyio.Semaphore(MAX_CONCURRENT)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_pool(launcher, on_list=_ignore)) as pool,
    ):
        asked = {portal.start_task_soon(_ask, pool, upstream, limit): upstream for upstream in upstreams}
        for future in as_completed(asked):
            on_answer(asked[future], future.result())


async def _ask(pool: UpstreamPool, upstream: Upstream, limit: anyio.Semaphore) -> Offer:
    async with limit:
        try:
            offer = await pool.list(upstream)
        except UpstreamError as error:
            offer = Offer(failure=Failure(error.reason, error.hint, error.next_step, error.output))
        await pool.drop({upstream.key})
        return offer


async def _ignore(upstream: Upstream, offer: Offer) -> None:
    del upstream, offer


def _chosen(rows: Sequence[ToolDecision], names: Sequence[str]) -> list[ToolDecision]:
    """Choose servers, except what agents declare, which the client starts, and Remit's own."""
    servers = [
        row
        for row in rows
        if row.tool.kind is Kind.MCP_SERVER and row.tool.agent is None and row.tool.source != REMIT
    ]
    if not names:
        return [row for row in servers if row.decision.is_available]
    chosen: list[ToolDecision] = []
    for name in dict.fromkeys(names):
        called = find(name, servers)
        if not called:
            hint = "`remit tools --all` lists the servers"
            raise NotFoundError(f"no server is called `{name}` here", hint=hint)
        chosen.append(min(called, key=closest_to_being_visible))
    return chosen
