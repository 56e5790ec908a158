"""Lists every known tool of a workspace with the decision about it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from remit.catalog.costs import charge
from remit.decision.client_calls.direct_calls import decide_call, depends_on_catalog
from remit.decision.context import Context
from remit.decision.decide import UNKNOWN, Decision, ToolDecision, decide
from remit.decision.gates import NextStep
from remit.decision.globs import glob
from remit.decision.kinds import Authority, Kind
from remit.decision.problems import Problem, Severity
from remit.decision.row_status import adopt, without_untrusted
from remit.decision.scopes import Scope
from remit.decision.tool_lookup import closest_to_being_visible, find, near_names
from remit.decision.tool_names import GATEWAY_TOOLS, MCP, REMIT
from remit.decision.tools import Definition, Tool, needs_person
from remit.filters.filter_functions import Filter, ServerFilter
from remit.text.spelling import as_question
from remit.text.untrusted_text import one_line

if TYPE_CHECKING:
    from remit.configuration.configuration_service import ConfigurationFinding
    from remit.decision.client_reports import ClientCall
    from remit.decision.declarations import Key
    from remit.filters.filter_loader import FilterLoader, LoadedFilters
    from remit.filters.filter_runner import FilterVerdicts
    from remit.states.state_service import StateService
    from remit.states.state_watch import StateWatch
    from remit.store.sql_store import SqlStore
    from remit.text.times import Clock

_FILTER_SECONDS = 0.8  # for filters while a client waits for the decision about a call
_FILTERED_MS = 2_000  # milliseconds to reuse filter results, which may depend on anything
_LONGEST_NAME = 100  # characters of a name that a model reads
_NOT_CALLED = (Kind.MCP_SERVER, Kind.PLUGIN)
_NOBODY = Tool("", Kind.BUILTIN, "", Scope.GLOBAL, "", Authority.HOOK)


class _Asked(NamedTuple):
    """The verdicts of filters about all tools, with their inputs and time."""

    about: tuple[Sequence[Tool], Context]
    at: int
    verdicts: FilterVerdicts


class Listings:
    """Combines stored tools, states and filters, and decides about each tool."""

    def __init__(
        self,
        store: SqlStore,
        states: StateService,
        clock: Clock,
        clients: Sequence[str] = (),
        is_on_machine: Callable[[str], bool] = bool,
    ) -> None:
        self._store = store
        self._clients = clients
        self._is_on_machine = is_on_machine
        self._states = states
        self._clock = clock
        self._filterings: list[ServerFilter] = []
        self._asked: _Asked | None = None

    def add_filter(self, filter: Filter, server: str | None) -> None:
        """Add a function that filters all tools, or those of servers that match a pattern."""
        from remit.filters.filter_lint import remarks_of  # only applications add filters

        for _, message in remarks_of(filter):
            warnings.warn(message, stacklevel=3)
        self._filterings.append(ServerFilter(filter, None if server is None else glob(server)))
        self._asked = None

    def has_filters(self, context: Context) -> bool:
        """Tell whether there are filters for a context with rules."""
        return bool(self._filterings or context.filter_files)

    def filter_files(self, context: Context) -> Sequence[LoadedFilters]:
        """Load the filter files of a context with rules."""
        return self._loader.load(context.filter_files) if context.filter_files else ()

    def filter_problems(self, context: Context) -> list[Problem]:
        """List the filter files that cannot be loaded."""
        files = self.filter_files(self._states.with_rules(context))
        return [each.problem for each in files if each.problem is not None]

    def tools(self, context: Context) -> Sequence[Tool]:
        """List all known tools, without decisions."""
        tools = adopt(self._of_clients(self._store.catalog(context.workspace, context.flags), context))
        tools = without_untrusted(tools) if context.starts_servers else tools
        return sorted(charge(self._with_held_back(tools, context)), key=_by_name)

    def list(self, context: Context) -> tuple[Context, list[ToolDecision]]:
        """List every tool with its decision, and return the context that was used."""
        catalog = self.tools(context)
        context = self._asked_about(catalog, self._judging(self.with_permissions(context)))
        return context, [ToolDecision(tool, decide(tool, context)) for tool in catalog]

    def with_permissions(self, context: Context) -> Context:
        """Add the clients' own permission rules to a context, unless it has them."""
        if context.permissions is not None:
            return context
        clients = self._clients if context.client is None else (context.client,)
        found = {client: self._store.permissions(context.view(client)) for client in clients}
        return replace(context, permissions={client: each for client, each in found.items() if each.rules})

    def decide_call(self, call: ClientCall, context: Context) -> tuple[Decision, StateWatch | None]:
        """Decide about a call that a client makes itself, and return the states that the decision depends on.

        These are None if only a new snapshot can tell whether the decision still holds.
        """
        context = self.with_permissions(self._states.with_rules(context))
        if any(map(context.requirements.of, call.names)) or self._reads_states(context):
            context = self._states.with_snapshot(context)
        context = self.filtered(context, timeout=_FILTER_SECONDS)
        catalog = self._store.catalog(context.workspace, context.flags)
        decision = decide_call(call, catalog, context, partial(self._needs_person, context=context))
        is_objected = call.through is not None and decision.gate is not None
        if is_objected and (unknown := self._unknown(call, context)) is not None:
            return unknown, None  # it names tools besides the one that is called
        if self._filterings or depends_on_catalog(call, catalog):
            return decision, None
        return decision, self._states.watch(call.names, context)

    def _unknown(self, call: ClientCall, context: Context) -> Decision | None:
        """Refuse a call through the gateway by a name that no tool has; name near ones, but not to agents."""
        name, listed = call.served or "", self.list(context)[1]
        if name in GATEWAY_TOOLS or find(name, listed):
            return None
        served = (
            tool.name.removeprefix(MCP)
            for tool, decision in listed
            if tool.kind is Kind.MCP_TOOL and decision.is_available and call.agent is None
        )
        near = as_question([one_line(each, _LONGEST_NAME) for each in near_names(name, served)])
        return replace(UNKNOWN, next_step=NextStep(near or "find its name with `discover_tools`"))

    def callable(self, name: str, context: Context, row: Key | None = None) -> ToolDecision:
        """Find the tool that a call refers to, in one row if given; servers and plugins cannot be called."""
        tools = [item for item in self.list(context)[1] if item.tool.kind not in _NOT_CALLED]
        exact = [item for item in tools if item.tool.name == name and row in (None, item.tool.key)]
        found = exact if exact or row is not None else find(name, tools)
        return min(found, key=closest_to_being_visible, default=ToolDecision(_NOBODY, UNKNOWN))

    def definition(self, item: ToolDecision, context: Context) -> Definition | None:
        """Find the definition of a listed tool."""
        tool = item.tool
        found = self._store.definitions([tool], context.workspace)
        if tool.authority is Authority.CONFIG:
            return found.get(tool.key)
        # A tool that was only observed is listed under its server's label, but may be stored under another.
        named = (said for key, said in found.items() if (key[0], key[-1]) == (tool.client, tool.name))
        return found.get(tool.key) or next(named, None)

    def _needs_person(self, tool: Tool, context: Context) -> bool:
        """Return whether a tool's server wants a person to confirm each call."""
        definition = self._store.definitions([tool], context.workspace).get(tool.key)
        return definition is not None and needs_person(definition)

    def _of_clients(self, tools: Sequence[Tool], context: Context) -> Sequence[Tool]:
        """Leave out the rows of other clients that are not on this machine, or no longer."""
        others = {tool.client for tool in tools} - {context.client}
        gone = {client for client in others if not self._is_on_machine(client)}
        return [tool for tool in tools if tool.client not in gone] if gone else tools

    def _with_held_back(self, tools: Sequence[Tool], context: Context) -> Sequence[Tool]:
        """Mark tools that the gateway lists only once they are used or wanted."""
        if all(tool.source != REMIT for tool in tools):
            return tools
        plan = self._states.plan(context)
        return [tool._replace(is_held_back=True) if plan.holds_back(tool) else tool for tool in tools]

    def _judging(self, context: Context) -> Context:
        """Complete a context for decisions; take a snapshot only if something needs a state."""
        if context.snapshot is not None:
            return context
        context = self._states.with_rules(context)
        is_needed = self.has_filters(context) or not context.requirements.is_empty
        return self._states.with_snapshot(context) if is_needed else context

    def filter_findings(self, context: Context) -> Iterator[ConfigurationFinding]:
        """List the filter files that cannot be loaded, and warnings about the others."""
        from remit.configuration.configuration_service import ConfigurationFinding
        from remit.filters.filter_lint import remarks  # only `remit policy check` needs it

        for file in self.filter_files(self._states.with_rules(context)):
            if file.problem is not None:
                yield ConfigurationFinding(Severity.ERROR, file.problem)
                continue
            for line, message in remarks(file.source):
                problem = Problem(source=file.path, place=f"line {line}", reason=message)
                yield ConfigurationFinding(Severity.WARNING, problem)

    def filtered(self, context: Context, timeout: float | None = None) -> Context:
        """Add the filters to a context with rules; they are asked when a decision needs them.

        The context needs a snapshot if a filter reads states.
        """
        if not self.has_filters(context):
            return context
        return replace(context, filters=self._verdicts(context, timeout))

    def _reads_states(self, context: Context) -> bool:
        """Tell whether a filter may read states."""
        return bool(self._filterings) or any(each.reads_states for each in self.filter_files(context))

    def _asked_about(self, tools: Sequence[Tool], context: Context) -> Context:
        """Ask the filters about all tools, or reuse their recent verdicts if the inputs are the same."""
        if not self.has_filters(context):
            return context
        about, now = (tools, replace(context, filters=None)), self._clock()
        known = self._asked
        if known is None or not 0 <= now - known.at < _FILTERED_MS or known.about != about:
            known = self._asked = _Asked(about, now, self._verdicts(context, None))
            known.verdicts.ask(tools, context)
        return replace(context, filters=known.verdicts)

    def _verdicts(self, context: Context, timeout: float | None) -> FilterVerdicts:
        from remit.filters.filter_loader import refusal_of
        from remit.filters.filter_runner import TIMEOUT, FilterVerdicts  # few have filters

        files = self.filter_files(context)
        return FilterVerdicts(
            [*self._filterings, *(each for file in files for each in file.filters)],
            refusal_of(files),
            context.snapshot,
            lambda tools: self._store.definitions(tools, context.workspace),
            TIMEOUT if timeout is None else timeout,
        )

    @cached_property
    def _loader(self) -> FilterLoader:
        from remit.filters.filter_loader import FilterLoader  # few have filter files

        return FilterLoader()


def _by_name(tool: Tool) -> tuple[str, str, str, str]:
    return tool.name, tool.client, tool.scope, tool.dir or ""
