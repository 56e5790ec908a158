"""The serving plan: how an endpoint presents its visible tools, and how the gateway runs their servers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from remit.configuration.config_model import (
    OF_A_PROJECT,
    PRINCIPAL,
    ConfigurationFile,
    PresentationOptions,
    Room,
    ServerOptions,
    Strategy,
)
from remit.configuration.file_parser import LISTED, PROMOTE_ON_REOPEN
from remit.configuration.layers import last_of, may_present
from remit.configuration.merged_configuration import Configuration
from remit.decision.context import Context
from remit.decision.globs import Glob, glob, tool_globs
from remit.decision.requirements import NO_REQUIREMENTS
from remit.decision.tool_names import GATEWAY_TOOLS, READ_RESULT, REMIT, full_label, normalise
from remit.decision.tools import Tool
from remit.presentation.app_metadata import has_app
from remit.presentation.results.result_limit import (
    NO_LIMIT,
    RESULT_BUDGET,
    ResultLimit,
    budget_limit,
    declared_limit,
)
from remit.text.json_values import as_object
from remit.text.untrusted_text import one_line

TOKEN_BUDGET = 6_000
LONGEST = 300  # characters of a description
_DECLARED = "anthropic/maxResultSizeChars"  # in the `_meta` of a tool

Globs = tuple[Glob, ...]


class EndpointChoice(NamedTuple):
    """The options from an endpoint's command line or URL."""

    strategy: str | None = None
    agent: str | None = None
    room: str | None = None
    client_searches: bool = False  # without Remit, it would send the names of tools instead of definitions


class ServingPlan(NamedTuple):
    """The configuration that applies to one endpoint."""

    strategy: Strategy = Strategy.AUTO
    token_budget: int = TOKEN_BUDGET
    lists_unused: bool = True  # `auto` lists tools that were not used here, as far as they fit
    client_searches: bool = False  # without Remit, it would send the names of tools instead of definitions
    own_tools: tuple[str, ...] = GATEWAY_TOOLS
    lists_extras: bool = True  # also those of Remit's own tools that `call_tool` reaches
    rooms: Mapping[str, tuple[Room, Globs]] = {}
    pinned: Globs = ()
    namespaces: tuple[tuple[str, Globs], ...] = ()  # most specific first
    described: Mapping[str, str] = {}  # descriptions of namespaces; may be empty
    running: tuple["RunRule", ...] = ()  # strongest last
    lists_memory: bool = False  # memory tools are not held back
    result_budget: int = RESULT_BUDGET  # tokens of one result; 0: no limit
    result_budgets: tuple[tuple[int, Globs], ...] = ()  # of tools, most specific first
    server_budgets: tuple[tuple[Glob, int], ...] = ()  # of servers, strongest first
    notifies: bool = True  # the desktop shows that a call waits for approval
    promotes: bool = True  # a deferred tool that a session called is listed for the rest of it

    def is_pinned(self, tool: Tool) -> bool:
        """Check whether a tool is always listed."""
        return covers(self.pinned, tool.name)

    def holds_back(self, tool: Tool) -> bool:
        """Check whether a tool is listed only once it is used or wanted, like Remit's own extra tools."""
        return tool.source == REMIT and not self.lists_memory and not self.is_pinned(tool)

    def namespace(self, tool: Tool) -> str:
        """Return the group that presents a tool: its configured namespace, else its server."""
        given = (name for name, globs in self.namespaces if covers(globs, tool.name))
        return next(given, None) or normalise(tool.server or "")

    @property
    def declared_namespaces(self) -> frozenset[str]:
        """The namespaces that the configuration names, with or without tools."""
        return frozenset((*self.described, *(name for name, _ in self.namespaces)))

    def rooms_of(self, tool: Tool) -> Iterator[Room]:
        """List the rooms that a tool is in."""
        return (room for room, globs in self.rooms.values() if covers(globs, tool.name))

    def run(self, server: str, plugin: str | None, *, is_projects: bool) -> ServerOptions:
        """Return the options that a server runs with."""
        labels = (server, full_label(server, plugin))
        rules = [rule for rule in self.running if any(map(rule.server.matches, labels))]
        said = [rule.of_projects if is_projects else rule.options for rule in rules]
        return ServerOptions(*(last_of(getattr(each, key) for each in said) for key in ServerOptions._fields))

    def result_limit(self, tool: Tool, item: Mapping[str, Any]) -> ResultLimit:
        """Return how large a result of a tool may be: as configured for it, its server, itself or everyone.

        The page of an app reads the same result as the model, so it gets all of it.
        """
        if READ_RESULT not in self.own_tools:  # nothing could read the rest
            return NO_LIMIT
        given = (budget for budget, globs in self.result_budgets if covers(globs, tool.name))
        labels = (tool.server or "", full_label(tool.server or "", tool.plugin))
        of_server = (each for whose, each in self.server_budgets if any(map(whose.matches, labels)))
        budget = next(chain(given, of_server), None)
        if budget is not None:
            return budget_limit(budget)
        if has_app(item):
            return NO_LIMIT
        said = as_object(item.get("_meta")).get(_DECLARED)
        own = declared_limit(said) if self.result_budget else None
        return own or budget_limit(self.result_budget)

    def is_prefixed(self, tool: Tool) -> bool:
        """Check whether the name of a tool, or of a server's tools, starts with the server's name."""
        if not self.running:
            return True
        return self.run(tool.server or "", tool.plugin, is_projects=tool.is_projects).prefix is not False

    def serving_context(self, context: Context) -> Context:
        """Return the context of the gateway's decisions: it starts servers, and `flat` ignores states."""
        requirements = NO_REQUIREMENTS if self.strategy is Strategy.FLAT else context.requirements
        return replace(context, starts_servers=True, requirements=requirements)


