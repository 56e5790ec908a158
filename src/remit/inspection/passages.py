"""Takes a definition apart into the texts that a model reads."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import cast

from remit.decision.tools import Definition
from remit.text.json_values import as_object

_LABELED = ("title", "default", "const", "examples", "enum", "$comment")  # named in the place of a text
_NAMING = ("properties", "$defs", "definitions", "patternProperties")  # their keys are names
_STRUCTURE = ("$ref", "$schema", "$id", "type", "format")  # their values are no text


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
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
        Passage(place="name", text=definition.tool or definition.name),
        Passage(place="title", text=definition.title or ""),
        Passage(place="description", text=definition.description or ""),
    )
    found: dict[str, Passage] = {}
    schemas = (definition.input_schema, definition.output_schema, definition.annotations)
    for passage in (*own, *chain.from_iterable(map(_schema_texts, schemas))):
        if passage.text and not passage.text.isspace():
            found.setdefault(passage.text, passage)
    return list(found.values())


def parameters(definition: Definition) -> list[ToolParameter]:
    """List the arguments at the top level of a definition."""
    named = as_object(as_object(_loaded(definition.input_schema)).get("properties"))
    return [ToolParameter(name=name, description=_described(value)) for name, value in named.items()]


def _described(value: object) -> str:
    text = as_object(value).get("description")
    return text if isinstance(text, str) else ""


def _schema_texts(schema: str | None) -> Iterator[Passage]:
    """List every text of a schema, wherever it is: a model reads unknown keywords, too."""
    pending: list[tuple[str, object]] = [("schema", _loaded(schema))]
    while pending:
        place, node = pending.pop()
        if isinstance(node, str):
            yield Passage(place=place, text=node)
        elif isinstance(node, list):
            pending += [(place, each) for each in reversed(cast("list[object]", node))]
        else:
            pending += reversed(
                [part for key, value in as_object(node).items() for part in _parts(place, key, value)]
            )


def _parts(place: str, key: str, value: object) -> Iterator[tuple[str, object]]:
    if key in _NAMING and isinstance(value, dict):
        for name, each in cast("dict[str, object]", value).items():
            yield "parameter name", name
            yield f"parameter `{name}`", each
    elif key not in _STRUCTURE or isinstance(value, dict):  # a property may be called `type`
        yield f"keyword of {place}", key if " " in key else None
        yield f"{key} of {place}" if key in _LABELED else place, value


def _loaded(schema: str | None) -> object:
    try:
        return json.loads(schema) if schema else None
    except (ValueError, RecursionError):  # what cannot be read cannot be served either
        return None
