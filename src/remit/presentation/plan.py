"""A plan: how an endpoint presents the tools that are visible, and how the gateway runs their servers."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from remit.configuration.config_model import (
    OF_A_PROJECT,
    ConfigurationFile,
    PresentationOptions,
    Room,
    ServerOptions,
)
from remit.configuration.file_parser import LISTED, OWN_TOOLS
from remit.configuration.layers import Configuration, may_present
from remit.decision.globs import Glob, glob, tool_globs
from remit.decision.tool_names import REMIT, full_label, normalise
from remit.decision.tools import Tool

AUTO, STATE, ROOMS, SEARCH = "auto", "state", "rooms", "search"
TOKEN_BUDGET = 6_000

Value = TypeVar("Value")
Globs = tuple[Glob, ...]


class EndpointChoice(NamedTuple):
    """What an endpoint says of itself."""

    strategy: str | None = None
    agent: str | None = None
    room: str | None = None


class ServingPlan(NamedTuple):
    """What the configuration says for one endpoint."""

    strategy: str = AUTO
    token_budget: int = TOKEN_BUDGET
    own_tools: tuple[str, ...] = OWN_TOOLS  # those that are served
    rooms: Mapping[str, tuple[Room, Globs]] = {}
    pinned: Globs = ()
    namespaces: tuple[tuple[str, Globs], ...] = ()  # those that count more come first
    running: tuple[tuple[Glob, ServerOptions], ...] = ()  # what counts more comes last
    lists_memory: bool = False  # its tools are listed like others, and not only where they are used

    def is_pinned(self, tool: Tool) -> bool:
        """Tell whether a tool is always listed."""
        return covers(self.pinned, tool.name)

    def holds_back(self, tool: Tool) -> bool:
        """Tell whether a tool is listed only where something speaks for it: nobody asked for memory's."""
        return tool.source == REMIT and not self.lists_memory and not self.is_pinned(tool)

    def namespace(self, tool: Tool) -> str:
        """Name the group that a tool is presented in: the one it was given, else its server."""
        given = (name for name, globs in self.namespaces if covers(globs, tool.name))
        return next(given, None) or normalise(tool.server or "")

    def rooms_of(self, tool: Tool) -> Iterator[Room]:
        """List the rooms that a tool is in."""
        return (room for room, globs in self.rooms.values() if covers(globs, tool.name))

    def run(self, server: str, plugin: str | None) -> ServerOptions:
        """Tell how a server is run."""
        labels = (server, full_label(server, plugin))
        said = [running for whose, running in self.running if any(map(whose.matches, labels))]
        return ServerOptions(*(_last(getattr(each, key) for each in said) for key in ServerOptions._fields))


def make_plan(configuration: Configuration, chosen: EndpointChoice) -> ServingPlan:
    """Make the plan of an endpoint; what is said of a room counts before what is said of an agent."""
    presented = list(_presentation(configuration, chosen))
    budget = _last(each.token_budget for each in presented)
    own = configuration.own_tools
    strategy = _last(each.strategy for each in presented) or AUTO
    return ServingPlan(
        # In a room, there is no other to go to.
        strategy=STATE if strategy == ROOMS and chosen.room is not None else strategy,
        token_budget=TOKEN_BUDGET if budget is None else budget,
        own_tools=OWN_TOOLS if own is None else tuple(name for name in OWN_TOOLS if name in own),
        rooms={room.name: (room, _globs(room.tools)) for _, room in configuration.rooms},
        pinned=_globs(configuration.pinned),
        lists_memory=configuration.memory == LISTED,
        namespaces=tuple(_namespaces(configuration)),
        running=tuple(
            (glob(each.name), each.options)
            for file, each in configuration.servers
            if each.options is not None and file.layer not in OF_A_PROJECT
        ),
    )


def covers(globs: Globs, name: str) -> bool:
    """Tell whether one of some patterns matches a tool's canonical name."""
    return any(form.matches(name) for form in globs)


def _presentation(configuration: Configuration, chosen: EndpointChoice) -> Iterator[PresentationOptions]:
    """List what is said of how this endpoint presents tools, the weakest first."""
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
    """List the namespaces of tools; the pattern with the most letters counts, of like ones the nearest."""
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
