"""The scanner: reads the clients' files for a workspace when they changed.

Parsing and resolving are in `source_reader`, which is loaded only when something changed.
"""

from __future__ import annotations

import os
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from remit.configuration.configuration_service import ConfigurationService
    from remit.configuration.serving_options import ServerOptions
    from remit.decision.context import Context
    from remit.decision.decide import ToolDecision
    from remit.decision.declarations import Changes, ClientReading, Declaration, Key, Resolved
    from remit.decision.problems import Problem
    from remit.decision.projects import View
    from remit.scanning.ports import Sources
    from remit.scanning.source_reader import SourceReader
    from remit.store.sql_store import SqlStore
    from remit.text.times import Clock
    from remit.trust.server_sandbox import OpenedPaths, ServerSandboxes
    from remit.trust.start_permit import ForeignVariables
    from remit.upstream.launch.start_obstacles import LaunchFacts
    from remit.upstream.upstream_model import Offer


class ScanResult(NamedTuple):
    """The changes and problems that a scan found, and all tools."""

    changes: Changes
    problems: Sequence[Problem]
    tools: Sequence[ToolDecision]
    is_first: bool = False  # this workspace was never scanned before
    invalid: Sequence[str] = ()  # Remit's own files that have errors


class ClientPresence(NamedTuple):
    """A client on this machine, or one that is not there, with its files for a workspace."""

    client: str
    files: Sequence[str]  # existing ones
    servers: int
    problems: int
    is_found: bool = True  # on this machine; another client may read the same files
    gateways: int = 0  # of the servers, those that are Remit itself


class Progress(NamedTuple):
    """The progress of listing servers, or of indexing tools."""

    done: int
    total: int
    label: str = ""  # the server that answered last
    offer: Offer | None = None


