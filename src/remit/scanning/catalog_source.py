"""The parts of a catalog, and cheap change checks, for callers that keep one in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from remit.catalog.listing import Listings
    from remit.configuration.merged_configuration import Configuration
    from remit.decision.context import Context
    from remit.decision.decide import ToolDecision
    from remit.decision.declarations import Declaration, Key, Resolved
    from remit.decision.tools import Definition, Tool
    from remit.files.file_stamps import FileStamps
    from remit.scanning.ports import Sources
    from remit.scanning.scanner import Scanner
    from remit.states.state_service import StateService
    from remit.store.prepared_server_list import PreparedServerList
    from remit.store.sql_store import SqlStore
    from remit.text.times import Clock
    from remit.trust.server_sandbox import ServerSandboxes
    from remit.trust.start_permit import ForeignVariables
    from remit.upstream.upstream_model import Offer, ServerExtras


class CatalogConfiguration(NamedTuple):
    """Remit's own configuration, applied to a context."""

    configuration: Configuration
    context: Context  # with the rules for states and policy
    files: Sequence[str]  # including missing ones
    said: object  # compares equal if reading the files again gave the same result


class CatalogSource:
    """Tells cheaply whether anything changed, and returns the parts of a catalog."""

    def __init__(
        self,
        store: SqlStore,
        sources: Sources,
        clock: Clock,
        scanner: Scanner,
        states: StateService,
        listings: Listings,
    ) -> None:
        self._store = store
        self._sources = sources
        self._clock = clock
        self._scanner = scanner
        self._states = states
        self._listings = listings

    def inputs(self, context: Context) -> Mapping[str, str]:
        """Map the inputs of the last scan to their fingerprints."""
        return self._scanner.inputs(context)

    def are_unchanged(self, inputs: Mapping[str, str]) -> bool:
        """Tell whether all inputs still have these fingerprints."""
        return self._sources.is_unchanged(inputs)

    def stamps(self, inputs: Iterable[str]) -> FileStamps:
        """Stamp files and variables, to check cheaply and often whether they changed."""
        return self._sources.stamps(inputs)

    def places(self, context: Context) -> list[str]:
        """List the files and directories that the catalog and the states depend on, and the store's files."""
        return [*self._scanner.paths(context), *self._states.paths(context), *self.store_files()]

    def store_files(self) -> list[str]:
        """List the files that change whenever any process writes to the store."""
        return self._store.database.files()

    def revision(self) -> int:
        """Return the revision of stored tools and trust, which usage and states do not change."""
        return self._store.database.catalog_revision()

    def known_revision(self) -> int | None:
        """Return the same if it is known without asking a server; else None."""
        return self._store.database.known_catalog_revision()

    def follow(self, tell: Callable[[], object]) -> None:
        """Call a function from another thread after each change of the store that no file shows."""
        self._store.database.follow(tell)

    def resolved(self, context: Context) -> Sequence[Resolved]:
        """Read and resolve everything again, including launches, which are never stored."""
        return self._scanner.resolved(context)

    def configured(self, context: Context) -> CatalogConfiguration:
        """Read Remit's own files, and add their rules to a context."""
        current = self._states.configuration.current(context.workspace)
        said = (current.loaded, current.trusted, current.filters)
        applied = self._listings.with_permissions(current.applied_to(context))
        files = (*current.inputs, *current.configuration.filters)
        return CatalogConfiguration(current.configuration, applied, files, said)

    def tools(self, context: Context) -> Sequence[Tool]:
        """List every known tool, without decisions."""
        return self._listings.tools(context)

    def definitions(self, tools: Iterable[Tool], context: Context) -> Mapping[Key, Definition]:
        """Map the keys of tools to their definitions."""
        return self._store.definitions(tools, context.workspace)

    def listing(self, context: Context) -> tuple[Context, list[ToolDecision]]:
        """List every tool with its decision, and return the context of the decisions.

        A context with a snapshot is used unchanged.
        """
        return self._listings.list(context)

    def has_filters(self, context: Context) -> bool:
        """Tell whether there are filters for a context with rules."""
        return self._listings.has_filters(context)

    def filtered(self, context: Context) -> Context:
        """Add the filters to a context with rules and a snapshot."""
        return self._listings.filtered(context)

    def uses_here(self, context: Context) -> Mapping[Key, tuple[int, int]]:
        """Map the keys of tools to their number of uses in the project, and the last use."""
        return self._store.uses_here(context.workspace)

    def extras(self, context: Context) -> Mapping[Key, ServerExtras]:
        """Map the keys of servers to their offers other than tools."""
        return self._store.servers.extras(context.workspace)

    def trusts(self, context: Context) -> Mapping[Key, str]:
        """Map the keys of servers to the digests of the entries that the user trusts."""
        return self._store.servers.trusts(context.workspace)

    def foreign_variables(self, context: Context) -> ForeignVariables:
        """Return what names the variables that files of the repository set for a client."""
        return self._scanner.foreign_variables(context)

    def sandboxes(self, context: Context) -> ServerSandboxes:
        """Return the sandboxes that servers start in."""
        return self._scanner.sandboxes(context)

    def keep(self, declaration: Declaration, offer: Offer, context: Context) -> None:
        """Store a server's offer."""
        self._store.servers.keep(declaration, offer, context.workspace, self._clock())

    def compare(self, listing: PreparedServerList, context: Context) -> None:
        """Tell a listing what is stored; then it can be judged in any thread."""
        self._store.servers.compare(listing, context.workspace)

    def keep_judged(self, listing: PreparedServerList, context: Context) -> None:
        """Store a listing that was judged."""
        self._store.servers.keep_judged(listing, context.workspace, self._clock())
