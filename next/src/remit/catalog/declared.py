"""The configuration with what servers declare that know states: their tools appear only while these hold.

A server's states get names such as `shop:cart-open`, so no server sets a state of another or of the project;
a state that the project declares itself counts instead. Rules are about the server's own tools and only
narrow. Nothing runs for these states: the server wrote them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from remit.config import Configuration, Configurations, StateRule, state_rule, tool_rule
from remit.decision import (
    LEVELS,
    DeclaredStates,
    Key,
    Kind,
    Offer,
    Status,
    Tool,
    ToolRule,
    Workspace,
    is_at_or_below,
    normalise,
    server_name,
)
from remit.store import Store

_BY_TOOLS = ("on", "off")  # keys with names of the server's own tools


class JoinedConfigurations(Configurations):
    """The configuration of each workspace, joined with the states of its servers."""

    def __init__(self, store: Store, *others: Any, **options: Any) -> None:
        super().__init__(store, *others, **options)
        self._offers = store.listings.offers
        self._revision = store.catalog.revision
        self._joined: dict[str, tuple[Configuration, int, Configuration]] = {}

    def current(self, workspace: Workspace) -> Configuration:
        """Return the merged configuration; changed files are read again."""
        configuration, revision = super().current(workspace), self._revision()
        known = self._joined.get(workspace.dir)
        if known is None or known[0] is not configuration or known[1] != revision:
            joined = join(configuration, self._offers(workspace), workspace)
            known = self._joined[workspace.dir] = (configuration, revision, joined)
        return known[2]


def join(configuration: Configuration, offers: Mapping[Key, Offer], workspace: Workspace) -> Configuration:
    """Add the states of servers, and what their tools require."""
    states: dict[str, StateRule] = {}
    rules: list[ToolRule] = []
    for key, offer in offers.items():
        if offer.declared is not None:
            server = _Server(key, offer.declared, configuration)
            states |= server.states(workspace)
            rules += server.rules()
    if not rules:
        return configuration
    implies = {state.name: state.implies for state in states.values() if state.implies}
    return configuration._replace(
        rules=configuration.rules.including(rules),
        states={**states, **configuration.states},
        implications=configuration.implications.including(states, implies),
    )


def with_declared(tools: Sequence[Tool], offers: Mapping[Key, Offer]) -> list[Tool]:
    """Give the tools that servers declare under states and do not list now the status of their server.

    Of a tool without states, the server's own list says whether it is there.
    """
    names = {
        (key, tool.definition.name)
        for key, offer in offers.items()
        if offer.declared is not None
        for tool in offer.declared.tools
        if tool.states
    }
    servers = {tool.key: tool for tool in tools if tool.kind is Kind.MCP_SERVER}
    return [
        tool._replace(status=servers[key].status)
        if tool.status is Status.UNLISTED
        and ((key := server_key(tool)), tool.name) in names
        and key in servers
        else tool
        for tool in tools
    ]


def server_key(tool: Tool) -> Key:
    """Return the key of a tool's server: the declaration in the same place, never another of the name."""
    place = (tool.client, Kind.MCP_SERVER, tool.scope, tool.project_hash, tool.dir, tool.agent, tool.server)
    return (*place, server_name(tool.server or "", tool.plugin))


class _Server:
    """A server that knows states."""

    def __init__(self, key: Key, declared: DeclaredStates, configuration: Configuration) -> None:
        self._label, row = key[6] or "", key[7] or ""
        self._prefix = row.removesuffix("*")
        self._declared = declared
        self._known = configuration.states

    def states(self, workspace: Workspace) -> dict[str, StateRule]:
        """Return its states that the project does not declare."""
        from remit.config import check_tools  # few servers know states

        directory = self._declared.directory
        if directory is not None and not is_at_or_below(directory, workspace.checkout):
            directory = None
        made: dict[str, StateRule] = {}
        for name, table in self._declared.states.items():
            if name not in self._known and not check_tools({"states": {name: dict(table)}}):
                made[self._name(name)] = self._state(name, table, directory)
        return made

    def rules(self) -> list[ToolRule]:
        """Return what its own tools require."""
        return [
            tool_rule(tool.definition.name, self._table(tool.states, tool.namespace, tool.danger))
            for tool in self._declared.tools
            if tool.definition.name.startswith(self._prefix)
        ]

    def _table(self, states: Any, namespace: str | None, danger: str | None) -> dict[str, Any]:
        table: dict[str, Any] = {"states": [self._name(name) for name in states]} if states else {}
        table |= {} if namespace is None else {"namespace": namespace}
        return table | ({"danger": danger} if danger in LEVELS else {})

    def _state(self, name: str, table: Mapping[str, Any], directory: str | None) -> StateRule:
        qualified = {
            **table,
            "implies": [self._name(other) for other in table.get("implies", ())],
            **{key: self._own_tools(table[key]) for key in _BY_TOOLS if key in table},
            "agents": False,
        }
        state = state_rule(self._name(name), qualified, dir=directory)
        return state._replace(detector=None) if state.detector is not None and state.detector.runs else state

    def _name(self, name: str) -> str:
        return name if name in self._known else f"{normalise(self._label)}:{name}"

    def _own_tools(self, written: str | list[str]) -> list[str]:
        names = [written] if isinstance(written, str) else written
        return [
            name if name.startswith(self._prefix) else f"{self._prefix}{normalise(name)}" for name in names
        ]
