"""The searchable text of a tool, and the terms of a query.

Identifiers are split into words, so each word of `readFile`, `read_file` or `mcp__git__git_commit` matches.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from remit.decision.tool_names import storable
from remit.decision.tools import Definition
from remit.text.json_values import as_object
from remit.text.words import STOP_WORDS, split

MOST_QUERY_WORDS = 48
COLUMN_WEIGHTS = (3.0, 1.0, 1.0, 0.5, 0.25)  # name, server, body, params, details
MOST_PAIRS = 64
PAIR_WEIGHT = 0.5  # weight of two adjacent words, relative to one word
QUOTE_WEIGHT = 3.0  # weight of BM25 in a document that contains every word of a query
SHORTEST_QUOTE = 4  # distinct words; documents contain every word of a shorter query by chance
_MOST_DESCRIPTION = 1200  # characters
_MOST_PARAMS = 20
_MOST_SERVER = 60  # characters
_MOST_DETAILS = 600  # characters
_SHORTEST_PART = 3  # words
_MOST_PARTS = 24  # each part is compared with every hit

_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"\w+")
_PART_END = re.compile(r"[!,.;?]|\b(?:and|then)\b", re.IGNORECASE)
_JOINT = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[^\W_]_[^\W_]")  # between the words of an identifier


class Document(NamedTuple):
    """The searchable text of a tool."""

    name: str
    server: str = ""
    description: str = ""
    params: tuple[str, ...] = ()
    title: str = ""
    details: str = ""  # descriptions of the parameters


class Columns(NamedTuple):
    """The text columns of a document in the word index."""

    name: str
    server: str
    body: str
    params: str
    details: str = ""


class QueryTerms(NamedTuple):
    """The terms of a query."""

    words: Sequence[str]
    pairs: Sequence[str]  # adjacent words, such as `pull request`
    quote: Sequence[str] = ()  # all its words, stop words too, if it is long enough to be a quotation


def build_document(
    name: str,
    server: str | None = None,
    description: str | None = None,
    params: Mapping[str, str] | Sequence[str] = (),
    title: str | None = None,
) -> Document:
    """Build the document of a tool; `params` may map each name to its description."""
    said = params.values() if isinstance(params, Mapping) else ()
    return Document(
        name=split(name),
        server=split(server or "")[:_MOST_SERVER],
        description=_SPACES.sub(" ", description or "").strip()[:_MOST_DESCRIPTION],
        params=tuple(words for param in params if (words := split(param)))[:_MOST_PARAMS],
        title=_SPACES.sub(" ", title or "").strip(),
        # A JSON schema may contain an escaped lone surrogate.
        details=storable(_SPACES.sub(" ", " ".join(filter(None, said))).strip()[:_MOST_DETAILS]),
    )


def definition_document(definition: Definition) -> Document:
    """Build the document of a definition, with the tool's name without its server."""
    own = definition.tool or definition.name.rpartition("__")[2].removesuffix("*")
    return build_document(
        own or definition.server or definition.name,
        definition.server,
        definition.description,
        params_from_json(definition.input_schema),
        definition.title,
    )


def params_from_json(input_schema: str | None) -> dict[str, str]:
    """Return the parameters of a JSON schema with their descriptions, from its text."""
    return params_from_schema(json.loads(input_schema) if input_schema else None)


def params_from_schema(schema: object) -> dict[str, str]:
    """Return the parameters of a JSON schema with their descriptions; empty if it has no properties."""
    properties = as_object(as_object(schema).get("properties"))
    said = {name: as_object(about).get("description") for name, about in properties.items()}
    return {str(name): text if isinstance(text, str) else "" for name, text in said.items()}


def indexed_columns(document: Document) -> Columns:
    """Return the columns to index, with the identifiers in a description also split into words."""
    words = _WORD.findall(document.description)
    compounds = " ".join(split(word) for word in words if _JOINT.search(word))
    body = " ".join(filter(None, (document.title, document.description, compounds)))
    return Columns(document.name, document.server, body, " ".join(document.params), document.details)


def parse_query(text: str) -> QueryTerms:
    """Parse a query into terms."""
    words, everything = query_words(text), _words(text)
    neighbours = dict.fromkeys((*pairwise(words), *filter(_is_telling, pairwise(everything))))
    distinct = list(dict.fromkeys(everything))
    return QueryTerms(
        words,
        [f"{one} {other}" for one, other in neighbours][:MOST_PAIRS],
        distinct[:MOST_QUERY_WORDS] if len(distinct) >= SHORTEST_QUOTE else [],
    )


def query_words(text: str) -> list[str]:
    """List the distinct words of a query, without stop words unless it has no others."""
    words = _words(text)
    telling = [word for word in words if word not in STOP_WORDS]
    return _first_and_last(telling or words, MOST_QUERY_WORDS)


def _words(text: str) -> list[str]:
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
