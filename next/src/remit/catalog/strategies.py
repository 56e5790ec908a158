"""Strategies: which visible tools are listed, and how to reach the others.

A strategy never shows tools that are not visible. A model finds those that it leaves out with
`discover_tools`, a group or a room, and calls them with `call_tool`: the same decisions apply.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from remit.catalog.items import (
    DISCOVER_TOOLS,
    WHY_TOOL,
    Item,
    group_item,
    hint_lines,
    is_for_model,
    item_tokens,
    own_tokens,
    text_tokens,
)
from remit.catalog.names import group_name
from remit.config import Configuration, Room, ToolPattern
from remit.decision import (
    CALL_TOOL,
    GATEWAY_TOOLS,
    NO_RULES,
    OWN,
    READ_RESULT,
    Context,
    ListTarget,
    Origin,
    Rules,
    Tool,
    ToolList,
    glob,
    normalise,
)
from remit.errors import NotFoundError
from remit.text import did_you_mean, one_line

TOKEN_BUDGET = 6_000
_SHARE = 10  # the part of the budget for a first request whose tools do not all fit
_LONGEST = 300  # characters of a description
_FIND = "Not all tools are listed: find them with `discover_tools` and call them with `call_tool`."
_OPEN = "Tools are grouped: call a group to get its tools, then call one with `call_tool`."
_READ = "Tools are in rooms: read a `room://` resource for its tools, then call one with `call_tool`."


class ServingPlan(NamedTuple):
    """What the configuration says of the lists of one endpoint."""

    strategy: str = "auto"
    token_budget: int = TOKEN_BUDGET
    own: tuple[str, ...] = GATEWAY_TOOLS  # Remit's own tools that no rule blocks
    pinned: tuple[ToolPattern, ...] = ()
    rooms: tuple[Room, ...] = ()
    described: Mapping[str, str] = {}  # descriptions of namespaces
    room: Room | None = None  # the only one that this endpoint has
    rules: Rules = NO_RULES  # which give tools their namespaces

    def is_pinned(self, tool: Tool) -> bool:
        """Return whether a tool is listed before others."""
        return _is_covered(self.pinned, tool)

    def namespace(self, tool: Tool) -> str:
        """Return the group that presents a tool: its most specific namespace, else its server."""
        named = [rule for rule in self.rules.of(tool.name) if rule.namespace]
        best = max(named, key=lambda rule: (rule.weight, rule.strength), default=None)
        return normalise(tool.server or "") if best is None else best.namespace or ""

    def rooms_of(self, tool: Tool) -> Iterator[Room]:
        """List the rooms that a tool is in."""
        return (room for room in self.rooms if _is_covered(room.tools, tool))

    def context(self, context: Context) -> Context:
        """Return the context of the endpoint's decisions: `flat` ignores states, a room has its own tools."""
        rules = _without_states(context.rules) if self.strategy == "flat" else context.rules
        if self.room is not None:
            patterns = tuple((item.pattern, item.globs) for item in self.room.tools)
            origins = [item.origin for item in self.room.tools]
            origin = origins[0] if origins else Origin("", f"rooms.{self.room.name}.tools")
            rules = rules.including(lists=[ToolList(ListTarget.ALL, glob("*"), patterns, True, origin)])
        return context._replace(rules=rules)


def make_plan(
    configuration: Configuration, *, strategy: str | None = None, room: str | None = None
) -> ServingPlan:
    """Make the plan of an endpoint, whose command line or address may choose a strategy and a room.

    Raises:
        NotFoundError: no room has the name.
    """
    chosen = strategy or configuration.strategy or "auto"
    own = [name for name in GATEWAY_TOOLS if not _is_blocked(OWN + name, configuration.rules)]
    if configuration.result_budget == 0 and READ_RESULT in own:  # no result is shortened
        own.remove(READ_RESULT)
    only = None if room is None else _room_called(room, configuration.rooms)
    return ServingPlan(
        # Inside a room, there are no other rooms to list.
        "state" if chosen == "rooms" and only is not None else chosen,
        TOKEN_BUDGET if configuration.token_budget is None else configuration.token_budget,
        tuple(own),
        configuration.pinned,
        configuration.rooms,
        {name: one_line(text, _LONGEST) for name, text in configuration.namespaces.items()},
        only,
        configuration.rules,
    )


