"""Takes a definition apart into the texts that a model reads."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from remit.decision.tools import Definition

MAX_DEPTH = 32
_TEXTS = ("title", "description", "default", "const", "examples", "enum", "$comment", "pattern")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text of a definition, and where it is."""

    place: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
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
    for passage in (*own, *_schema_texts(definition.input_schema), *_schema_texts(definition.output_schema)):
        if passage.text and not passage.text.isspace():
            found.setdefault(passage.text, passage)
    return list(found.values())


def parameters(definition: Definition) -> list[Parameter]:
    """List the arguments at the top level of a definition."""
    named = _fields(_fields(_loaded(definition.input_schema)).get("properties"))
    return [Parameter(name=name, description=_described(value)) for name, value in named.items()]


def _described(value: object) -> str:
    text = _fields(value).get("description")
    return text if isinstance(text, str) else ""


def _fields(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _schema_texts(schema: str | None) -> Iterator[Passage]:
    yield from _texts(_loaded(schema), "schema", 0)


def _texts(node: object, place: str, depth: int) -> Iterator[Passage]:
    if depth > MAX_DEPTH:
        return
    if isinstance(node, dict):
        for key, value in cast("dict[str, object]", node).items():
            if key in ("properties", "$defs", "definitions", "patternProperties") and isinstance(value, dict):
                for name, each in cast("dict[str, object]", value).items():
                    yield Passage(place="parameter name", text=name)
                    yield from _texts(each, f"parameter `{name}`", depth + 1)
            elif key in _TEXTS:
                yield from _strings(value, place if key == "description" else f"{key} of {place}", depth)
            else:
                yield from _texts(value, place, depth + 1)
    elif isinstance(node, list):
        for each in cast("list[object]", node):
            yield from _texts(each, place, depth + 1)


def _strings(value: object, place: str, depth: int) -> Iterator[Passage]:
    if isinstance(value, str):
        yield Passage(place=place, text=value)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _strings(each, place, depth + 1)
    elif isinstance(value, dict):
        yield from _texts(cast("dict[str, object]", value), place, depth + 1)


def _loaded(schema: str | None) -> object:
    try:
        return json.loads(schema) if schema else None
    except (ValueError, RecursionError):  # what cannot be read cannot be served either
        return None
