"""Presentation strategies: which visible tools are listed, and how to reach the others.

`present` alone determines what the gateway lists; the endpoint, the session context and the costs all use it.
A strategy never shows tools that are not visible. The tools that it leaves out are deferred: a model finds
them with `discover_tools`, a group or a resource, and calls them with `call_tool`, subject to the same
decisions as listed tools.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from remit.configuration.config_model import Strategy
from remit.decision.decide import ToolDecision
from remit.decision.declarations import Key
from remit.decision.requirements import Requirements
from remit.decision.tools import Tool
from remit.presentation.app_metadata import is_for_model
from remit.presentation.remit_tools import OwnTool
from remit.presentation.served_names import group_name
from remit.presentation.serving_plan import LONGEST, ServingPlan
from remit.presentation.tool_items import EMPTY_SCHEMA, Item
from remit.text.untrusted_text import one_line

_MOST_NAMED = 12  # tools named in a group's entry
_LARGE = 1_500  # tokens: a definition of this size ranks last, or it would keep many others out
HOW_TO_CALL = "Call them with `call_tool`."
_ALWAYS = (OwnTool.WHY, OwnTool.REPORT, OwnTool.READ)
_FINDING = (OwnTool.DISCOVER, OwnTool.CALL, *_ALWAYS)
_FIND_SOME = "Not all tools are listed: find them with `discover_tools` and call them with `call_tool`."
_ASK_WHY = "`call_tool` also calls `why_tool`, which explains why a tool is missing."
_FIND_MOST = "Most tools are not listed: find them with `discover_tools` and call them with `call_tool`."
_OPEN_GROUPS = "Tools are grouped: call a group to get its tools, then call one with `call_tool`."
_READ_ROOMS = "Tools are in rooms: read a `room://` resource for its tools, then call one with `call_tool`."
ROOM = "room://"
NEVER = (0, 0)

Uses = Mapping[Key, tuple[int, int]]  # how often each tool was used in the project, and when last


class VisibleTool(NamedTuple):
    """A visible tool, as it would be listed."""

    tool: Tool
    item: Item
    uses: tuple[int, int] = NEVER
    is_wanted: bool = False  # it has a condition of its own, which holds

    @property
    def name(self) -> str:
        """The served name."""
        return self.item["name"]


class ToolGroup(NamedTuple):
    """Tools that are presented together."""

    name: str
    description: str
    entries: Sequence[VisibleTool]


class Presentation(NamedTuple):
    """The tools that the gateway lists and defers."""

    entries: Sequence[VisibleTool]
    own: Sequence[OwnTool] = _ALWAYS
    groups: Sequence[ToolGroup] = ()  # listed as one tool each, which returns its tools
    resources: Sequence[ToolGroup] = ()  # listed as one resource each
    scopes: Sequence[ToolGroup] | None = None  # listed on request; None: the strategy has no scopes
    hint: str = _FIND_SOME  # how a model reaches the deferred tools
    deferred: Sequence[VisibleTool] = ()

    @property
    def can_discover(self) -> bool:
        """Whether a model has `discover_tools`."""
        return OwnTool.DISCOVER in self.own

    @property
    def is_partial(self) -> bool:
        """Whether it defers tools other than those that are held back."""
        return any(not each.tool.is_held_back for each in self.deferred)

    @property
    def deferred_by_server(self) -> Mapping[str, int]:
        """The number of deferred tools per server."""
        found: dict[str, int] = {}
        for each in self.deferred:
            server = each.tool.server or ""
            found[server] = found.get(server, 0) + 1
        return dict(sorted(found.items()))


def present(
    visible: Sequence[VisibleTool], plan: ServingPlan, before: Presentation | None = None
) -> Presentation:
    """Present the visible tools with the plan's strategy; tools that were listed `before` stay listed.

    Tools that are only for the pages of apps are listed, and clients keep them from the model.
    """
    for_model = [each for each in visible if is_for_model(each.item)]
    shown = STRATEGIES[plan.strategy](for_model, plan)
    own = [each for each in OwnTool if each in shown.own and each in plan.own_tools]
    if not plan.lists_extras and OwnTool.CALL in own:
        own = [each for each in own if each not in _ALWAYS]
        shown = shown._replace(hint=f"{shown.hint} {_ASK_WHY}") if OwnTool.WHY in plan.own_tools else shown
    own += before.own if before else ()
    listed = {each.tool.key for each in (*shown.entries, *(before.entries if before else ()))}
    return shown._replace(
        entries=[each for each in visible if each.tool.key in listed or not is_for_model(each.item)],
        own=tuple(each for each in OwnTool if each in own),
        deferred=[each for each in for_model if each.tool.key not in listed],
    )


def promoted(shown: Presentation, names: Collection[str], plan: ServingPlan) -> list[VisibleTool]:
    """Return the deferred tools of these names, in their order, as far as they fit a budget of their own."""
    deferred, left = {each.name: each for each in shown.deferred}, plan.token_budget
    chosen: list[VisibleTool] = []
    for each in (deferred[name] for name in names if name in deferred):
        if _cost(each) <= left:
            chosen.append(each)
            left -= _cost(each)
    return chosen


def visible_tools(
    decided: Iterable[ToolDecision], items: Mapping[Key, Item], uses: Uses, requirements: Requirements
) -> list[VisibleTool]:
    """Select the available tools that have an item, sorted by served name."""
    found = [
        VisibleTool(tool, item, uses.get(tool.key, NEVER), bool(requirements.of(tool.name)))
        for tool, decision in decided
        if decision.is_available and (item := items.get(tool.key)) is not None
    ]
    return sorted(found, key=lambda each: each.name)


def show_all(visible: Sequence[VisibleTool], _plan: ServingPlan) -> Presentation:
    """Show all visible tools that are not held back; `flat` and `state` differ only in which are visible."""
    shown = _at_hand(visible)
    return Presentation(shown, _own_beside(shown, visible))


def show_what_fits(visible: Sequence[VisibleTool], plan: ServingPlan) -> Presentation:
    """Show all tools if they fit the budget; else the pinned ones, and the best ranked of the others.

    Used and wanted tools may fill the budget. The others may fill what is left of it after subtracting the
    excess: a small excess drops a few tools from the end of the ranking, and with twice the budget none of
    them is worth its tokens. A tool that is held back never displaces another. A larger budget only adds
    tools: the ranking does not depend on it, and ends at the first tool that does not fit.

    A client that searches by itself would send only the names of unused tools, so none of them is shown.
    """
    first = _ranked_first(visible, plan)
    shown = {each.name for each in (*_pinned(visible, plan), *_within(plan.token_budget, first))}
    if plan.lists_unused:
        usual = [each for each in visible if not each.tool.is_held_back]
        excess = max(0, sum(map(_cost, usual)) - plan.token_budget)
        order = _unique([*first, *_ranked_by_server(usual)])
        shown |= {each.name for each in (_within(plan.token_budget - excess, order) if excess else usual)}
    entries = [each for each in visible if each.name in shown]
    return Presentation(entries, _own_beside(entries, visible))


def _ranked_first(visible: Sequence[VisibleTool], plan: ServingPlan) -> list[VisibleTool]:
    """Rank the tools that are pinned, used or wanted; each once."""
    return _unique([*_pinned(visible, plan), *_large_last(_used_or_wanted(visible))])


def _large_last(ranked: Iterable[VisibleTool]) -> list[VisibleTool]:
    return sorted(ranked, key=lambda each: _cost(each) > _LARGE)


def _unique(ranked: Iterable[VisibleTool]) -> list[VisibleTool]:
    return list({each.name: each for each in ranked}.values())


def _within(budget: int, ranked: Iterable[VisibleTool]) -> Iterator[VisibleTool]:
    """Yield the ranked tools as long as they fit a budget together."""
    for each in ranked:
        budget -= _cost(each)
        if budget < 0:
            return
        yield each


def show_pinned(visible: Sequence[VisibleTool], plan: ServingPlan) -> Presentation:
    """Show only pinned tools; the rest can be searched."""
    return Presentation(_pinned(visible, plan), _FINDING, hint=_FIND_MOST)


def show_namespaces(visible: Sequence[VisibleTool], plan: ServingPlan) -> Presentation:
    """Show one entry per namespace, under a name that no tool has."""
    taken = {*OwnTool, *(each.name for each in visible)}
    groups = namespaces(visible, plan, taken)
    return Presentation(_pinned(visible, plan), (OwnTool.CALL, *_ALWAYS), groups=groups, hint=_OPEN_GROUPS)


def show_rooms(visible: Sequence[VisibleTool], plan: ServingPlan) -> Presentation:
    """Show rooms as resources, and the tools that are in no room."""
    outside = [each for each in visible if plan.is_pinned(each.tool) or not any(plan.rooms_of(each.tool))]
    shown = _at_hand(outside)
    own = _FINDING if len(shown) < len(outside) else (OwnTool.CALL, *_ALWAYS)
    return Presentation(shown, own, resources=rooms(visible, plan), hint=_READ_ROOMS)


def show_scopes(visible: Sequence[VisibleTool], plan: ServingPlan) -> Presentation:
    """Show all visible tools, or those of the namespace or room that a client asks for."""
    declared = (_group(group_name(name), name, plan, ()) for name in plan.declared_namespaces)
    groups = (*declared, *namespaces(visible, plan), *rooms(visible, plan))
    by_name = {each.name: each for each in groups}
    return show_all(visible, plan)._replace(scopes=[by_name[name] for name in sorted(by_name)])


STRATEGIES: Mapping[Strategy, Callable[[Sequence[VisibleTool], ServingPlan], Presentation]] = {
    Strategy.AUTO: show_what_fits,
    Strategy.FLAT: show_all,
    Strategy.STATE: show_all,
    Strategy.NAMESPACE: show_namespaces,
    Strategy.ROOMS: show_rooms,
    Strategy.MANIFEST: show_scopes,
    Strategy.SEARCH: show_pinned,
}


def _at_hand(visible: Sequence[VisibleTool]) -> Sequence[VisibleTool]:
    """Leave out tools that are held back, unless they were used or are wanted."""
    return [each for each in visible if each.uses[0] or each.is_wanted or not each.tool.is_held_back]


def _own_beside(shown: Sequence[VisibleTool], visible: Sequence[VisibleTool]) -> Sequence[OwnTool]:
    """Choose Remit's own tools; include search and `call_tool` only if tools are deferred."""
    return _FINDING if len(shown) < len(visible) else _ALWAYS


