"""The serving plan: how an endpoint presents its visible tools, and how the gateway runs their servers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from remit.configuration.config_model import (
    OF_A_PROJECT,
    ConfigurationFile,
    PresentationOptions,
    Room,
    ServerOptions,
    Strategy,
)
from remit.configuration.file_parser import LISTED, PROMOTE_ON_REOPEN
from remit.configuration.layers import may_present
from remit.configuration.merged_configuration import Configuration
from remit.decision.context import Context
from remit.decision.globs import Glob, glob, tool_globs
from remit.decision.requirements import NO_REQUIREMENTS
from remit.decision.tool_names import GATEWAY_TOOLS, REMIT, full_label, normalise
from remit.decision.tools import Tool
from remit.text.foreign import one_line

TOKEN_BUDGET = 6_000
LONGEST = 300  # characters of a description

Value = TypeVar("Value")
Globs = tuple[Glob, ...]


class EndpointChoice(NamedTuple):
    """The options from an endpoint's command line or URL."""

    strategy: str | None = None
    agent: str | None = None
    room: str | None = None


class ServingPlan(NamedTuple):
    """The configuration that applies to one endpoint."""

    strategy: Strategy = Strategy.AUTO
    token_budget: int = TOKEN_BUDGET
    own_tools: tuple[str, ...] = GATEWAY_TOOLS
    rooms: Mapping[str, tuple[Room, Globs]] = {}
    pinned: Globs = ()
    namespaces: tuple[tuple[str, Globs], ...] = ()  # most specific first
    described: Mapping[str, str] = {}  # descriptions of namespaces; may be empty
    running: tuple[tuple[Glob, ServerOptions], ...] = ()  # strongest last
    lists_memory: bool = False  # memory tools are not held back
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

    def run(self, server: str, plugin: str | None) -> ServerOptions:
        """Return the options that a server runs with."""
        labels = (server, full_label(server, plugin))
        said = [running for whose, running in self.running if any(map(whose.matches, labels))]
        return ServerOptions(*(_last(getattr(each, key) for each in said) for key in ServerOptions._fields))

    def is_prefixed(self, server: str, plugin: str | None) -> bool:
        """Check whether the names of a server's tools start with the server's name."""
        return not self.running or self.run(server, plugin).prefix is not False

    def serving_context(self, context: Context) -> Context:
        """Return the context of the gateway's decisions: it starts servers, and `flat` ignores states."""
        requirements = NO_REQUIREMENTS if self.strategy is Strategy.FLAT else context.requirements
        return replace(context, starts_servers=True, requirements=requirements)


def make_plan(configuration: Configuration, chosen: EndpointChoice) -> ServingPlan:
    """Create the plan of an endpoint; the options of its room outrank those of its agent."""
    presented = list(_options(configuration, chosen))
    budget = _last(each.token_budget for each in presented)
    own = configuration.own_tools
    strategy = Strategy(_last(each.strategy for each in presented) or Strategy.AUTO)
    is_room = chosen.room is not None
    return ServingPlan(
        # Inside a room, there are no other rooms to list.
        strategy=Strategy.STATE if strategy is Strategy.ROOMS and is_room else strategy,
        token_budget=TOKEN_BUDGET if budget is None else budget,
        own_tools=GATEWAY_TOOLS if own is None else tuple(name for name in GATEWAY_TOOLS if name in own),
        rooms={room.name: (room, _globs(room.tools)) for _, room in configuration.rooms},
        pinned=_globs(configuration.pinned),
        lists_memory=configuration.memory == LISTED,
        promotes=configuration.promote != PROMOTE_ON_REOPEN,
        namespaces=tuple(_namespaces(configuration)),
        described={each.name: one_line(each.description, LONGEST) for each in configuration.namespaces},
        running=tuple(
            (glob(each.name), each.options)
            for file, each in configuration.servers
            if each.options is not None and file.layer not in OF_A_PROJECT
        ),
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


def _namespaces(configuration: Configuration) -> Iterator[tuple[str, Globs]]:
    """Yield the namespaces of tools, longest pattern first and, among equals, nearest file first."""
    said = [
        (rule.entry.namespace, tool_globs(rule.entry.pattern))
        for rule in reversed(configuration.rules)
        if rule.entry.namespace is not None
    ]
    yield from sorted(said, key=lambda each: -max(sum(map(len, form.parts)) for form in each[1]))


def _globs(patterns: Iterable[str]) -> Globs:
    return tuple(form for pattern in patterns for form in tool_globs(pattern))


def _last(given: Iterable[Value | None]) -> Value | None:
    found = None
    for each in given:
        found = found if each is None else each
    return found
