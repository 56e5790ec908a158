"""Makes weak queries out of a tool's own text, each to be matched without the part it quotes."""

import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from sets import Tool
from text import FIRST, NAME, PARAMS, REST
from wording import WAYS

OPENINGS = ("", "", "I want to", "Please", "Can you", "I need to", "How do I", "Help me", "Could you")
_CLAUSE_END = re.compile(r"[,;:.(]|\b(?:including|such as|e\.g|based on|that|which|allowing|using)\b")
_EMPTY_WORDS = "detailed information details data about specified specific given provided a an the all"
_EMPTY = frozenset(_EMPTY_WORDS.split())
_SIBILANT = re.compile(r"(?:ch|sh|ss|x|zz|o)es$")


class WeakQuery(NamedTuple):
    """A query, and the field that the tool's sequence is to be without."""

    text: str
    without: int | None


def weak_queries(tool: Tool, chance: random.Random) -> Iterator[WeakQuery]:
    """The weak queries of one tool; which ones, and in which words, is left to chance."""
    name, server = tool.fields.name, tool.fields.server
    if name and (tool.fields.description or tool.fields.params):
        yield WeakQuery(f"{name} {server}".strip() if chance.random() < 0.4 else name, NAME)
    if tool.fields.first:
        yield WeakQuery(tool.fields.first, FIRST)
        yield WeakQuery(_request(tool, chance), FIRST if chance.random() < 0.7 else None)
    if tool.fields.rest:
        yield WeakQuery(tool.fields.rest[:250], REST)
    if described := [text for _, text in tool.params if text]:
        yield WeakQuery(_described(name, described, chance), PARAMS)
    if tool.server_description and chance.random() < 0.25:
        yield WeakQuery(tool.server_description[:400], None)


def asked(tool: Tool, chance: random.Random) -> Iterator[WeakQuery]:
    """What someone might ask for who does not know the tool's verb, nor all of what it does."""
    name = tool.fields.name.lower().split()
    if len(name) > 1 and (tool.fields.description or tool.fields.params):
        yield WeakQuery(_ask(name, chance), NAME)
    sentence = _CLAUSE_END.split(tool.fields.first, maxsplit=1)[0].lower().split()
    if len(sentence) > 2:
        yield WeakQuery(
            _ask([_bare(sentence[0]), *sentence[1:18]], chance), FIRST if chance.random() < 0.7 else None
        )


def _ask(words: list[str], chance: random.Random) -> str:
    """A request for what a verb and its object say, in other words where the verb is a known one."""
    verb, *thing = words
    ways = WAYS.get(verb)
    if ways is None:
        return " ".join([chance.choice(OPENINGS), verb, *thing]).strip()
    kept = [w for w in thing if w not in _EMPTY or chance.random() < 0.5]
    return chance.choice(ways).format(" ".join(kept or thing))


def _described(name: str, described: list[str], chance: random.Random) -> str:
    some = chance.sample(described, min(len(described), chance.randint(1, 3)))
    start = name.split()[:1] if chance.random() < 0.5 else []
    return " ".join([*start, *(text[:150] for text in some)])


def _request(tool: Tool, chance: random.Random) -> str:
    words = tool.fields.first.rstrip(".!?").split()
    words[:1] = [_bare(words[0])] if words else []
    if chance.random() < 0.5:
        words = _without_name(words, tool.fields.name, chance)
    if tool.fields.params and chance.random() < 0.4:
        some = chance.sample(tool.fields.params, min(len(tool.fields.params), chance.randint(1, 2)))
        words += [chance.choice(("with", "by", "for", "given")), " and ".join(some)]
    if tool.fields.server and chance.random() < 0.3:
        words += [chance.choice(("in", "on", "using")), tool.fields.server]
    return " ".join([chance.choice(OPENINGS), *words]).strip()


def _without_name(words: list[str], name: str, chance: random.Random) -> list[str]:
    named = set(name.lower().split())
    kept = [w for w in words if w.lower().strip(",;:'\"") not in named or chance.random() > 0.7]
    return kept or words


def _bare(verb: str) -> str:
    """`Retrieves` without its ending: `retrieve`; a word that does not end so stays."""
    word = verb.lower()
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if _SIBILANT.search(word):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return verb
