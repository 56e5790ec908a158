"""Strategies: which of the visible tools are listed, and how the others are reached.

Each gets what is visible and shows no more than that. What one leaves out is deferred: it is found by
`discover_tools`, a group or a resource, and called by `call_tool`, with the same decision as if it were
listed.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from remit.decision.tools import Tool
from remit.presentation.own_tools import OwnTool
from remit.presentation.plan import ServingPlan
from remit.presentation.served_names import group_name
from remit.presentation.tool_items import EMPTY_SCHEMA, Item
from remit.text.one_line import one_line

_MOST_NAMED = 12  # tools that the entry of a group names
HOW_TO_CALL = "Call them by `call_tool`."
_ALWAYS = (OwnTool.WHY, OwnTool.REPORT)
_FINDING = (OwnTool.DISCOVER, OwnTool.CALL, *_ALWAYS)
ROOM = "room://"
NEVER = (0, 0)


class VisibleTool(NamedTuple):
    """A visible tool, as it would be listed."""

    tool: Tool
    item: Item
    uses: tuple[int, int] = NEVER  # how often here and when last, as it was when the endpoint was opened
    is_wanted: bool = False  # its own condition holds: somebody said that it belongs here now

    @property
    def name(self) -> str:
        """The name that it is served by."""
        return self.item["name"]


class ToolGroup(NamedTuple):
    """Tools that are presented together."""

    name: str
    description: str
    entries: Sequence[VisibleTool]


class Presentation(NamedTuple):
    """What is listed."""

    entries: Sequence[VisibleTool]
    own: Sequence[OwnTool] = _ALWAYS
    groups: Sequence[ToolGroup] = ()  # listed as one tool each, which returns its tools
    resources: Sequence[ToolGroup] = ()  # listed as one resource each
    scopes: Sequence[ToolGroup] = ()  # listed on request


Strategy = Callable[[Sequence[VisibleTool], ServingPlan], Presentation]


def show_all(visible: Sequence[VisibleTool], plan: ServingPlan) -> Presentation:
    """Show all that is visible, but what is held back; `flat` and `state` differ only in what that is."""
    shown = _at_hand(visible, plan)
    return Presentation(shown, _own_beside(shown, visible))


def show_what_fits(visible: Sequence[VisibleTool], plan: ServingPlan) -> Presentation:
    """Show all within the budget, else what something speaks for, and how to find the rest.

    What is held back takes only the room that is left: using it pushes nothing out that was listed before.
    """
    usual = [each for each in visible if not plan.holds_back(each.tool)]
    if sum(map(_cost, usual)) > plan.token_budget:
        usual = _pinned(visible, plan)
    chosen = {each.name for each in usual}
    left = plan.token_budget - sum(map(_cost, usual))
    for each in _spoken_for(visible):
        if each.name not in chosen and _cost(each) <= left:
            chosen.add(each.name)
            left -= _cost(each)
    shown = [each for each in visible if each.name in chosen]
    return Presentation(shown, _own_beside(shown, visible))


def _at_hand(visible: Sequence[VisibleTool], plan: ServingPlan) -> Sequence[VisibleTool]:
    """Leave out what is held back, unless it was used here, or belongs here now."""
    return [each for each in visible if each.uses[0] or each.is_wanted or not plan.holds_back(each.tool)]


def _own_beside(shown: Sequence[VisibleTool], visible: Sequence[VisibleTool]) -> Sequence[OwnTool]:
    """Choose Remit's own tools: those that find and call what is not shown, where there is any."""
    return _FINDING if len(shown) < len(visible) else _ALWAYS


def _spoken_for(visible: Sequence[VisibleTool]) -> list[VisibleTool]:
    """List the tools that were used here, the most used first, and then those that belong here now."""
    used = [each for each in visible if each.uses[0]]
    used.sort(key=lambda each: (-each.uses[0], -each.uses[1], each.name))
    return [*used, *(each for each in visible if each.is_wanted)]


