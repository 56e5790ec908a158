"""Finds the tool names that a caller may have meant by an unknown name."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from remit.decision.tool_names import MCP, OWN
from remit.text.spelling import MOST_SUGGESTIONS, spelling_distance
from remit.text.words import split

_SHORTEST = 4  # letters of a name or a word that can be meant without the rest of its tool's name
_LONGEST = 200  # characters; what a client sends beyond them is no name
_PUNCTUATION = re.compile(r"[\W_]+")
_Rank = tuple[int, int]  # the kind of likeness, then how far apart the names are


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
    ranked = sorted((rank, name) for name in set(usable) if (rank := _rank(asked, _forms(name))) is not None)
    return [name for (kind, _), name in ranked if kind == ranked[0][0][0]][:MOST_SUGGESTIONS]


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
    words, its = _words(asked.own), _words(known.plain)
    if words <= its and any(len(word) >= _SHORTEST for word in words):
        return 3, len(its - words)
    return None


def _letters(name: str) -> str:
    return _PUNCTUATION.sub("", name).lower()


def _words(name: str) -> frozenset[str]:
    return frozenset(split(name).lower().split())
