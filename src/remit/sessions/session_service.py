"""Session services: the text at session start, and tool suggestions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from remit.catalog.contexts import DEFAULT_CLIENT
from remit.configuration.config_model import Strategy
from remit.decision.context import Context
from remit.decision.decide import ToolDecision
from remit.decision.declarations import Key
from remit.decision.kinds import Kind, ToolStatus
from remit.decision.tool_names import MEMORY_SERVER
from remit.memory import session_start as memory
from remit.memory.memory_scopes import memory_id
from remit.memory.memory_server import instructions as about_memory
from remit.presentation.instructions import instructions
from remit.presentation.request_cost import RequestCost, listed_tokens, listing_causes, tool_tokens
from remit.presentation.served_names import prefix
from remit.search.search_service import Searcher
from remit.sessions.gateway_view import GatewayView, direct_tools, gateway_view
from remit.sessions.install_notices import InstallNotice, accepted_notices, held_notices, notices_section
from remit.sessions.session_context import (
    KEEP_STATES,
    KEEP_TOOLS,
    obstacles_section,
    states_section,
    told_apart,
    tools_section,
)
from remit.sessions.suggestions import (
    Candidate,
    Cause,
    SessionCalls,
    SuggestionChoice,
    by_sequence,
    by_state,
    choose,
    learn,
    write,
)
from remit.states.state_service import StateService
from remit.text.sections import Section, assemble
from remit.text.token_estimate import estimate, name_tokens
from remit.usage.familiarity import familiarities

if TYPE_CHECKING:
    from remit.store.sql_store import SqlStore
    from remit.text.times import Clock
    from remit.trust.held_definitions import HeldDefinition

_MORE = "available: `discover_tools` finds them"
_FOUND = 3  # search results to consider
_NEVER_SUGGESTED = (Kind.BUILTIN, Kind.MCP_SERVER, Kind.PLUGIN)  # known to every agent, or not callable


class SessionStart(NamedTuple):
    """The text that an agent gets at session start, the states that hold then, and notices for the user."""

    text: str
    holding: Sequence[str]
    notices: Sequence[InstallNotice] = ()


class Suggestions(NamedTuple):
    """The suggestions, with the names that a model can call."""

    choice: SuggestionChoice
    names: Callable[[Candidate], str]

    @property
    def text(self) -> str:
        """The text for the model; empty if nothing is suggested."""
        return write((each, self.names(each)) for each in self.choice.said)


class SessionService:
    """Writes the session context and suggests tools."""

    def __init__(
        self,
        store: SqlStore,
        states: StateService,
        clock: Clock,
        *,
        list_tools: Callable[[Context], tuple[Context, Sequence[ToolDecision]]],
        find_obstacles: Callable[[Context], Mapping[Key, str]],
        find_notices: Callable[[Context], Sequence[InstallNotice]],
        find_news: Callable[[Context], Sequence[HeldDefinition]],
        open_searcher: Callable[[Context], Searcher],
    ) -> None:
        self._store = store
        self._states = states
        self._clock = clock
        self._list_tools = list_tools
        self._find_obstacles = find_obstacles
        self._find_notices = find_notices
        self._find_news = find_news
        self._open_searcher = open_searcher

    def start(
        self, context: Context, *, budget: int | None = None, tokens: int | None = None
    ) -> SessionStart:
        """Return the text that an agent gets at session start, and the states that hold then.

        A server that cannot be started is only named, with the reason.
        """
        context, listed = self._list_tools(context)
        changes, news = context.policy.changes, self._find_news(context)
        notices = [*self._find_notices(context), *held_notices(news, changes)]
        obstacles = self._find_obstacles(context)
        settings = self._states.configuration.session_settings(context.workspace)
        budget = settings.characters if budget is None else budget
        visible, idle = told_apart([item.tool for item in listed if item.decision.is_available], obstacles)
        left = self._store.sessions.news(context.workspace) if settings.observes else ()
        view = self._gateway_view(listed, context)
        sections = [
            *memory.sections(self._store.memory, memory_id(context.workspace.project), self._clock(), left),
            Section(text=states_section(listed, context.snapshot), keep=KEEP_STATES),
            Section(text=notices_section(notices), keep=KEEP_STATES),
            Section(text=obstacles_section(idle), keep=KEEP_STATES),
            Section(
                text=tools_section(
                    visible,
                    budget=min(settings.tools, budget),
                    familiar=familiarities(self._store.sessions.tallies(context.workspace)),
                    called=view.name_of,
                    more=_MORE if view.can_discover else "available",
                ),
                keep=KEEP_TOOLS,
            ),
        ]
        text = assemble(sections, budget=budget, tokens=settings.tokens if tokens is None else tokens)
        return SessionStart(text, _holding(context), [*notices, *accepted_notices(news, changes)])

    def suggestions(self, context: Context, *, session_id: str, prompt: str | None = None) -> Suggestions:
        """Choose the tools to suggest now, with the reasons for withholding others."""
        context, listed = self._list_tools(context)
        client, workspace = context.client or DEFAULT_CLIENT, context.workspace
        settings, sessions = self._states.configuration.session_settings(workspace), self._store.sessions
        calls = sessions.calls_of(session_id, workspace, client)
        candidates = by_sequence(learn(sessions.calls(workspace, client)), calls)
        if settings.shared_patterns:
            shared = learn(sessions.calls_everywhere(workspace, client))
            candidates += by_sequence(shared, calls, where="in your projects")
        candidates += self._by_state(listed, context, sessions.states_at_start(session_id, workspace, client))
        if prompt:
            candidates += _by_prompt(prompt, self._open_searcher(context))
        tools = {item.tool.name: item.tool for item in listed if _is_suggestable(item)}
        choice = choose(
            candidates,
            SessionCalls(session_id, calls),
            sessions.suggested(workspace, client),
            suggestable=tools,
            is_heard=settings.hints,
        )
        view = self._gateway_view(listed, context)

        def name_of(candidate: Candidate) -> str:
            return view.name_of(tools[candidate.tool])

        return Suggestions(choice, name_of)

    def suggest(self, context: Context, *, session_id: str, prompt: str | None = None) -> str:
        """Return a text that suggests tools, and store the suggestions; empty if there are none."""
        found = self.suggestions(context, session_id=session_id, prompt=prompt)
        if said := found.choice.said:  # stored, so suggestions are not repeated too often
            client = context.client or DEFAULT_CLIENT
            self._store.sessions.keep_suggestions(said, session_id, context.workspace, client, self._clock())
        return found.text

    def sends_a_part(self, listed: Sequence[ToolDecision], context: Context) -> bool:
        """Check whether the gateway lists only some of the tools."""
        return context.starts_servers and self._gateway_view(listed, context).presentation.is_partial

    def request_cost(self, context: Context) -> RequestCost:
        """Estimate what tools cost in the first request of a session, with and without Remit."""
        context, listed = self._list_tools(context)
        plan = self._states.plan(context)
        served, alone = self._gateway_view(listed, context).presentation, direct_tools(listed, context)
        memory = about_memory(context.workspace, prefix(MEMORY_SERVER))
        is_limited = plan.strategy is Strategy.AUTO and served.is_partial and plan.lists_unused
        return RequestCost(
            definitions=sum(tool.tokens or 0 for tool in alone),
            served=listed_tokens(served) + estimate(instructions(served, {}, memory) or ""),
            tools=len(alone),
            names=name_tokens(tool.name for tool in alone) if plan.client_searches else None,
            listed=len(served.entries),
            own=len(served.own) + len(served.groups),
            budget=plan.token_budget if is_limited else None,
            lists_unused=plan.lists_unused,
            listed_tokens=tool_tokens(served),
            causes=listing_causes(served, plan),
        )

    def _gateway_view(self, listed: Sequence[ToolDecision], context: Context) -> GatewayView:
        plan, workspace = self._states.plan(context), context.workspace
        bare = [item.tool for item in listed if not plan.is_prefixed(item.tool)]
        definitions = self._store.definitions(bare, workspace)
        return gateway_view(listed, context, plan, self._store.uses_here(workspace), definitions)

    def _by_state(self, listed: Sequence[ToolDecision], context: Context, at_start: str) -> list[Candidate]:
        if context.snapshot is None or not at_start:
            return []
        needing = {
            item.tool.name: {
                state
                for each in context.requirements.of(item.tool.name)
                for state in each.condition.dependencies().states
            }
            for item in listed
            if item.decision.is_available
        }
        return by_state(needing, _holding(context), json.loads(at_start))


def _holding(context: Context) -> list[str]:
    if context.snapshot is None:
        return []
    return sorted(name for name, value in context.snapshot.states.items() if value.truth)


def _by_prompt(prompt: str, searcher: Searcher) -> list[Candidate]:
    with closing(searcher):
        found = searcher.search(prompt, limit=_FOUND)
    return [
        Candidate(each.tool.name, Cause.PROMPT, each.score, "it fits the request") for each in found.results
    ]


def _is_suggestable(item: ToolDecision) -> bool:
    return (
        item.decision.is_available
        and item.tool.kind not in _NEVER_SUGGESTED
        and item.tool.status is ToolStatus.ACTIVE
    )