def _is_blocked(name: str, rules: Rules) -> bool:
    lists = (item for item in rules.lists if not item.allows and item.target is ListTarget.ALL)
    return any(form.matches(name) for item in lists for _, forms in item.patterns for form in forms)


def _room_called(name: str, rooms: Sequence[Room]) -> Room:
    for room in rooms:
        if room.name == name:
            return room
    near = did_you_mean(name, [room.name for room in rooms])
    hint = near or "rooms are declared in `remit.toml`, as `[rooms.NAME]`"
    raise NotFoundError(f"no room is called `{name}` here", hint=hint)


def _without_states(rules: Rules) -> Rules:
    return Rules(
        (rule._replace(condition=None) for rule in rules.tools),
        rules.lists,
        annotation_trust=rules.annotation_trust,
        ask_from=rules.ask_from,
        mode=rules.mode,
        fixed_mode=rules.fixed_mode,
    )


def _is_covered(patterns: Iterable[ToolPattern], tool: Tool) -> bool:
    return any(form.matches(tool.name) for pattern in patterns for form in pattern.globs)


class ListedTool(NamedTuple):
    """A visible tool as a client reads it."""

    tool: Tool
    item: Item
    uses: tuple[int, int] = (0, 0)  # how often it was used in the project, and when last
    is_wanted: bool = False  # it has a condition of its own, which holds

    @property
    def name(self) -> str:
        """The served name."""
        return self.item["name"]

    @property
    def tokens(self) -> int:
        """The cost of its definition."""
        return self.tool.tokens or 0


class ToolGroup(NamedTuple):
    """Tools that are presented together."""

    name: str
    description: str
    entries: Sequence[ListedTool] = ()

    @property
    def item(self) -> Item:
        """The group as a tool."""
        return group_item(self.name, self.description, [entry.name for entry in self.entries])


class Presentation(NamedTuple):
    """The tools that a client gets, and those that it reaches in other ways."""

    entries: Sequence[ListedTool]
    deferred: Sequence[ListedTool] = ()
    own: Sequence[str] = ()  # Remit's own tools
    groups: Sequence[ToolGroup] = ()  # listed as one tool each, which returns its tools
    rooms: Sequence[ToolGroup] = ()  # listed as one resource each
    scopes: Sequence[ToolGroup] | None = None  # listed on request; None: the strategy has no scopes
    hint: str = _FIND  # how a model reaches the deferred tools

    @property
    def hints(self) -> str:
        """How to reach the deferred tools, with a line per server; empty if all are listed."""
        return hint_lines(self.hint, _by_server(self.deferred)) if CALL_TOOL in self.own else ""

    @property
    def tokens(self) -> int:
        """What a first request costs: tools, groups, Remit's own tools, and how to reach the others."""
        own = sum(map(own_tokens, self.own)) + sum(item_tokens(group.item) for group in self.groups)
        return own + sum(entry.tokens for entry in self.entries) + text_tokens(self.hints)


def present_tools(
    visible: Sequence[ListedTool],
    plan: ServingPlan,
    before: Presentation | None = None,
    *,
    has_others: bool = False,
    later: Iterable[str] = (),
) -> Presentation:
    """Present the visible tools; what was listed `before` stays listed while it is visible.

    `has_others` says that a client has skills, commands or agents, which are found and never listed. Tools
    for the pages of apps alone are listed, and clients keep them from the model. `later` are the namespaces
    of tools that states hide: a scope does not come and go with a state.
    """
    for_model = [entry for entry in visible if is_for_model(entry.item)]
    shown = STRATEGIES[plan.strategy](for_model, plan)
    if shown.scopes is not None:
        shown = shown._replace(scopes=_with_empty(shown.scopes, later))
    kept = before.entries if before else ()
    listed = {entry.tool.key for entry in (*kept, *shown.entries)}
    deferred = [entry for entry in for_model if entry.tool.key not in listed]
    own = {*(before.own if before else ()), *([DISCOVER_TOOLS] if deferred or has_others else [])}
    own |= {CALL_TOOL} if deferred else {WHY_TOOL, READ_RESULT}  # `call_tool` reaches these two as well
    return shown._replace(
        entries=[e for e in visible if e.tool.key in listed or not is_for_model(e.item)],
        deferred=deferred,
        own=[name for name in plan.own if name in own],
    )


def _show_all(visible: Sequence[ListedTool], _plan: ServingPlan) -> Presentation:
    return Presentation(visible)


