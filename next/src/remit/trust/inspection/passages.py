"""Takes a definition apart into the sentences that a model reads."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, cast

from remit.decision import Definition
from remit.text import as_object, split
from remit.trust.inspection.hidden import revealed

_NAMING = ("properties", "$defs", "definitions", "patternProperties")  # their keys are names
_STRUCTURE = ("$ref", "$schema", "$id", "type", "format", "required", "mimeType")  # no text without a space
_PICTURE = re.compile(r"data:image/[\w.+-]+;base64,[A-Za-z0-9+/=]*")
_END = re.compile(r"(?<=[.!?;])[\"')\]]*\s+(?=\S)|\n[\s>*#•-]*|(?<=>)\s*(?=[A-Z])|(?<=[.!?])(?=<)")
_FEWEST_SPACES = 2  # of a sentence
_LONGEST_VALUE = 40  # characters of a name or value without a space


class Passage(NamedTuple):
    """A text of a definition, and where it is."""

    place: str
    text: str


class Sentence(NamedTuple):
    """A sentence of a definition as written, and the words before it that tell what it is about."""

    place: str
    text: str
    about: str = ""  # the name of its parameter


def passages(definition: Definition) -> list[Passage]:
    """List the texts of a definition, each once."""
    try:
        raw = as_object(json.loads(definition.raw))
    except (ValueError, RecursionError):  # what cannot be read cannot be served, either
        raw = {}
    texts = {definition.tool or definition.name: "name"}
    if definition.description:
        texts.setdefault(definition.description, "description")
    for place, text in _texts("definition", raw):
        if text and not text.isspace():
            texts.setdefault(text, place)
    return [Passage(place, text) for text, place in texts.items()]


@lru_cache(maxsize=1 << 12)  # the tools of a server repeat their parameters
def sentences(passage: Passage) -> list[Sentence]:
    """Split a passage into sentences; a name is split into its words."""
    place, text = passage
    if place in ("name", "parameter name") or (
        " " not in text and len(text) <= _LONGEST_VALUE and text.isascii()
    ):
        words = split(text)  # such as `read_the_key_first`
        return [Sentence(place, text, words)] if words.count(" ") >= _FEWEST_SPACES else []
    about = split(place.split("`")[1]) if "`" in place else ""
    parts = [part.strip() for part in _END.split(revealed(text))]
    return [
        Sentence(place, part, about)
        for part in parts
        if part.count(" ") >= _FEWEST_SPACES or not part.isascii()
    ]


def _texts(place: str, node: object) -> Iterator[tuple[str, str]]:
    """List every text after its place, wherever it is: a model reads unknown keywords, too."""
    pending: list[tuple[str, object]] = [(place, node)]
    while pending:
        place, node = pending.pop()
        if isinstance(node, str):
            yield place, node
        elif isinstance(node, list):
            pending += [(place, item) for item in reversed(cast("list[object]", node))]
        elif isinstance(node, dict):
            pending += reversed(list(_parts(place, cast("dict[str, object]", node))))


def _parts(place: str, node: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in node.items():
        if isinstance(value, dict) and key in _NAMING:
            for name, part in cast("dict[str, object]", value).items():
                yield "parameter name", name
                yield f"parameter `{name}`", part
        elif isinstance(value, dict) or _may_be_text(key, value):  # a property may be called `type`
            if " " in key:
                yield f"keyword of {place}", key
            yield (key if place == "definition" else place), value


def _may_be_text(key: str, value: object) -> bool:
    if key == "src" and isinstance(value, str):
        return _PICTURE.fullmatch(value) is None
    return key not in _STRUCTURE or not isinstance(value, str) or " " in value