class Scanner:
    """Reads the clients' files for a workspace, and stores their declarations."""

    def __init__(
        self, store: SqlStore, sources: Sources, clock: Clock, configuration: ConfigurationService
    ) -> None:
        self._configuration = configuration
        self._store = store
        self._sources = sources
        self._clock = clock

    def clients(self, context: Context) -> Sequence[str]:
        """List the clients of a context."""
        return self._sources.clients if context.client is None else (context.client,)

    def is_first(self, context: Context) -> bool:
        """Tell whether this workspace was never scanned."""
        return not any(self._store.inputs(view) for view in self._views(context))

    def scan(self, context: Context) -> Changes:
        """Read and store everything again, and return the changes."""
        return self._reader.scan(self._views(context), is_served=context.starts_servers)

    def refresh(self, context: Context) -> None:
        """Read and store the clients whose files changed since the last scan of this workspace."""
        for view in self._changed(context):
            self._reader.scan([view], is_served=context.starts_servers)

    def is_current(self, context: Context) -> bool:
        """Tell whether nothing changed since the last scan of this workspace."""
        return next(self._changed(context), None) is None

    def paths(self, context: Context) -> list[str]:
        """List the files and directories that the last scan looked for."""
        return [name for name in self.inputs(context) if os.path.isabs(name)]

    def inputs(self, context: Context) -> dict[str, str]:
        """Map the files and variables that the last scan looked at to their fingerprints."""
        found = (self._store.inputs(view) for view in self._views(context))
        return {name: fingerprint for inputs in found for name, fingerprint in inputs.items()}

    def resolved(self, context: Context) -> list[Resolved]:
        """Read and resolve everything again, and store what changed; launches are returned, never stored."""
        found = self._reader.readings(self._views(context), is_served=context.starts_servers)
        return [item for _, resolved in found.values() for item in resolved]

    def last_resolved(self, context: Context) -> list[Resolved]:
        """Return the resolved declarations of the last scan, with launches; store nothing."""
        return self._reader.last_resolved(self._views(context))

    def readings(self, context: Context) -> Mapping[str, tuple[ClientReading, list[Resolved]]]:
        """Read everything again, and store what changed; return the readings by client."""
        return self._reader.readings(self._views(context))

    def line_of(self, path: str, *keys: str) -> int:
        """Find the line of a key in a file; 0 if it is not there."""
        return self._sources.line_of(path, *keys)

    def problems(self, context: Context) -> list[Problem]:
        """List the problems that the last scan found in the clients' files."""
        return [problem for view in self._views(context) for problem in self._store.problems(view)]

    def presences(self, context: Context) -> list[ClientPresence]:
        """List the clients with their files here; store nothing."""
        return self._reader.presences(self._views(context))

    def sandboxes(self, context: Context) -> ServerSandboxes:
        """Return the sandboxes that servers start in."""
        from remit.trust.server_sandbox import ServerSandboxes

        current = self._configuration.current(context.workspace)
        trusted = self._store.trusted_sandboxes(context.workspace)
        return ServerSandboxes(current.configuration.servers, trusted, context.workspace, context.home)

    def opened_paths(
        self, declaration: Declaration, sandboxes: ServerSandboxes, context: Context
    ) -> OpenedPaths | None:
        """Return what the sandbox of a server opens for it to run; None without a sandbox."""
        from remit.trust.trust_rule import declaration_needs_trust

        sandbox, launch = sandboxes.of(declaration), declaration.launch
        if sandbox is None or launch is None:
            return None
        is_projects = declaration_needs_trust(declaration, context.workspace)
        return self._sources.opened_paths(launch, sandbox, context.workspace, is_projects=is_projects)

    def foreign_variables(self, context: Context) -> ForeignVariables:
        """Return what names the variables that files of the repository set for a client."""
        return cache(partial(self._sources.foreign_variables, workspace=context.workspace))

    def server_options(self, declaration: Declaration, context: Context) -> ServerOptions:
        """Return how the gateway runs a server."""
        from remit.presentation.serving_plan import EndpointChoice, make_plan
        from remit.trust.trust_rule import declaration_needs_trust

        plan = make_plan(self._configuration.current(context.workspace).configuration, EndpointChoice())
        is_projects = declaration_needs_trust(declaration, context.workspace)
        return plan.run(declaration.server or "", declaration.plugin, is_projects=is_projects)

    def facts(self, resolved: Sequence[Resolved], context: Context) -> LaunchFacts:
        """Collect the facts about this machine that the launch of servers depends on."""
        declarations = [item.declaration for item in resolved]
        found = self._sources.examine(declarations, context.workspace)
        sandboxes = self.sandboxes(context)
        if sandboxes.is_empty:
            return found
        made = {each.key: sandboxes.of(each) for each in declarations}
        return self._sources.examine_sandboxes(found, made)

    def obstacles(self, context: Context, servers: Collection[Key] | None = None) -> Mapping[Key, str]:
        """Explain which servers cannot start here, without starting any."""
        from remit.upstream.launch.start_obstacles import start_obstacles

        declared = self.last_resolved(context)
        chosen = [item for item in declared if servers is None or item.declaration.key in servers]
        return start_obstacles(chosen, self.facts(chosen, context), by_remit=context.starts_servers)

    def start_fixes(self, context: Context, servers: Collection[Key]) -> Mapping[Key, str]:
        """Say how to remove the obstacles of servers that cannot start here."""
        from remit.upstream.launch.start_obstacles import start_fixes

        chosen = [item for item in self.last_resolved(context) if item.declaration.key in servers]
        return start_fixes(chosen, self.facts(chosen, context))

    def _views(self, context: Context) -> list[View]:
        return [context.view(client) for client in self.clients(context)]

    def _changed(self, context: Context) -> Iterator[View]:
        for view in self._views(context):
            if not self._sources.is_unchanged(self._store.inputs(view)):
                yield view

    @cached_property
    def _reader(self) -> SourceReader:
        from remit.scanning.source_reader import SourceReader

        return SourceReader(self._store, self._sources, self._clock)