def _show_what_fits(visible: Sequence[ListedTool], plan: ServingPlan) -> Presentation:
    """Show all tools if they fit the budget; else pinned, wanted and used ones up to a tenth of it.

    The lines about the other servers count into the tenth.
    """
    if sum(entry.tokens for entry in visible) <= plan.token_budget:
        return Presentation(visible)
    left = plan.token_budget // _SHARE - text_tokens(hint_lines(_FIND, _by_server(visible)))
    used = sorted((entry for entry in visible if entry.uses[0]), key=_most_used_first)
    wanted = [entry for entry in visible if entry.is_wanted]
    names: set[str] = set()
    for entry in (*_pinned(visible, plan), *wanted, *used):
        if entry.name not in names and entry.tokens <= left:
            left -= entry.tokens
            names.add(entry.name)
    return Presentation([entry for entry in visible if entry.name in names])


def _show_pinned(visible: Sequence[ListedTool], plan: ServingPlan) -> Presentation:
    return Presentation(_pinned(visible, plan))


def _show_namespaces(visible: Sequence[ListedTool], plan: ServingPlan) -> Presentation:
    taken = {*GATEWAY_TOOLS, *(entry.name for entry in visible)}
    return Presentation(_pinned(visible, plan), groups=_namespaces(visible, plan, taken), hint=_OPEN)


def _show_rooms(visible: Sequence[ListedTool], plan: ServingPlan) -> Presentation:
    outside = [e for e in visible if plan.is_pinned(e.tool) or next(plan.rooms_of(e.tool), None) is None]
    return Presentation(outside, rooms=_rooms(visible, plan), hint=_READ)


def _show_scopes(visible: Sequence[ListedTool], plan: ServingPlan) -> Presentation:
    groups = (*_namespaces(visible, plan), *_rooms(visible, plan))
    return Presentation(visible, scopes=_with_empty(groups, plan.described, plan.described))


STRATEGIES: Mapping[str, Callable[[Sequence[ListedTool], ServingPlan], Presentation]] = {
    "auto": _show_what_fits,
    "flat": _show_all,
    "state": _show_all,
    "namespace": _show_namespaces,
    "rooms": _show_rooms,
    "manifest": _show_scopes,
    "search": _show_pinned,
}


def _pinned(visible: Sequence[ListedTool], plan: ServingPlan) -> list[ListedTool]:
    return [entry for entry in visible if plan.is_pinned(entry.tool)]


def _most_used_first(entry: ListedTool) -> tuple[int, int, str]:
    return -entry.uses[0], -entry.uses[1], entry.name


def _by_server(entries: Iterable[ListedTool]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for entry in entries:
        server = entry.tool.server or ""
        counts[server] = counts.get(server, 0) + 1
    return dict(sorted(counts.items()))


def _namespaces(
    visible: Iterable[ListedTool], plan: ServingPlan, taken: Collection[str] = ()
) -> list[ToolGroup]:
    entries: dict[str, list[ListedTool]] = {}
    for entry in visible:
        entries.setdefault(plan.namespace(entry.tool), []).append(entry)
    groups: dict[str, ToolGroup] = {}
    for namespace, listed in entries.items():
        name = group_name(namespace, taken)
        described = plan.described.get(namespace) or f"Tools of `{name}`"
        before = groups.get(name)  # two namespaces may be written alike
        groups[name] = ToolGroup(name, described, [*(before.entries if before else ()), *listed])
    return [groups[name] for name in sorted(groups)]


def _rooms(visible: Iterable[ListedTool], plan: ServingPlan) -> list[ToolGroup]:
    """Group tools by room; a tool may be in several rooms, and a room may be empty for now."""
    entries: dict[str, list[ListedTool]] = {room.name: [] for room in plan.rooms}
    for entry in visible:
        for room in plan.rooms_of(entry.tool):
            entries[room.name].append(entry)
    described = {room.name: one_line(room.description, _LONGEST) for room in plan.rooms}
    return [
        ToolGroup(name, described[name] or f"Tools of the room `{name}`", entries[name])
        for name in sorted(entries)
    ]


def _with_empty(
    groups: Iterable[ToolGroup], namespaces: Iterable[str], described: Mapping[str, str] | None = None
) -> list[ToolGroup]:
    by_name = {group.name: group for group in groups}
    for namespace in namespaces:
        name = group_name(namespace)
        by_name.setdefault(name, ToolGroup(name, (described or {}).get(namespace) or f"Tools of `{name}`"))
    return [by_name[name] for name in sorted(by_name)]