def make_plan(configuration: Configuration, chosen: EndpointChoice) -> ServingPlan:
    """Create the plan of an endpoint; the options of its room outrank those of its agent."""
    presented = list(_options(configuration, chosen))
    budget = last_of(each.token_budget for each in presented)
    own_tools = tuple(_own_tools(configuration))
    strategy = Strategy(last_of(each.strategy for each in presented) or Strategy.AUTO)
    is_room = chosen.room is not None
    return ServingPlan(
        # Inside a room, there are no other rooms to list.
        strategy=Strategy.STATE if strategy is Strategy.ROOMS and is_room else strategy,
        token_budget=TOKEN_BUDGET if budget is None else budget,
        lists_unused=budget is not None or not chosen.client_searches,
        client_searches=chosen.client_searches,
        own_tools=own_tools,
        lists_extras=not chosen.client_searches or configuration.own_tools is not None,
        rooms={room.name: (room, _globs(room.tools)) for _, room in configuration.rooms},
        pinned=_globs(configuration.pinned),
        lists_memory=configuration.memory == LISTED,
        notifies=configuration.notifies,
        promotes=configuration.promote != PROMOTE_ON_REOPEN,
        result_budget=_result_budget(configuration),
        result_budgets=tuple(_by_tool(configuration, "result_budget")),
        server_budgets=tuple(
            (glob(each.name), each.result_budget)
            for _, each in reversed(configuration.servers)
            if each.result_budget is not None
        ),
        namespaces=tuple(_by_tool(configuration, "namespace")),
        described={each.name: one_line(each.description, LONGEST) for each in configuration.namespaces},
        running=tuple(
            RunRule(glob(each.name), each.options, _of_projects(each.options, each.projects))
            for file, each in configuration.servers
            if each.options is not None and file.layer not in OF_A_PROJECT
        ),
    )


class RunRule(NamedTuple):
    """The options of a table, for the user's own servers that it matches and for a project's."""

    server: Glob
    options: ServerOptions
    of_projects: ServerOptions = ServerOptions()


def _of_projects(options: ServerOptions, projects: Iterable[str]) -> ServerOptions:
    """Leave out what a table permits by name only: a project can call its server like one of the user's."""
    if any(projects):
        return options
    return options._replace(
        prefix=options.prefix or None,
        inherit_env=False if options.inherit_env is False else None,
        credentials=options.credentials if options.credentials == PRINCIPAL else None,
    )


def covers(globs: Globs, name: str) -> bool:
    """Check whether any pattern matches a tool's canonical name."""
    return any(form.matches(name) for form in globs)


def _options(configuration: Configuration, chosen: EndpointChoice) -> Iterator[PresentationOptions]:
    """Yield the presentation options that apply to this endpoint, weakest first."""
    yield PresentationOptions(configuration.strategy, configuration.token_budget)
    for file, agent in configuration.agents:
        if chosen.agent is not None and glob(agent.name).matches(chosen.agent):
            yield _permitted(agent.presentation, file)
    for file, room in configuration.rooms:
        if room.name == chosen.room:
            yield _permitted(room.presentation, file)
    yield PresentationOptions(chosen.strategy)


def _permitted(presentation: PresentationOptions, file: ConfigurationFile) -> PresentationOptions:
    return presentation if may_present(presentation.strategy, file) else presentation._replace(strategy=None)


def _own_tools(configuration: Configuration) -> Iterator[str]:
    """Yield Remit's own tools to serve; none reads large results if none is shortened."""
    own = configuration.own_tools
    budgets = [
        _result_budget(configuration),
        *(rule.entry.result_budget for rule in configuration.rules),
        *(each.result_budget for _, each in configuration.servers),
    ]
    for name in GATEWAY_TOOLS:
        if (own is None or name in own) and (name != READ_RESULT or any(budgets)):
            yield name


def _result_budget(configuration: Configuration) -> int:
    return RESULT_BUDGET if configuration.result_budget is None else configuration.result_budget


def _by_tool(configuration: Configuration, key: str) -> Iterator[tuple[Any, Globs]]:
    """Yield what rules set for tools, longest pattern first and, among equals, nearest file first."""
    said = [
        (value, tool_globs(rule.entry.pattern))
        for rule in reversed(configuration.rules)
        if (value := getattr(rule.entry, key)) is not None
    ]
    yield from sorted(said, key=lambda each: -max(sum(map(len, form.parts)) for form in each[1]))


def _globs(patterns: Iterable[str]) -> Globs:
    return tuple(form for pattern in patterns for form in tool_globs(pattern))
