"""Looks up names in a catalog, in any form a person, a client or the gateway uses, and those near to them."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from remit.decision.context import Gate, ToolDecision
from remit.decision.names import MCP, OWN, is_covered, normalise, spellings, tool_prefix
from remit.decision.scopes import Kind
from remit.decision.tools import Status
from remit.text import MOST_SUGGESTIONS, spelling_distance, split

_INVOKED = (Kind.SKILL, Kind.SLASH_COMMAND)  # both are invoked as `/name`
_SHORTEST = 4  # letters of a name or a word that can be meant without the rest of its tool's name
_SAYS_NOTHING = frozenset({"tool", "tools"})  # words that any name may have
_LONGEST = 200  # characters; the rest of a longer text is ignored
_Rank = tuple[int, int]  # the kind of likeness, then how far apart the names are


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
    named = [[item for item in listed if item.tool.name == form] for form in forms]
    exact = next(filter(None, named), named[0])
    if any(item.tool.status is not Status.STALE for item in exact):
        return exact
    return _covering(forms, servers) or exact or [item for item in listed if _plugin(item) == name]


def with_bare_name(name: str, listed: Iterable[ToolDecision]) -> list[str]:
    """List the full names of the tools that their servers call by a name."""
    own = normalise(name)
    return sorted(
        {
            tool.name
            for tool, _ in listed
            if tool.kind is Kind.MCP_TOOL
            and tool.server is not None
            and tool.status is not Status.STALE
            and tool.name == tool_prefix(tool.server, tool.plugin) + own
        }
    )


def _covering(forms: Iterable[str], servers: Sequence[ToolDecision]) -> list[ToolDecision]:
    covering = [
        item
        for item in servers
        if item.tool.status is not Status.STALE and any(is_covered(form, item.tool.name) for form in forms)
    ]
    served = {item.tool.name for item in covering if item.decision.is_available}
    unlisted = [
        item
        for item in covering
        if item.tool.listed_at is None
        # a hidden declaration does not answer for a server that another one makes available
        and (item.decision.is_available or item.tool.name not in served)
    ]
    longest = max((len(item.tool.name) for item in unlisted), default=0)
    return [item for item in unlisted if len(item.tool.name) == longest]


def _plugin(item: ToolDecision) -> str | None:
    return item.tool.name.partition("@")[0] if item.tool.kind is Kind.PLUGIN else None


def _bare(name: str) -> str:
    return name.removeprefix("/")


def closest_to_being_visible(item: ToolDecision) -> tuple[bool, ...]:
    """Sort key that puts rows closest to being usable first, and reported ones behind declared ones."""
    tool, decision = item
    is_reported = not tool.is_declared
    is_stale, is_shadowed = tool.status is Status.STALE, tool.shadowed_by is not None
    is_anothers = tool.agent is not None and decision.gate is Gate.AGENT  # of a server that another agent has
    return not decision.is_available, is_anothers, is_stale, is_shadowed, is_reported


def suggest(name: str, listed: Sequence[ToolDecision], others: Collection[str] = ()) -> list[str]:
    """List the names that an unknown name may refer to: available ones, or else hidden ones.

    `others` are available names that are not listed.
    """
    known = [(item.decision.is_available, _named(item)) for item in listed]
    available = [label for is_available, label in known if is_available]
    return near_names(name, [*available, *others]) or near_names(name, [label for _, label in known])


def _named(item: ToolDecision) -> str:
    tool = item.tool
    return tool.server or tool.name if tool.kind is Kind.MCP_SERVER else tool.name


class _Forms(NamedTuple):
    """A name without the prefixes that clients and the gateway add, and its last part, without the server."""

    plain: str
    own: str


def near_names(wanted: str, usable: Iterable[str]) -> list[str]:
    """List the usable names nearest to an unknown one, nearest first.

    Either may be bare, canonical, or as the gateway serves it. The same tool of another server, or without
    its server, is nearer than a misspelling, and a misspelling is nearer than a name that has more words.
    """
    asked = _forms(wanted[:_LONGEST])
    known = {name: _forms(name) for name in usable}
    ranked = sorted(
        (
            rank,
            spelling_distance(asked.plain, forms.plain) is None,
            name,
        )  # of equals, its own server's
        for name, forms in known.items()
        if (rank := _rank(asked, forms)) is not None
    )
    return [name for (kind, _), _, name in ranked if kind == ranked[0][0][0]][:MOST_SUGGESTIONS]


def _forms(name: str) -> _Forms:
    plain = name.strip().removeprefix(OWN).removeprefix(MCP).removeprefix("/").removesuffix("__*")
    return _Forms(plain, plain.partition("__")[2] or plain)


def _rank(asked: _Forms, known: _Forms) -> _Rank | None:
    if _letters(asked.plain) == _letters(known.plain):
        return 0, 0
    is_telling = len(asked.own) >= _SHORTEST
    if is_telling and _letters(asked.own) == _letters(known.own):
        return 1, 0
    distances = [spelling_distance(asked.plain, known.plain)]
    distances += [spelling_distance(asked.own, known.own)] if is_telling else []
    if near := [distance for distance in distances if distance is not None]:
        return 2, min(near)
    words, its = _words(asked.own) - _SAYS_NOTHING, _words(known.plain)
    if words <= its and any(len(word) >= _SHORTEST for word in words):
        return 3, len(its - words)
    return None


def _letters(name: str) -> str:
    return "".join(char for char in name if char.isalnum()).lower()


def _words(name: str) -> frozenset[str]:
    return frozenset(split(name).lower().split())
