"""The parts of a catalog, and whether they changed, for those that keep one in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    from remit.store.ports import Clock, Store
    from remit.upstream.upstream_model import Offer, ServerExtras


class CatalogConfiguration(NamedTuple):
    """What Remit's own files say."""

    configuration: Configuration
    context: Context  # with the rules for states and policy
    files: Sequence[str]  # all that count, whether they exist or not
    said: object  # equal where reading the files again gave the same


class CatalogSource:
    """Tells cheaply whether anything changed, and returns the parts of a catalog."""

    def __init__(
        self,
        store: Store,
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
        """Map what the last scan looked at to the fingerprints it found."""
        return self._scanner.inputs(context)

    def are_unchanged(self, inputs: Mapping[str, str]) -> bool:
        """Tell whether a scan that found these inputs would find them again."""
        return self._sources.is_unchanged(inputs)

    def stamps(self, inputs: Iterable[str]) -> FileStamps:
        """Stamp files and variables as they are now, to check often whether they changed."""
        return self._sources.stamps(inputs)

    def places(self, context: Context) -> list[str]:
        """Name the files and directories that a catalog and the states depend on, and those of the store."""
        return [*self._scanner.paths(context), *self._states.paths(context), *self._store.files()]

    def revision(self) -> int:
        """Count the changes of stored tools and trust; uses and states do not count."""
        return self._store.catalog_revision()

    def resolved(self, context: Context) -> Sequence[Resolved]:
        """Read everything again, and return it with the entries, which are never stored."""
        return self._scanner.resolved(context)

    def configured(self, context: Context) -> CatalogConfiguration:
        """Read Remit's own files, and add their rules to a context."""
        current = self._states.configuration.current(context.workspace)
        said = (current.loaded, current.trusted)
        return CatalogConfiguration(
            current.configuration, current.applied_to(context), tuple(current.inputs), said
        )

    def tools(self, context: Context) -> Sequence[Tool]:
        """List every known tool, without deciding."""
        return self._listings.tools(context)

    def definitions(self, tools: Iterable[Tool], context: Context) -> Mapping[Key, Definition]:
        """Map the keys of tools to their definitions."""
        return self._store.definitions(tools, context.workspace)

    def listing(self, context: Context) -> tuple[Context, list[ToolDecision]]:
        """List every tool with its decision, and the context that was decided in.

        A context that has a snapshot is taken as it is.
        """
        return self._listings.list(context)

    @property
    def has_filters(self) -> bool:
        """Whether the application added filters."""
        return self._listings.has_filters

    def uses_here(self, context: Context) -> Mapping[Key, tuple[int, int]]:
        """Map the keys of tools to how often the project used them, and when last."""
        return self._store.uses_here(context.workspace)

    def extras(self, context: Context) -> Mapping[Key, ServerExtras]:
        """Map the keys of servers to what they offer besides tools."""
        return self._store.servers.extras(context.workspace)

    def keep(self, declaration: Declaration, offer: Offer, context: Context) -> None:
        """Store what a server answered."""
        self._store.servers.keep(declaration, offer, context.workspace, self._clock())
