"""The live listing: connects to the servers that may be started, and stores the tools they list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.context import Context
from remit.decision.decide import Decision, ToolDecision, decide
from remit.decision.kinds import Kind
from remit.decision.tool_lookup import closest_to_being_visible, find
from remit.decision.tool_names import REMIT
from remit.errors import UnknownServerError, UpstreamError
from remit.scanning.scanner import Progress
from remit.settings import DEADLINE
from remit.trust.start_permit import permit_start
from remit.upstream.upstream_model import Offer, Upstream, upstream, with_options

if TYPE_CHECKING:
    from remit.catalog.listing import Listings
    from remit.decision.declarations import Key, Resolved
    from remit.decision.tools import Tool
    from remit.scanning.ports import Upstreams
    from remit.scanning.scanner import Scanner
    from remit.store.sql_store import SqlStore
    from remit.text.times import Clock


class ServerListing(NamedTuple):
    """A server and its offer; without an offer, it was skipped."""

    tool: Tool
    decision: Decision
    offer: Offer | None

    @property
    def why_not(self) -> str:
        """The reason why the server was skipped."""
        return "its file cannot be read now" if self.decision.is_available else self.decision.full_reason


class ServerLister:
    """Connects to servers, and stores the tools they list."""

    def __init__(self, store: SqlStore, scanner: Scanner, listings: Listings, clock: Clock) -> None:
        self._store = store
        self._scanner = scanner
        self._listings = listings
        self._clock = clock

    def connect(
        self,
        context: Context,
        upstreams: Upstreams,
        *,
        names: Sequence[str] = (),
        deadline: float = DEADLINE,
        on_progress: Callable[[Progress], None] = lambda _: None,
    ) -> list[ServerListing]:
        """List the tools of the active servers, or of the named ones.

        Raises:
            UnknownServerError: a named server is not known here.
            ValueError: the deadline is not positive.
        """
        if not deadline > 0:  # also rejects NaN
            raise ValueError("the deadline must be a number of seconds above 0")
        declared = {item.declaration.key: item for item in self._scanner.resolved(context)}
        context, listed = self._listings.list(replace(context, starts_servers=True))
        chosen = _to_connect(listed, names, context)
        started = (self._permitted(item, declared, context, deadline) for item in chosen)
        asked = [each for each in started if each is not None]
        offers: dict[Key, Offer] = {}

        def keep(asked_one: Upstream, offer: Offer) -> None:
            offers[asked_one.key] = offer
            if not offer.is_elsewhere:
                self._store.servers.keep(
                    declared[asked_one.key].declaration, offer, context.workspace, self._clock()
                )
            on_progress(Progress(len(offers), len(asked), asked_one.label, offer))

        on_progress(Progress(0, len(asked)))
        if asked:
            upstreams.ask(asked, keep)
        return [ServerListing(tool, decision, offers.get(tool.key)) for tool, decision in chosen]

    def upstreams(self, context: Context) -> list[Upstream]:
        """List the servers that may be started here, without starting any; store nothing."""
        declared = {item.declaration.key: item for item in self._scanner.last_resolved(context)}
        context, listed = self._listings.list(replace(context, starts_servers=True))
        made = (self._permitted(item, declared, context, DEADLINE) for item in _servers(listed))
        return [each for each in made if each is not None]

    def find(self, name: str, context: Context) -> Upstream:
        """Find a server by name, ready to connect to.

        Raises:
            UnknownServerError: the server is not known here.
            UpstreamError: the server may not be started, or its entry cannot be read now.
        """
        declared = {item.declaration.key: item for item in self._scanner.resolved(context)}
        context, listed = self._listings.list(replace(context, starts_servers=True))
        (item,) = _to_connect(listed, [name], context)
        made = self._permitted(item, declared, context, DEADLINE)
        if made is None:
            decision = item.decision
            reason = "its file cannot be read now" if decision.is_available else decision.full_reason
            raise UpstreamError(f"`{name}` cannot be used here: {reason}", hint=decision.unlock)
        return made

    def _permitted(
        self, item: ToolDecision, declared: Mapping[Key, Resolved], context: Context, deadline: float
    ) -> Upstream | None:
        """Make the upstream of a server that may be started; None for others."""
        found = _as_decided(item, declared)
        if found is None:
            return None
        permit = permit_start(
            found,
            context.workspace,
            home=context.home,
            trusts=self._store.servers.trusts(context.workspace),
            sandboxes=self._scanner.sandboxes(context),
            foreign=self._scanner.foreign_variables(context),
        )
        if permit is None:
            return None
        options = self._scanner.server_options(found.declaration, context)
        return with_options(upstream(found.declaration, permit, deadline=deadline), options)


def _as_decided(item: ToolDecision, declared: Mapping[Key, Resolved]) -> Resolved | None:
    """Find the declaration of a decision; None if the server may not start, or its entry changed since."""
    found = declared.get(item.tool.key) if item.decision.is_available else None
    return found if found is not None and found.declaration.digest == item.tool.digest else None


def _to_connect(listed: Sequence[ToolDecision], names: Sequence[str], context: Context) -> list[ToolDecision]:
    """Choose the servers to list: the named ones, else all active ones and those that only need trust."""
    servers = _servers(listed)
    if names:
        return list(_chosen(servers, names))
    as_client = replace(context, starts_servers=False)
    return [
        item for item in servers if item.decision.is_available or decide(item.tool, as_client).is_available
    ]


def _servers(listed: Sequence[ToolDecision]) -> list[ToolDecision]:
    """Leave out what agents declare, which the client starts, and Remit, which knows its own tools."""
    return [
        item
        for item in listed
        if item.tool.kind is Kind.MCP_SERVER and item.tool.agent is None and item.tool.source != REMIT
    ]


def _chosen(servers: Sequence[ToolDecision], names: Sequence[str]) -> Iterator[ToolDecision]:
    for name in dict.fromkeys(names):
        found = find(name, servers)
        if not found:
            raise UnknownServerError(
                f"no server is called `{name}` here", hint="`remit tools --all` lists the servers"
            )
        yield min(found, key=closest_to_being_visible)
