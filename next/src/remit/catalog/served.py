"""What an endpoint serves: its tools under stable names, as list items, and what a call by a name means."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from remit.catalog.catalog import Catalog
from remit.catalog.declared import server_key
from remit.catalog.explain import unlisted_tool
from remit.catalog.items import Item, tool_item
from remit.catalog.names import NameClaim, ServedNames, claim_name, group_name, rest_of
from remit.catalog.strategies import ListedTool, Presentation, ServingPlan, present_tools
from remit.decision import (
    GATEWAY_TOOLS,
    MCP,
    Authority,
    Danger,
    Decision,
    Gate,
    Key,
    Kind,
    Tool,
    ToolDecision,
    closest_to_being_visible,
    meant_names,
    tool_name,
    tool_prefix,
)
from remit.text import as_object

PromptKey = tuple[Key, str]  # key of its server, and its name there
Decide = Callable[[Tool], Decision]
_Made = tuple[str, str, bool]  # served name, digest, and whether it may call itself reading
_FOUND = (Kind.SKILL, Kind.SLASH_COMMAND, Kind.SUBAGENT, Kind.PLUGIN)  # found, and never listed


class Target(NamedTuple):
    """The target of a call: a tool and the decision about it."""

    name: str  # that models see
    tool: Tool
    decision: Decision
    server: Key | None  # None: its server is not declared
    own_name: str  # the name on its server
    has_output_schema: bool = False
    is_listed: bool = True  # else only its server knows whether it exists


@dataclass(frozen=True, kw_only=True)
class Served:
    """The tools of one endpoint at one revision, independent of states."""

    catalog: Catalog  # under the rules of the plan
    plan: ServingPlan
    servers: Mapping[Key, Tool]
    owners: Mapping[Key, Key]  # server by tool
    names: ServedNames[Key]
    prompt_names: ServedNames[PromptKey]
    uses: Mapping[Key, tuple[int, int]]  # as of the first list: later calls do not change lists
    made: dict[_Made, Item]  # by what they are made of

    @cached_property
    def items(self) -> Mapping[Key, Item]:
        """The list items of tools, also of those that are hidden now."""
        items: dict[Key, Item] = {}
        rules, definitions = self.catalog.context.rules, self.catalog.definitions
        for tool in self.catalog.tools:
            name = self.names.get(tool.key)
            definition = definitions.get(tool.definition or "")
            if name is not None and definition is not None:
                is_reading = rules.rate(tool).rating.level <= Danger.LOW
                parts = (name, definition.digest, is_reading)
                if parts not in self.made:
                    self.made[parts] = tool_item(name, definition, is_reading=is_reading)
                items[tool.key] = self.made[parts]
        return items

    def visible(self, listed: Iterable[ToolDecision]) -> list[ListedTool]:
        """Select the available tools, sorted by served name."""
        return _visible(listed, self.items, self.uses, self.catalog)

    def present(self, listed: Sequence[ToolDecision], before: Presentation | None = None) -> Presentation:
        """Present the available tools with the strategy of the plan."""
        later = {self.plan.namespace(item.tool) for item in listed if _waits_for_state(item)}
        others = has_others(listed, self.catalog)
        return present_tools(self.visible(listed), self.plan, before, has_others=others, later=later)

    def preview(self, listed: Sequence[ToolDecision]) -> Presentation:
        """Present the available tools with their names alone, without reading definitions."""
        items = {
            tool.key: {"name": name}
            for tool, _ in listed
            if tool.tokens is not None and (name := self.names.get(tool.key)) is not None
        }
        visible = _visible(listed, items, self.uses, self.catalog)
        return present_tools(visible, self.plan, has_others=has_others(listed, self.catalog))

    def target(self, name: str, decide: Decide) -> Target | None:
        """Find what a call by a name means, decided now; None if the name is unknown or ambiguous."""
        key = self.names.find(name)
        if key is not None:
            rows = [row for row in self._rows.get(key[-1] or "", ()) if row.key == key]
        elif self.meanings(name):
            return None
        else:
            rows = self._called(name)
        targets = [self._decided(row, decide) for row in rows] or list(self._unlisted(name, decide))
        return min(targets, key=_closest, default=None)

    def meanings(self, name: str) -> list[tuple[str, str]]:
        """List what an ambiguous name may mean, as served names and servers; empty for any other name.

        `git__hub__read` is the tool `read` of a server `git__hub`, and `hub__read` of a server `git`.
        """
        if self.names.find(name) is not None:
            return []
        rows = self._called(name)
        servers = {(row.server, row.plugin) for row in rows}
        return [(self.name_of(row), row.server or "") for row in rows] if len(servers) > 1 else []

    def name_of(self, tool: Tool) -> str:
        """Return the name that models see for a tool."""
        return self.names.get(tool.key) or tool.name

    @cached_property
    def _rows(self) -> Mapping[str, Sequence[Tool]]:
        rows: dict[str, list[Tool]] = {}
        for tool in self.catalog.tools:
            if tool.kind is Kind.MCP_TOOL and tool.authority is Authority.CONFIG:
                rows.setdefault(tool.name, []).append(tool)
        return rows

    def _called(self, name: str) -> Sequence[Tool]:
        return next((self._rows[form] for form in meant_names(name) if form in self._rows), ())

    def _decided(self, tool: Tool, decide: Decide) -> Target:
        definition = self.catalog.definitions.get(tool.definition or "")
        own = None if definition is None else definition.tool
        return Target(
            self.name_of(tool),
            tool,
            decide(tool),
            self.owners.get(tool.key),
            own or tool.name.removeprefix(tool_prefix(tool.server or "", tool.plugin)),
            bool(as_object(self.items.get(tool.key)).get("outputSchema")),
        )

    def _unlisted(self, name: str, decide: Decide) -> Iterator[Target]:
        """Decide about an unlisted tool by the row of the server that its name falls under.

        A hidden declaration does not answer for a server that another declaration makes available.
        """
        client = self.catalog.context.client
        under = [
            (server, rest)
            for server in self.servers.values()
            if server.client == client and (rest := rest_of(name, server.server or "", server.plugin))
        ]
        shortest = min((len(rest) for _, rest in under), default=0)
        nearest = [(server, rest) for server, rest in under if len(rest) == shortest]
        available = [pair for pair in nearest if decide(pair[0]).is_available]
        for server, rest in available or nearest:
            if (target := self._under(server, rest, decide)) is not None:
                yield target

    def _under(self, server: Tool, rest: str, decide: Decide) -> Target | None:
        """Decide about a tool name under a server; None if the server's current list does not include it."""
        tool = unlisted_tool(server, tool_name(server.server or "", rest, server.plugin))
        for row in self._rows.get(tool.name, ()):
            if self.owners.get(row.key) == server.key:  # listed under another spelling
                return self._decided(row, decide)
        decision = decide(server)
        if decision.is_available:
            if server.listed_at is not None:
                return None
            decision = decide(tool)
        return Target(tool.name.removeprefix(MCP), tool, decision, server.key, rest, is_listed=False)


