"""Looks up names in a catalog, in any form a person, a client or the gateway uses."""

from collections.abc import Collection, Iterable, Sequence

from remit.decision.decide import ToolDecision
from remit.decision.kinds import Authority, Kind, ToolStatus
from remit.decision.near_names import near_names
from remit.decision.tool_names import is_covered, spellings

_INVOKED = (Kind.SKILL, Kind.SLASH_COMMAND)  # both are invoked as `/name`


def find(name: str, listed: Sequence[ToolDecision]) -> list[ToolDecision]:
    """Find the rows that a name refers to: a server, a skill or command, a tool, or a plugin.

    An unknown tool name refers to the server that covers it, unless that server has listed its tools and this
    name is not among them.
    """
    servers = [item for item in listed if item.tool.kind is Kind.MCP_SERVER]
    if labelled := [item for item in servers if item.tool.server == name]:
        return labelled
    if invoked := [
        item for item in listed if item.tool.kind in _INVOKED and _bare(item.tool.name) == _bare(name)
    ]:
        return invoked
    forms = spellings(name)
    found = [[item for item in listed if item.tool.name == form] for form in forms]
    exact = next(filter(None, found), found[0])
    if any(item.tool.status is not ToolStatus.STALE or item.tool.is_unlisted for item in exact):
        return exact
    return _covering(forms, servers) or exact or [item for item in listed if _plugin(item) == name]


def _covering(forms: Iterable[str], servers: Sequence[ToolDecision]) -> list[ToolDecision]:
    covering = [
        item
        for item in servers
        if item.tool.status is not ToolStatus.STALE
        and (item.tool.listed_at is None or item.tool.is_outdated)
        and any(is_covered(form, item.tool.name) for form in forms)
    ]
    longest = max((len(item.tool.name) for item in covering), default=0)
    return [item for item in covering if len(item.tool.name) == longest]


def _plugin(item: ToolDecision) -> str | None:
    return item.tool.name.partition("@")[0] if item.tool.kind is Kind.PLUGIN else None


def _bare(name: str) -> str:
    return name.removeprefix("/")


def closest_to_being_visible(item: ToolDecision) -> tuple[bool, bool, bool, bool]:
    """Sort key that puts rows closest to being usable first, and reported ones behind declared ones."""
    tool, decision = item
    is_reported = tool.authority is not Authority.CONFIG
    is_stale, is_shadowed = tool.status is ToolStatus.STALE, tool.shadowed_by is not None
    return not decision.is_available, is_stale, is_shadowed, is_reported


def suggest(name: str, listed: Sequence[ToolDecision], others: Collection[str] = ()) -> list[str]:
    """List the names that an unknown name may refer to: available ones, or else hidden ones.

    `others` are available names that are not listed.
    """
    known = [(item.decision.is_available, _named(item)) for item in listed]
    available = [each for is_available, each in known if is_available]
    return near_names(name, [*available, *others]) or near_names(name, [each for _, each in known])


def _named(item: ToolDecision) -> str:
    tool = item.tool
    return tool.server or tool.name if tool.kind is Kind.MCP_SERVER else tool.name