def _used_or_wanted(visible: Sequence[VisibleTool]) -> list[VisibleTool]:
    """List the tools that were used here, most used first, then those that are wanted."""
    used = [each for each in visible if each.uses[0]]
    used.sort(key=lambda each: (-each.uses[0], -each.uses[1], each.name))
    return [*used, *(each for each in visible if each.is_wanted)]


def _ranked_by_server(visible: Sequence[VisibleTool]) -> list[VisibleTool]:
    """Rank tools by how often their server was used here, most used first."""
    used: dict[str | None, int] = {}
    for each in visible:
        used[each.tool.server] = used.get(each.tool.server, 0) + each.uses[0]
    return _large_last(sorted(visible, key=lambda each: (-used[each.tool.server], each.name)))


def namespaces(
    visible: Sequence[VisibleTool], plan: ServingPlan, taken: Collection[str] = ()
) -> list[ToolGroup]:
    """Group tools by namespace."""
    found: dict[str, list[VisibleTool]] = {}
    own: dict[str, str] = {}  # the namespace that a group is named after
    for each in visible:
        namespace = plan.namespace(each.tool)
        name = group_name(namespace, taken)
        found.setdefault(name, []).append(each)
        own.setdefault(name, namespace)
    return [_group(name, own[name], plan, found[name]) for name in sorted(found)]