def show_pinned(visible: Sequence[VisibleTool], plan: ServingPlan) -> Presentation:
    """Show only what is pinned, and how to find the rest."""
    return Presentation(_pinned(visible, plan), _FINDING)


def show_namespaces(visible: Sequence[VisibleTool], plan: ServingPlan) -> Presentation:
    """Show one entry for each namespace; none is called as a tool is, or one could not be told from it."""
    taken = {*OwnTool, *(each.name for each in visible)}
    return Presentation(
        _pinned(visible, plan), (OwnTool.CALL, *_ALWAYS), groups=namespaces(visible, plan, taken)
    )


def show_rooms(visible: Sequence[VisibleTool], plan: ServingPlan) -> Presentation:
    """Show the rooms as resources, and what is in none of them."""
    outside = [each for each in visible if plan.is_pinned(each.tool) or not any(plan.rooms_of(each.tool))]
    shown = _at_hand(outside, plan)
    own = _FINDING if len(shown) < len(outside) else (OwnTool.CALL, *_ALWAYS)
    return Presentation(shown, own, resources=rooms(visible, plan))


def show_scopes(visible: Sequence[VisibleTool], plan: ServingPlan) -> Presentation:
    """Show all that is visible, or those of one scope to whom asks for it: a namespace or a room."""
    by_name = {each.name: each for each in (*namespaces(visible, plan), *rooms(visible, plan))}
    shown = _at_hand(visible, plan)
    return Presentation(
        shown, _own_beside(shown, visible), scopes=[by_name[name] for name in sorted(by_name)]
    )


STRATEGIES: Mapping[str, Strategy] = {
    "auto": show_what_fits,
    "flat": show_all,
    "state": show_all,
    "namespace": show_namespaces,
    "rooms": show_rooms,
    "manifest": show_scopes,
    "search": show_pinned,
}


def namespaces(
    visible: Sequence[VisibleTool], plan: ServingPlan, taken: Collection[str] = ()
) -> list[ToolGroup]:
    """Group tools by their namespaces."""
    found: dict[str, list[VisibleTool]] = {}
    for each in visible:
        found.setdefault(group_name(plan.namespace(each.tool), taken), []).append(each)
    return [ToolGroup(name, f"Tools of `{name}`", found[name]) for name in sorted(found)]


def rooms(visible: Sequence[VisibleTool], plan: ServingPlan) -> list[ToolGroup]:
    """Group tools by the rooms they are in; a tool may be in several, and a room be empty for now."""
    found: dict[str, list[VisibleTool]] = {name: [] for name in plan.rooms}
    for each in visible:
        for room in plan.rooms_of(each.tool):
            found[room.name].append(each)
    return [
        ToolGroup(name, plan.rooms[name][0].description or f"Tools of the room `{name}`", found[name])
        for name in sorted(found)
    ]


def group_item(group: ToolGroup) -> Item:
    """Write a group as the tool that returns its tools."""
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
    """Write a room as a resource."""
    return {
        "uri": f"{ROOM}{group.name}",
        "name": group.name,
        "description": f"{group.description} ({len(group.entries)} tools)",
        "mimeType": "application/json",
    }


def definitions_of(entries: Iterable[VisibleTool]) -> list[dict[str, Any]]:
    """List what a model needs to call tools."""
    return [each.item for each in entries]


def in_words(group: ToolGroup) -> str:
    """Tell of a group's tools in a line each."""
    lines = [f"- {each.name}: {one_line(each.item.get('description') or '', 160)}" for each in group.entries]
    return "\n".join([f"{group.description}. {HOW_TO_CALL}", *lines])


def _pinned(visible: Sequence[VisibleTool], plan: ServingPlan) -> list[VisibleTool]:
    return [each for each in visible if plan.is_pinned(each.tool)]


def _cost(entry: VisibleTool) -> int:
    return entry.tool.tokens or 0
