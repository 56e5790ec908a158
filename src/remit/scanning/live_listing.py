"""Connecting: which servers may be asked for their tools, and keeping what they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from remit.upstream.upstream_model import Offer, Upstream, upstream

if TYPE_CHECKING:
    from remit.catalog.listing import Listings
    from remit.decision.declarations import Declaration, Key
    from remit.decision.tools import Tool
    from remit.scanning.ports import Upstreams
    from remit.scanning.scanner import Scanner
    from remit.store.ports import Clock, Store


class ServerListing(NamedTuple):
    """A server that was to be asked for its tools; without an offer, the decision says why it was not."""

    tool: Tool
    decision: Decision
    offer: Offer | None

    @property
    def why_not(self) -> str:
        """Why it was not asked, where it was not."""
        return "its file cannot be read now" if self.decision.is_available else self.decision.reason


class LiveListing:
    """Starts or reaches servers, and keeps the tools they list."""

    def __init__(self, store: Store, scanner: Scanner, listings: Listings, clock: Clock) -> None:
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
        """Ask the servers in force here, or those that are named.

        Raises:
            UnknownServerError: no server of a given name is known here.
            ValueError: the deadline is no time.
        """
        if not deadline > 0:  # nor is it when it is not a number
            raise ValueError("a deadline is a number of seconds above 0")
        declared = {item.declaration.key: item.declaration for item in self._scanner.resolved(context)}
        context, listed = self._listings.list(replace(context, starts_servers=True))
        chosen = _to_connect(listed, names, context)
        asked = [
            started
            for item in chosen
            if (found := _as_decided(item, declared)) is not None
            and (
                started := upstream(
                    found, workspace=context.workspace.dir, home=context.home, deadline=deadline
                )
            )
            is not None
        ]
        offers: dict[Key, Offer] = {}

        def keep(asked_one: Upstream, offer: Offer) -> None:
            offers[asked_one.key] = offer
            self._store.servers.keep(declared[asked_one.key], offer, context.workspace, self._clock())
            on_progress(Progress(len(offers), len(asked), asked_one.label, offer))

        on_progress(Progress(0, len(asked)))
        if asked:
            upstreams.ask(asked, keep)
        return [ServerListing(tool, decision, offers.get(tool.key)) for tool, decision in chosen]

    def find(self, name: str, context: Context) -> Upstream:
        """Find the server of a name that may be started or reached here.

        Raises:
            UnknownServerError: no server of this name is known here.
            UpstreamError: it may not be started, or its entry cannot be read now.
        """
        declared = {item.declaration.key: item.declaration for item in self._scanner.resolved(context)}
        context, listed = self._listings.list(replace(context, starts_servers=True))
        (item,) = _to_connect(listed, [name], context)
        found = _as_decided(item, declared)
        place, home = context.workspace.dir, context.home
        made = None if found is None else upstream(found, workspace=place, home=home, deadline=DEADLINE)
        if made is None:
            decision = item.decision
            reason = "its file cannot be read now" if decision.is_available else decision.reason
            raise UpstreamError(f"`{name}` cannot be used here: {reason}", hint=decision.unlock)
        return made


def _as_decided(item: ToolDecision, declared: dict[Key, Declaration]) -> Declaration | None:
    """Find the entry that was decided about; None where it may not be started, or is another one by now."""
    found = declared.get(item.tool.key) if item.decision.is_available else None
    return found if found is not None and found.digest == item.tool.digest else None


def _to_connect(listed: Sequence[ToolDecision], names: Sequence[str], context: Context) -> list[ToolDecision]:
    """Choose the servers to ask: the named ones, else all in force and those that only wait for trust."""
    # What only one agent brings along is started by that agent's client.
    # What Remit itself brings along need not be asked.
    servers = [
        item
        for item in listed
        if item.tool.kind is Kind.MCP_SERVER and item.tool.agent is None and item.tool.source != REMIT
    ]
    if names:
        return list(_chosen(servers, names))
    as_client = replace(context, starts_servers=False)
    return [
        item for item in servers if item.decision.is_available or decide(item.tool, as_client).is_available
    ]


def _chosen(servers: Sequence[ToolDecision], names: Sequence[str]) -> Iterator[ToolDecision]:
    for name in dict.fromkeys(names):
        found = find(name, servers)
        if not found:
            raise UnknownServerError(
                f"no server is called `{name}` here", hint="`remit tools --all` lists the servers"
            )
        yield min(found, key=closest_to_being_visible)