def with_empty_scopes(scopes: Iterable[ToolGroup], names: Iterable[str]) -> list[ToolGroup]:
    """Add the namespaces of tools that are hidden only for now, so scopes do not come and go with states."""
    by_name = {each.name: each for each in scopes}
    for name in map(group_name, names):
        by_name.setdefault(name, ToolGroup(name, f"Tools of `{name}`", ()))
    return [by_name[name] for name in sorted(by_name)]


def _group(name: str, namespace: str, plan: ServingPlan, entries: Sequence[VisibleTool]) -> ToolGroup:
    return ToolGroup(name, plan.described.get(namespace) or f"Tools of `{name}`", entries)


def rooms(visible: Sequence[VisibleTool], plan: ServingPlan) -> list[ToolGroup]:
    """Group tools by room; a tool may be in several rooms, and a room may be empty for now."""
    found: dict[str, list[VisibleTool]] = {name: [] for name in plan.rooms}
    for each in visible:
        for room in plan.rooms_of(each.tool):
            found[room.name].append(each)
    return [
        ToolGroup(
            name,
            one_line(plan.rooms[name][0].description, LONGEST) or f"Tools of the room `{name}`",
            found[name],
        )
        for name in sorted(found)
    ]


def group_item(group: ToolGroup) -> Item:
    """Return a group as a tool that returns the group's tools."""
    named = ", ".join(each.name for each in group.entries[:_MOST_NAMED])
    more = len(group.entries) - _MOST_NAMED
    others = f" and {more} more" if more > 0 else ""
    return {
        "name": group.name,
        "description": f"{group.description}: {named}{others}. Call this to get their definitions; then call "
        "one by `call_tool`.",
        "inputSchema": EMPTY_SCHEMA,
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


def room_resource(group: ToolGroup) -> Item:
    """Return a room as a resource."""
    return {
        "uri": f"{ROOM}{group.name}",
        "name": group.name,
        "description": f"{group.description} ({len(group.entries)} tools)",
        "mimeType": "application/json",
    }


def definitions_of(entries: Iterable[VisibleTool]) -> list[dict[str, Any]]:
    """Return the definitions that a model needs to call tools."""
    return [each.item for each in entries]


def in_words(group: ToolGroup) -> str:
    """Describe the tools of a group, one per line."""
    lines = [f"- {each.name}: {one_line(each.item.get('description') or '', 160)}" for each in group.entries]
    return "\n".join([f"{group.description}. {HOW_TO_CALL}", *lines])


def _pinned(visible: Sequence[VisibleTool], plan: ServingPlan) -> list[VisibleTool]:
    return [each for each in visible if plan.is_pinned(each.tool)]


def _cost(entry: VisibleTool) -> int:
    return entry.tool.tokens or 0
