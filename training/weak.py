"""Makes weak queries out of a tool's own text, each to be matched without the part it quotes."""

import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from sets import Tool
from text import FIRST, NAME, PARAMS, REST

OPENINGS = ("", "", "I want to", "Please", "Can you", "I need to", "How do I", "Help me", "Could you")
_CLAUSE_END = re.compile(r"[,;:.(]|\b(?:including|such as|e\.g|based on|that|which|allowing|using)\b")
_EMPTY = frozenset("detailed information details data about specified specific given provided a an the all".split())
WAYS = (
    (
        frozenset("get retrieve fetch read return provide view access load obtain describe display show".split()),
        (
            "show me {}",
            "what is the {}",
            "what are the {}",
            "give me {}",
            "I would like to see {}",
            "look up {}",
            "pull up {}",
            "tell me {}",
            "can you check {}",
        ),
    ),
    (
        frozenset("list enumerate browse".split()),
        ("show all {}", "what {} do I have", "which {} are there", "give me all {}", "what {} exist", "see my {}"),
    ),
    (
        frozenset("search find query lookup discover locate filter".split()),
        ("look for {}", "find {}", "are there any {}", "I am looking for {}", "where is {}", "which {} match"),
    ),
    (
        frozenset("create add insert new register make post build".split()),
        ("make a new {}", "set up {}", "I need a new {}", "add {}", "put in {}", "start a {}"),
    ),
    (
        frozenset("delete remove clear drop cancel destroy archive".split()),
        ("get rid of {}", "remove {}", "I no longer need {}", "take away {}", "erase {}", "drop {}"),
    ),
    (
        frozenset("update edit modify set change patch replace rename configure adjust".split()),
        ("change {}", "edit {}", "I want to modify {}", "make changes to {}", "adjust {}", "set {} to something else"),
    ),
    (
        frozenset("send publish share notify reply submit".split()),
        ("send {}", "share {}", "let them know {}", "get {} to someone", "post {}", "pass on {}"),
    ),
    (
        frozenset("generate produce compose write draft render".split()),
        ("make {}", "come up with {}", "write {}", "I need {}", "prepare {}", "build {}"),
    ),
    (
        frozenset("calculate compute estimate count measure".split()),
        ("work out {}", "how much is {}", "figure out {}", "how many {}", "what is the {}"),
    ),
    (
        frozenset("analyze analyse evaluate assess compare inspect examine review summarize".split()),
        ("look into {}", "what can you tell me about {}", "examine {}", "go over {}", "give me insight into {}"),
    ),
    (
        frozenset("check validate verify test detect determine confirm is".split()),
        ("is {} right", "make sure of {}", "see whether {}", "confirm {}", "find out {}", "have a look at {}"),
    ),
    (
        frozenset("convert translate transform parse extract encode decode format".split()),
        ("turn {}", "change {}", "I have {} and want it in another form", "pull out {}", "get {}"),
    ),
    (
        frozenset("run execute start launch trigger deploy open call invoke enable activate".split()),
        ("run {}", "kick off {}", "start {}", "get {} going", "launch {}", "turn on {}"),
    ),
    (
        frozenset("stop disable close pause kill terminate end block".split()),
        ("stop {}", "turn off {}", "shut down {}", "end {}", "I want {} to stop"),
    ),
)
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
    """What someone might ask for who knows neither the tool's verb nor, of its sentence, more than the start."""
    name = tool.fields.name.lower().split()
    if len(name) > 1 and (tool.fields.description or tool.fields.params):
        yield WeakQuery(_ask(name, chance), NAME)
    sentence = _CLAUSE_END.split(tool.fields.first, maxsplit=1)[0].lower().split()
    if len(sentence) > 2:
        yield WeakQuery(_ask([_bare(sentence[0]), *sentence[1:18]], chance), FIRST if chance.random() < 0.7 else None)


def _ask(words: list[str], chance: random.Random) -> str:
    """A request for what a verb and its object say, in other words where the verb is a known one."""
    verb, *thing = words
    ways = next((ways for verbs, ways in WAYS if verb in verbs), None)
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
