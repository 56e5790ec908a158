"""The usage service: records what agents use and report, and sums it up."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from remit.catalog.contexts import DEFAULT_CLIENT
from remit.decision.client_reports import CallOutcome, ReportedTool
from remit.decision.context import Context
from remit.decision.decide import ToolDecision
from remit.decision.kinds import Authority, Kind
from remit.decision.projects import DEFAULT_FLAGS
from remit.decision.scopes import Scope
from remit.decision.tool_names import canonical, classify, storable
from remit.decision.tools import Definition, builtin_tool
from remit.usage.reports import ProjectUse, PruneProposal, UsageReport, proposals, usage

if TYPE_CHECKING:
    from remit.scanning.scanner import Scanner
    from remit.states.state_service import StateService
    from remit.store.sql_store import SqlStore
    from remit.text.times import Clock
    from remit.usage.call_batch import CallBatch


class UsageService:
    """Records uses and reported tools, and reports on them."""

    def __init__(
        self,
        store: SqlStore,
        scanner: Scanner,
        states: StateService,
        clock: Clock,
        list_tools: Callable[[Context], Sequence[ToolDecision]],
    ) -> None:
        self._store = store
        self._scanner = scanner
        self._states = states
        self._clock = clock
        self._list_tools = list_tools

    def record(
        self,
        name: str,
        context: Context,
        *,
        server: str | None = None,
        session_id: str | None = None,
        call_id: str | None = None,
        succeeded: bool | None = None,
        duration_ms: int | None = None,
    ) -> bool:
        """Count one use of a tool; False when the same call was reported before."""
        outcome = CallOutcome(
            session_id=session_id, call_id=call_id, succeeded=succeeded, duration_ms=duration_ms
        )
        return self._store.record(self._reported(name, context, Authority.HOOK, server=server), outcome)

    def record_calls(self, batch: CallBatch, context: Context) -> None:
        """Record calls of a context, once: count the uses, each of the tool that answered, and audit them."""
        self._refresh(context)
        self._store.record_calls(batch)

    def deliver(self, batch: CallBatch) -> None:
        """Record calls that waited for the store, unless that was done before."""
        self._store.record_calls(batch)

    def report_tool(
        self,
        name: str,
        context: Context,
        *,
        description: str | None = None,
        input_schema: Mapping[str, object] | None = None,
    ) -> None:
        """Store an agent's description of one of its tools, for this project."""
        parsed, scope = classify(canonical(name)), None
        if parsed.kind is Kind.BUILTIN and builtin_tool(name, context.client or DEFAULT_CLIENT) is None:
            scope = Scope.PROJECT  # only what the client is known to have itself is the same in every project
        definition = Definition(
            name=canonical(name),
            server=parsed.server,
            description=None if description is None else storable(description),
            input_schema=None if input_schema is None else json.dumps(input_schema, sort_keys=True),
        )
        self._store.report(definition, self._reported(name, context, Authority.REPORT, scope=scope))

    def report(self, context: Context) -> UsageReport:
        """Report the usage here, and the available tools that were never used."""
        client, workspace = context.client or DEFAULT_CLIENT, context.workspace
        own = [item for item in self._list_tools(context) if context.client in (None, item.tool.client)]
        sessions = self._store.sessions
        return usage(own, sessions.totals(workspace), sessions.sessions(workspace, client))

    def by_project(self) -> Sequence[ProjectUse]:
        """Report how much each of this user's projects used, without naming tools."""
        return self._store.sessions.projects()

    def proposals(self, context: Context) -> list[PruneProposal]:
        """Propose to switch off tools here that are unused for long or only fail."""
        return proposals(self.report(context), now=self._clock())

    def _reported(
        self,
        name: str,
        context: Context,
        authority: Authority,
        *,
        server: str | None = None,
        scope: Scope | None = None,
    ) -> ReportedTool:
        self._refresh(context)
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

    def _refresh(self, context: Context) -> None:
        # The default view determines where a tool belongs.
        self._scanner.refresh(replace(context, flags=DEFAULT_FLAGS))
        self._states.configuration.current(context.workspace)  # a success may change a state
