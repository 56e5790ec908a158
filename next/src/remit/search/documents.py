"""The searchable text of a tool, and the terms of a query.

Identifiers are split into words, so each word of `readFile`, `read_file` or `mcp__git__git_commit` matches.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

from remit.decision import Definition, Tool
from remit.text import as_list, as_object, split

MOST_QUERY_WORDS = 48
MOST_PAIRS = 64
SHORTEST_QUOTE = 4  # distinct words; documents contain every word of a shorter query by chance
_SHORTEST_PART = 3  # words
_MOST_PARTS = 24  # each part is compared with every hit

_WORD = re.compile(r"\w+")
_PART_END = re.compile(r"[!,.;?]|\b(?:and|then)\b", re.IGNORECASE)
_JOINT = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[^\W_]_[^\W_]")  # between the words of an identifier

# Verbs that occur in tool names ("get", "find", "show", "make", "list") are not stop words.
_STOP_WORDS = """
    a an the this that these those some any such each every both all there here
    i me my mine myself we us our ours you your yours he him his she her hers it its they them their theirs
    someone something anyone anything everyone everything one ones
    of in on at to from by for with without about into onto over under between through during before after
    above below against within across near per as than via upon toward towards among
    and or but nor so if then else because while although though
    am is are was were be been being do does did doing done have has had having
    can could may might must shall should will would ll ve re s t d m don doesn didn isn aren won
    what which who whom whose when where why how
    please thanks thank hi hello hey kindly
    want need like just also too very really some only own same other another more most
    up out off down again not no yes
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

_VERBS = {  # what people say, and the verb that tools use for it
    word: verb
    for verb, words in {
        "create": "open file raise start make add",
        "delete": "remove erase drop",
        "get": "show fetch view see",
        "run": "execute launch invoke",
        "search": "find",
        "update": "edit change modify rename",
    }.items()
    for word in words.split()
}
_NOUNS = frozenset(("file", "start", "change", "view"))  # verbs only at the start of a query
_CLOCK = re.compile(
    r"\bwhat (?:day|date|time|month|year) is (?:it|today)\b"
    r"|\bwhat(?:'s| is) (?:the (?:current )?|today'?s )(?:day|date|time)(?= *(?:\W?$|today|now|right|in ))",
    re.IGNORECASE,
)


class Document(NamedTuple):
    """The searchable text of a tool."""

    name: str
    server: str = ""
    description: str = ""
    params: tuple[str, ...] = ()
    title: str = ""
    details: str = ""  # descriptions of the parameters
    keywords: str = ""  # names as they are written, and what parameters contain; only found word by word


class Columns(NamedTuple):
    """The text columns of a document in the index."""

    name: str
    server: str = ""
    body: str = ""
    params: str = ""
    details: str = ""
    keywords: str = ""  # only found as they are spelled; they count in no score


class QueryTerms(NamedTuple):
    """The terms of a query."""

    words: Sequence[str]
    pairs: Sequence[str]  # adjacent words, such as `pull request`
    quote: Sequence[str] = ()  # all its words, stop words too, if it is long enough to be a quotation
    similar: Sequence[str] = ()  # words and pairs with the verb that tools use: `create`, `create pull`


def build_document(
    name: str,
    server: str | None = None,
    description: str | None = None,
    params: Mapping[str, str] | Sequence[str] = (),
    title: str | None = None,
    keywords: Iterable[str] = (),
) -> Document:
    """Build the document of a tool; `params` may map each name to its description."""
    details = params.values() if isinstance(params, Mapping) else ()
    return Document(
        name=split(name),
        server=split(server or ""),
        description=_spaced(description or ""),
        params=tuple(words for param in params if (words := split(param))),
        title=_spaced(title or ""),
        details=_spaced(" ".join(filter(None, details))),
        keywords=" ".join(
            (*filter(_JOINT.search, (name, *params)), _with_compounds(" ".join(keywords)))
        ).strip(),
    )


def tool_document(tool: Tool, definition: Definition | None) -> Document:
    """Build the document of a tool; without its definition, from its row alone."""
    own_name = tool.server if tool.name.endswith("__*") and tool.server else tool.name.rpartition("__")[2]
    if definition is None:
        return build_document(own_name or tool.name, tool.server, tool.description)
    raw = as_object(json.loads(definition.raw))
    title = raw.get("title") or as_object(raw.get("annotations")).get("title")
    return build_document(
        definition.tool or own_name,
        definition.server,
        definition.description,
        params_from_schema(raw.get("inputSchema")),
        title if isinstance(title, str) else None,
        _texts(raw.get("inputSchema")),
    )


