"""Takes a definition apart into the texts that a model reads."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, cast

from remit.decision.tools import Definition
from remit.text.json_values import as_object

_LABELED = ("title", "default", "const", "examples", "enum", "$comment")  # named in the place of a text
_NAMING = ("properties", "$defs", "definitions", "patternProperties")  # their keys are names
_STRUCTURE = ("$ref", "$schema", "$id", "type", "format")  # their values are no text, unless they have spaces
_READ = ("title", "description", "inputSchema", "outputSchema", "annotations")  # fields that are read apart
_PICTURE = re.compile(r"data:image/[\w.+-]+;base64,[A-Za-z0-9+/=]*")


class Passage(NamedTuple):
    """A text of a definition, and where it is."""

    place: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolParameter:
    """An argument that a tool asks for."""

    name: str
    description: str


def passages(definition: Definition) -> list[Passage]:
    """List the texts of a definition, each once."""
    own = (
        ("name", definition.tool or definition.name),
        ("title", definition.title or ""),
        ("description", definition.description or ""),
    )
    found: dict[str, str] = {}
    schemas = (definition.input_schema, definition.output_schema, definition.annotations)
    read = (_texts("schema", _loaded(schema)) for schema in schemas)
    for place, text in chain(own, *read, _texts("other fields", _other_fields(definition))):
        if text and not text.isspace():
            found.setdefault(text, place)
    return [Passage(place, text) for text, place in found.items()]


def parameters(definition: Definition) -> list[ToolParameter]:
    """List the arguments at the top level of a definition."""
    named = as_object(as_object(_loaded(definition.input_schema)).get("properties"))
    return [ToolParameter(name=name, description=_described(value)) for name, value in named.items()]


def _described(value: object) -> str:
    text = as_object(value).get("description")
    return text if isinstance(text, str) else ""


def _other_fields(definition: Definition) -> dict[str, object]:
    """Return `_meta` and the fields that Remit does not know: a client may show them to a model."""
    return {key: value for key, value in as_object(_loaded(definition.raw)).items() if key not in _READ}


def _texts(place: str, root: object) -> Iterator[tuple[str, str]]:
    """List every text of a schema after its place, wherever it is: a model reads unknown keywords, too."""
    pending: list[tuple[str, object]] = [(place, root)]
    while pending:
        place, node = pending.pop()
        if isinstance(node, str):
            yield place, node
        elif isinstance(node, list):
            pending += [(place, each) for each in reversed(cast("list[object]", node))]
        elif isinstance(node, dict):
            pending += reversed(_parts(place, cast("dict[str, object]", node)))


def _parts(place: str, node: dict[str, object]) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for key, value in node.items():
        is_object = isinstance(value, dict)
        if is_object and key in _NAMING:
            for name, each in cast("dict[str, object]", value).items():
                found += (("parameter name", name), (f"parameter `{name}`", each))
        elif is_object or _may_be_text(key, value):  # a property may be called `type`
            if " " in key:
                found.append((f"keyword of {place}", key))
            found.append((f"{key} of {place}" if key in _LABELED else place, cast("object", value)))
    return found


def _may_be_text(key: str, value: object) -> bool:
    if key == "src" and isinstance(value, str):
        return _PICTURE.fullmatch(value) is None
    if key not in _STRUCTURE:
        return True
    return " " in value if isinstance(value, str) else any(" " in text for _, text in _texts("", value))


@lru_cache(maxsize=8)  # an inspection reads a schema for its texts and for its parameters
def _loaded(schema: str | None) -> object:
    try:
        return json.loads(schema) if schema else None
    except (ValueError, RecursionError):  # what cannot be read cannot be served either
        return None
