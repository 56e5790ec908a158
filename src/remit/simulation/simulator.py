"""Simulates a draft of the rules: which tools it would show or hide, and which past calls refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.audit.audit_log import AuditOutcome, CallQuery
from remit.catalog.contexts import for_agent
from remit.configuration.configuration_service import remarks_about
from remit.decision.decide import ToolDecision, decide
from remit.decision.kinds import Kind
from remit.decision.tool_lookup import closest_to_being_visible, find
from remit.decision.tools import BUILTINS, builtin_tool
from remit.errors import AgentError

if TYPE_CHECKING:
    from remit.audit.audit_log import AuditEntry, AuditLog
    from remit.catalog.listing import Listings
    from remit.configuration.config_model import ConfigurationLayer
    from remit.configuration.configuration_service import CurrentConfiguration
    from remit.decision.context import Context
    from remit.decision.decide import Decision
    from remit.decision.problems import Problem
    from remit.decision.tools import Tool
    from remit.states.state_service import StateService

CALLS = 1_000  # the last ones
MOST_AGENTS = 25
_RAN = (AuditOutcome.DONE, AuditOutcome.FAILED, AuditOutcome.ERROR)


class ToolChange(NamedTuple):
    """A tool about which the draft decides differently."""

    tool: Tool
    before: Decision
    after: Decision


class AgentChanges(NamedTuple):
    """What changes for the main session or for one agent."""

    agent: str | None  # None: the main session
    changes: Sequence[ToolChange]


class RefusedCalls(NamedTuple):
    """Past calls of one tool by one agent that the draft would refuse, under the states of today."""

    tool: str
    agent: str | None
    calls: int
    last_at: int  # Unix milliseconds
    decision: Decision


class Simulation(NamedTuple):
    """What a draft would change."""

    path: str
    is_valid: bool
    problems: Sequence[Problem]  # of a valid draft: what is probably not intended
    views: Sequence[AgentChanges] = ()  # the main session first
    calls: int = 0  # past calls that were checked
    refused: Sequence[RefusedCalls] = ()  # most frequent first


class Simulator:
    """Compares today's decisions with those under a draft; runs and stores nothing for it."""

    def __init__(
        self,
        states: StateService,
        listings: Listings,
        audit: AuditLog,
        refresh: Callable[[Context], None],
        memory_tools: Sequence[str],
    ) -> None:
        self._memory_tools = memory_tools
        self._refresh = refresh
        self._states = states
        self._listings = listings
        self._audit = audit

    def run(self, text: str, layer: ConfigurationLayer, context: Context) -> Simulation:
        """Tell what would change if one of the user's or the project's files had this text."""
        self._refresh(context)
        draft = self._states.configuration.draft(text, layer, context.workspace)
        if draft.configuration is None:
            return Simulation(draft.file.path, is_valid=False, problems=draft.problems)
        pairs = [*self._compare(draft.configuration, context)]
        entries = [
            entry
            for entry in self._audit.find(CallQuery(limit=CALLS), context).entries
            if entry.outcome in _RAN
        ]
        return Simulation(
            draft.file.path,
            is_valid=True,
            problems=[*draft.problems, *self._remarks(draft.file.path, draft.configuration, pairs[0].before)],
            views=[AgentChanges(agent, _changes(before, after)) for agent, before, after in pairs],
            calls=len(entries),
            refused=_refused(entries, {agent: (before, after) for agent, before, after in pairs}),
        )

    def _remarks(
        self, path: str, drafted: CurrentConfiguration, listed: Sequence[ToolDecision]
    ) -> list[Problem]:
        found = remarks_about(drafted, (item.tool for item in listed), self._memory_tools)
        return [each.problem for each in found if each.problem.source == path]

    def _compare(self, drafted: CurrentConfiguration, context: Context) -> Iterator[_Pair]:
        listed = self._list(context)
        yield _Pair(None, listed, self._list(self._states.with_draft(drafted, context)))
        for name in _agents(listed)[:MOST_AGENTS]:
            try:
                own = for_agent(context, name, (), listed)
            except AgentError:  # it cannot run as defined, today or with the draft
                continue
            yield _Pair(name, self._list(own), self._list(self._states.with_draft(drafted, own)))

    def _list(self, context: Context) -> list[ToolDecision]:
        """List every tool with its decision, and the client's own tools even if they were never used."""
        context, listed = self._listings.list(context)
        known = {item.tool.name for item in listed}
        own = (builtin_tool(name, context.client) for name in BUILTINS.get(context.client or "", ()))
        unused = (tool for tool in own if tool is not None and tool.name not in known)
        return [*listed, *(ToolDecision(tool, decide(tool, context)) for tool in unused)]


class _Pair(NamedTuple):
    """The decisions for one agent, today and under the draft."""

    agent: str | None
    before: Sequence[ToolDecision]
    after: Sequence[ToolDecision]


def _agents(listed: Sequence[ToolDecision]) -> list[str]:
    return sorted(
        {
            item.tool.name
            for item in listed
            if item.tool.kind is Kind.SUBAGENT
            and item.tool.profile is not None
            and item.decision.is_available
        }
    )


def _changes(before: Sequence[ToolDecision], after: Sequence[ToolDecision]) -> list[ToolChange]:
    known = {item.tool.key: item.decision for item in before}
    return [
        ToolChange(tool, known[tool.key], decision)
        for tool, decision in after
        if tool.key in known and known[tool.key].verdict is not decision.verdict
    ]


def _refused(
    entries: Sequence[AuditEntry],
    pairs: Mapping[str | None, tuple[Sequence[ToolDecision], Sequence[ToolDecision]]],
) -> list[RefusedCalls]:
    counts = Counter((entry.tool, entry.agent) for entry in entries)
    last = {(entry.tool, entry.agent): entry.called_at for entry in reversed(entries)}
    found: list[RefusedCalls] = []
    for (tool, agent), calls in counts.most_common():
        before, after = pairs.get(agent, pairs[None])
        today, then = _decision(tool, before), _decision(tool, after)
        if today is not None and then is not None and today.is_available and not then.is_available:
            found.append(RefusedCalls(tool, agent, calls, last[tool, agent], then))
    return found


def _decision(name: str, listed: Sequence[ToolDecision]) -> Decision | None:
    found = find(name, listed)
    return min(found, key=closest_to_being_visible).decision if found else None
