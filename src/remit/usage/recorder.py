"""Recording: what agents use and report, and the projects that something is kept about."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from remit.catalog.contexts import DEFAULT_CLIENT
from remit.decision.client_reports import CallOutcome, ReportedTool
from remit.decision.context import Context
from remit.decision.kinds import Authority
from remit.decision.projects import DEFAULT_FLAGS, Project
from remit.decision.scopes import Scope
from remit.decision.tool_names import canonical, classify, storable
from remit.decision.tools import Definition
from remit.errors import NoSuchDirectoryError, UnknownProjectError
from remit.scanning.scanner import Scanner
from remit.states.context_states import States

if TYPE_CHECKING:
    from remit.scanning.ports import Sources
    from remit.store.ports import Clock, Store


class Recording:
    """Keeps what agents use and report, where it belongs."""

    def __init__(
        self, store: Store, sources: Sources, scanner: Scanner, states: States, clock: Clock
    ) -> None:
        self._store = store
        self._sources = sources
        self._scanner = scanner
        self._states = states
        self._clock = clock

    def record(self, name: str, use: CallOutcome, context: Context, *, server: str | None) -> bool:
        """Count one use of a tool; False when the same call was reported before."""
        return self._store.record(self._reported(name, context, Authority.HOOK, server=server), use)

    def record_all(self, used: Iterable[tuple[str, str | None, CallOutcome]], context: Context) -> None:
        """Count many uses at once, of tools by name and server."""
        seen = self._reported("", context, Authority.HOOK, server=None)
        self._store.record_all(
            (seen._replace(name=name, server=None if server is None else storable(server)), use)
            for name, server, use in used
        )

    def report(
        self,
        name: str,
        context: Context,
        *,
        description: str | None,
        input_schema: Mapping[str, object] | None,
        server: str | None,
        scope: Scope | None,
    ) -> None:
        """Keep what an agent says of one of its tools, for this project.

        Raises:
            ValueError: the scope is `managed`, which only an administrator's files give.
        """
        if scope is Scope.MANAGED:
            raise ValueError("an agent cannot report a tool as managed")
        definition = Definition(
            name=canonical(name),
            server=server or classify(canonical(name)).server,
            description=None if description is None else storable(description),
            input_schema=None if input_schema is None else json.dumps(input_schema, sort_keys=True),
        )
        self._store.report(
            definition, self._reported(name, context, Authority.REPORT, server=server, scope=scope)
        )

    def find_project(self, name: str) -> Project:
        """Find a project that something is stored about, by its hash or a directory in it.

        Raises:
            UnknownProjectError: nothing is stored about it.
        """
        clean = storable(name)
        found = None
        if clean.strip():  # nothing is no directory, and not this one
            found = self._store.find_project(clean) or self._store.find_project(self._project_path(clean))
        if found is None:
            raise UnknownProjectError(
                f"nothing is stored about `{clean}`", hint="name a project's directory, or its hash"
            )
        return found

    def _project_path(self, directory: str) -> str:
        try:
            return self._sources.locate(directory).project.path
        except NoSuchDirectoryError:  # a project may be forgotten after its directory is gone
            return self._sources.canonical(directory)

    def _reported(
        self,
        name: str,
        context: Context,
        authority: Authority,
        *,
        server: str | None,
        scope: Scope | None = None,
    ) -> ReportedTool:
        self._scanner.refresh(
            replace(context, flags=DEFAULT_FLAGS)
        )  # the usual view tells where a tool belongs
        self._states.read_configuration(context)  # a success may change a state
        return ReportedTool(
            name=name,
            client=context.client or DEFAULT_CLIENT,
            workspace=context.workspace,
            authority=authority,
            at=self._clock(),
            is_scanned=True,
            server=None if server is None else storable(server),
            scope=scope,
        )
