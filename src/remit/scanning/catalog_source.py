"""Supplying: for those who keep a catalog in memory, what it is made of and whether it is still right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from remit.catalog.listing import Listings
from remit.configuration.layers import combine
from remit.configuration.merged_configuration import Configuration
from remit.decision.context import Context
from remit.decision.decide import ToolDecision
from remit.decision.declarations import Declaration, Key, Resolved
from remit.decision.tools import Tool
from remit.files.file_stamps import FileStamps
from remit.policy.audit import AUDIT_LIFETIME, MOST_AUDITED, AuditEntry
from remit.scanning.scanner import Scanner
from remit.states.context_states import States
from remit.upstream.upstream_model import Offer, ServerExtras

if TYPE_CHECKING:
    from remit.scanning.ports import Sources
    from remit.store.ports import Clock, Store

_PRUNE_EVERY = 60_000  # milliseconds


class Configured(NamedTuple):
    """What Remit's own files say."""

    configuration: Configuration
    context: Context  # with what they say of states and policy
    files: Sequence[str]  # all that count, whether they exist or not
    said: object  # equal, where it came to the same though it was read again


class Supplying:
    """Tells cheaply whether anything changed, and hands over the parts of a catalog."""

    def __init__(
        self,
        store: Store,
        sources: Sources,
        clock: Clock,
        scanner: Scanner,
        states: States,
        listings: Listings,
    ) -> None:
        self._store = store
        self._sources = sources
        self._clock = clock
        self._scanner = scanner
        self._states = states
        self._listings = listings
        self._unconfigured = combine((), {})
        self._pruned_at = 0

    def inputs(self, context: Context) -> Mapping[str, str]:
        """List what the last scan looked at, with the fingerprints it found."""
        found = (self._store.inputs(context.view(client)) for client in self._scanner.clients(context))
        return {name: seen for inputs in found for name, seen in inputs.items()}

    def are_unchanged(self, inputs: Mapping[str, str]) -> bool:
        """Tell whether a scan that found these inputs would find them again."""
        return self._sources.is_unchanged(inputs)

    def stamps(self, inputs: Iterable[str]) -> FileStamps:
        """Remember how files and variables are now, to look often whether that changed."""
        return self._sources.stamps(inputs)

    def places(self, context: Context) -> list[str]:
        """Name the files and directories that a catalog and the states depend on, and those of the store."""
        return [*self._scanner.places(context), *self._states.places(context), *self._store.files()]

    def revision(self) -> int:
        """Count the changes of what is stored of tools and trust; uses and states do not count."""
        return self._store.catalog_revision()

    def resolved(self, context: Context) -> Sequence[Resolved]:
        """Read everything again, for what is in the entries themselves and never stored."""
        return self._scanner.resolved(context)

    def configured(self, context: Context) -> Configured:
        """Tell what Remit's own files say, and give it to a context."""
        current = self._states.current(context)
        if current is None:
            return Configured(self._unconfigured, context, (), None)
        ruled = replace(context, requirements=current.requirements, policy=current.compiled.policy)
        said = (current.loaded, current.trusted)
        return Configured(current.configuration, ruled, tuple(current.inputs), said)

    def tools(self, context: Context) -> Sequence[Tool]:
        """List every tool that is known, without deciding."""
        return self._listings.tools(context)

    def listing(self, context: Context) -> tuple[Context, list[ToolDecision]]:
        """List every tool with the decision about it, and the context in which that was made.

        A context that has a snapshot is taken as it is.
        """
        return self._listings.list(context)

    @property
    def has_filters(self) -> bool:
        """Whether functions say which tools may be used."""
        return self._listings.has_filters

    def uses_here(self, context: Context) -> Mapping[Key, tuple[int, int]]:
        """Tell how often tools were used in the project, and when last, by their keys."""
        return self._store.uses_here(context.workspace)

    def extras(self, context: Context) -> Mapping[Key, ServerExtras]:
        """List what servers offer besides tools, by the servers' keys."""
        return self._store.servers.extras(context.workspace)

    def keep(self, declaration: Declaration, offer: Offer, context: Context) -> None:
        """Keep what came of asking a server."""
        self._store.servers.keep(declaration, offer, context.workspace, self._clock())

    def add_audit(self, entries: Sequence[AuditEntry], context: Context) -> None:
        """Keep what became of calls, and drop what is too old or too much."""
        at = self._clock()
        self._store.add_audit(entries, context.workspace, at)
        if at - self._pruned_at > _PRUNE_EVERY:
            self._store.prune_audit(at - AUDIT_LIFETIME, MOST_AUDITED)
            self._pruned_at = at

    def audit(self, context: Context, *, limit: int = 100) -> Sequence[AuditEntry]:
        """List what became of the last calls in the project, the newest first."""
        return self._store.audit(context.workspace, limit)