def document_key(document: Document) -> str:
    """Return the key of a document's content, under which a store keeps its vector."""
    return sha256(repr(document).encode(errors="replace")).hexdigest()[:32]


def params_from_schema(schema: object) -> dict[str, str]:
    """Return the parameters of a JSON schema with their descriptions; empty if it has no properties."""
    properties = as_object(as_object(schema).get("properties"))
    about = {name: as_object(param).get("description") for name, param in properties.items()}
    return {str(name): text if isinstance(text, str) else "" for name, text in about.items()}


def _texts(schema: object) -> Iterator[str]:
    """List the names, descriptions and choices at every level of a schema."""
    values = [schema]
    while values:  # a server may nest deeper than calls can
        value = values.pop()
        values += as_list(value)
        for key, inner in as_object(value).items():
            if key == "properties":
                yield from as_object(inner)
            elif key == "description" and isinstance(inner, str):
                yield inner
            elif key == "enum":
                yield from (choice for choice in as_list(inner) if isinstance(choice, str))
            values.append(inner)


def indexed_columns(document: Document) -> Columns:
    """Return the columns to index, with the identifiers in a description also split into words."""
    return Columns(
        name=document.name,
        server=document.server,
        body=" ".join(filter(None, (document.title, _with_compounds(document.description)))),
        params=" ".join(document.params),
        details=document.details,
        keywords=document.keywords,
    )


def _with_compounds(text: str) -> str:
    """Add the words of the identifiers in a text."""
    compounds = (split(word) for word in _WORD.findall(text) if _JOINT.search(word))
    return " ".join((text, *compounds))


def parse_query(text: str) -> QueryTerms:
    """Parse a query into terms."""
    everything = _words(text)
    words = _chosen(everything)
    neighbors = dict.fromkeys((*pairwise(words), *filter(_is_telling, pairwise(everything))))
    distinct = list(dict.fromkeys(everything))
    return QueryTerms(
        words,
        [f"{one} {other}" for one, other in neighbors][:MOST_PAIRS],
        distinct[:MOST_QUERY_WORDS] if len(distinct) >= SHORTEST_QUOTE else [],
        _similar(words),
    )


def query_words(text: str) -> list[str]:
    """List the distinct words of a query, without stop words unless it has no others."""
    return _chosen(_words(text))


def _chosen(words: Sequence[str]) -> list[str]:
    telling = [word for word in words if word not in STOP_WORDS]
    return _first_and_last(telling or words, MOST_QUERY_WORDS)


def reworded(text: str) -> str:
    """Ask for the clock where a query asks for the day or the time, because it shares no word with one."""
    return _CLOCK.sub("current date time", text)


def _similar(words: Sequence[str]) -> list[str]:
    """Return the verb that tools use instead of the first one of a query, also with the word after it."""
    for at, (word, following) in enumerate(pairwise(words)):
        if (verb := _VERBS.get(word)) and (at == 0 or word not in _NOUNS):
            return [] if verb in words else [verb, f"{verb} {following}"]
    return []


@lru_cache(16)  # a search asks several times for the words of its query
def _words(text: str) -> Sequence[str]:
    return [word.lower() for word in _WORD.findall(split(text))]


def _is_telling(pair: tuple[str, str]) -> bool:
    return pair[0] not in STOP_WORDS or pair[1] not in STOP_WORDS


def query_parts(text: str) -> list[str]:
    """List the parts of a query that asks for several things; empty if it asks for one."""
    parts = [part for part in _PART_END.split(text) if len(_WORD.findall(part)) >= _SHORTEST_PART]
    return _first_and_last(parts, _MOST_PARTS) if len(parts) > 1 else []


def _first_and_last(texts: Sequence[str], most: int) -> list[str]:
    """List distinct texts; of too many, the first and the last, because pasted text is in the middle."""
    distinct = list(dict.fromkeys(texts))
    if len(distinct) <= most:
        return distinct
    first = distinct[: most // 2]
    last = dict.fromkeys(text for text in reversed(texts) if text not in first)
    return [*first, *reversed(list(last)[: most - len(first)])]


def both_ends(text: str, most: int) -> str:
    """Shorten a text to its start and its end, where the instruction is if the rest is pasted."""
    return text if len(text) <= most else f"{text[: most // 2]}\n{text[len(text) - most // 2 :]}"


def _spaced(text: str) -> str:
    return " ".join(text.split())