def _closest(target: Target) -> tuple[bool, ...]:
    return closest_to_being_visible(ToolDecision(target.tool, target.decision))


def serve(catalog: Catalog, plan: ServingPlan, before: Served | None = None) -> Served:
    """Serve a catalog by a plan; names and items of what was served before stay.

    Only what a file declares and its server listed is served, never what hooks or agents reported.
    """
    catalog = catalog.narrowed(plan.context(catalog.context))
    declared = [item for item in catalog.settled if item.tool.authority is Authority.CONFIG]
    servers = {item.tool.key: item.tool for item in declared if item.tool.kind is Kind.MCP_SERVER}
    named = _named(declared)
    tools = [tool for tool in named if tool.kind is Kind.MCP_TOOL]
    owners = {tool.key: key for tool in tools if (key := server_key(tool)) in servers}
    claims = [
        NameClaim(tool.key, tool.name.removeprefix(MCP), tool.name) for tool in tools if tool.key in owners
    ]
    groups = {group_name(plan.namespace(tool)) for tool in tools} if plan.strategy == "namespace" else ()
    prompts = [
        claim_name((server.key, prompt["name"]), server.server or "", prompt["name"], server.plugin)
        for server in named
        if server.kind is Kind.MCP_SERVER and server.key in catalog.offers
        for prompt in catalog.offers[server.key].prompts
    ]
    return Served(
        catalog=catalog,
        plan=plan,
        servers=servers,
        owners=owners,
        names=ServedNames(claims, {*GATEWAY_TOOLS, *groups}, None if before is None else before.names),
        prompt_names=ServedNames(prompts, before=None if before is None else before.prompt_names),
        uses=_uses(catalog) if before is None else before.uses,
        made={} if before is None else before.made,
    )


def has_others(listed: Iterable[ToolDecision], catalog: Catalog) -> bool:
    """Return whether a client has skills, commands, agents or plugins, which a model finds by a search."""
    client = catalog.context.client
    return any(
        item.tool.kind in _FOUND and item.tool.client == client and item.decision.is_available
        for item in listed
    )


def _visible(
    listed: Iterable[ToolDecision],
    items: Mapping[Key, Item],
    uses: Mapping[Key, tuple[int, int]],
    catalog: Catalog,
) -> list[ListedTool]:
    rules = catalog.context.rules
    visible = [
        ListedTool(
            tool,
            item,
            uses.get(tool.key, (0, 0)),
            any(rule.condition is not None for rule in rules.of(tool.name)),
        )
        for tool, decision in listed
        if decision.is_available and (item := items.get(tool.key)) is not None
    ]
    return sorted(visible, key=lambda entry: entry.name)


def _named(declared: Collection[ToolDecision]) -> list[Tool]:
    """List the rows that get a name: not those that another tool of the name may replace.

    What the agent of this endpoint does not have is explained under its name, unless another tool has it.
    """
    others = {tool.key for tool, decision in declared if decision.gate is Gate.AGENT}
    taken = {tool.name for tool, decision in declared if not decision.frees_name and tool.key not in others}
    return [
        tool
        for tool, decision in declared
        if not decision.frees_name and not (tool.key in others and tool.name in taken)
    ]


def _waits_for_state(item: ToolDecision) -> bool:
    return item.decision.gate is Gate.STATE and item.tool.kind in (Kind.MCP_TOOL, Kind.MCP_SERVER)


def _uses(catalog: Catalog) -> dict[Key, tuple[int, int]]:
    return {tool.key: (tool.uses, tool.last_used_at or 0) for tool in catalog.tools if tool.uses}
