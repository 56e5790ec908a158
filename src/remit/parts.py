"""The parts of the registry that only some ask for: each is loaded when it first is."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.catalog.listing import Listings
    from remit.decision.context import Context
    from remit.decision.decide import ToolDecision
    from remit.doctor.setup_reader import SetupReader
    from remit.policy.approval_service import Approvals
    from remit.scanning.catalog_source import Supplying
    from remit.scanning.live_listing import Connecting
    from remit.scanning.ports import Notifier, Sources
    from remit.scanning.scanner import Scanner
    from remit.scanning.watch import Follower
    from remit.search.ports import Engine
    from remit.search.search_service import SearchService
    from remit.sessions.session_service import Sessions
    from remit.states.context_states import States
    from remit.store.ports import Clock, Store
    from remit.trust.trust_service import Trusting
    from remit.usage.recorder import Recording


class Parts:
    """Makes parts out of what a registry has."""

    def __init__(
        self,
        store: Store,
        sources: Sources,
        clock: Clock,
        engine: Engine,
        scanner: Scanner,
        states: States,
        listings: Listings,
    ) -> None:
        self._store = store
        self._sources = sources
        self._clock = clock
        self._engine = engine
        self._scanner = scanner
        self._states = states
        self._listings = listings

    @cached_property
    def approvals(self) -> Approvals:
        """What persons are asked about calls."""
        from remit.policy.approval_service import Approvals

        return Approvals(self._store.approvals, self._clock, self._callable, self._listings.definition)

    @cached_property
    def connecting(self) -> Connecting:
        """What starts or reaches servers."""
        from remit.scanning.live_listing import Connecting

        return Connecting(self._store, self._scanner, self._listings, self._clock)

    @cached_property
    def setup_reader(self) -> SetupReader:
        """What gathers all that a diagnosis needs."""
        from remit.doctor.setup_reader import SetupReader

        return SetupReader(self._scanner, self._listings, self._clock)

    @cached_property
    def recording(self) -> Recording:
        """What counts uses and keeps reports."""
        from remit.usage.recorder import Recording

        return Recording(self._store, self._sources, self._scanner, self._states, self._clock)

    @cached_property
    def search(self) -> SearchService:
        """What finds tools by words and meaning."""
        from remit.search.search_service import SearchService

        return SearchService(self._store.documents, self._engine)

    @cached_property
    def sessions(self) -> Sessions:
        """What tells agents of tools, and people of agents."""
        from remit.sessions.session_service import Sessions

        return Sessions(self._store, self._states, self._clock)

    @cached_property
    def supply(self) -> Supplying:
        """What those ask who keep a catalog in memory."""
        from remit.scanning.catalog_source import Supplying

        return Supplying(self._store, self._sources, self._clock, self._scanner, self._states, self._listings)

    @cached_property
    def trusting(self) -> Trusting:
        """What keeps which servers of a project are trusted."""
        from remit.trust.trust_service import Trusting

        return Trusting(self._store, self._scanner, self._clock)

    def follower(self, context: Context, notifier: Notifier) -> Follower:
        """Make ready to follow a context."""
        from remit.scanning.watch import Follower

        return Follower(context, self._scanner, self._states, self._store, notifier)

    def _callable(self, name: str, context: Context) -> ToolDecision:
        self._scanner.refresh(context)
        return self._listings.callable(name, context)
