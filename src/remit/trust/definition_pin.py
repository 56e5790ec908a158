"""The pin of a definition: a digest of all that a model sees, and all that a client acts on.

The order of keys, whitespace, and the date and time in a text are no changes. Neither is the order of lists
that stand for sets. Everything else is, except `_meta` keys that no client acts on.
"""

import json
import re
from collections.abc import Callable
from hashlib import sha256
from typing import cast

from remit.decision.tools import Definition

Content = dict[str, object]

# Namespaces of `_meta` keys on which clients act: how a tool is loaded, confirmed, shown and signed in to.
_ACTED_ON = ("anthropic/", "claude", "openai/", "ui", "mcpui", "vscode", "cursor", "io.modelcontextprotocol/")
_RESERVED = re.compile(r"(?:^|\.)(?:modelcontextprotocol|mcp)(?:\.[\w-]+)*/")  # by the specification
_SETS = ("required", "enum", "type", "anyOf", "oneOf", "allOf", "examples")  # lists without an order
_TEXTS = ("description", "title", "$comment")
_VALUES = ("default", "const", "enum", "examples")  # data, in which every character counts
_NAMING = ("properties", "$defs", "definitions", "patternProperties")  # their keys are names
_SPACE = re.compile(r"[ \t\r\n]+")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+)?"
_MOMENT = re.compile(  # a date, a time, or both
    rf"\b(?:\d{{4}}-\d\d-\d\d|{_DAY}{_MONTH}\s+\d{{1,2}},?\s+\d{{4}}|{_DAY}\d{{1,2}}\s+{_MONTH}\s+\d{{4}}|\d{{4}}/\d\d/\d\d)"
    r"(?:[T ,]+\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\s?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?)?(?!\w)"
)


def pin_of(definition: Definition) -> str:
    """Return the digest of what matters in a definition."""
    written = json.dumps(canonical(definition), sort_keys=True, separators=(",", ":"))
    return sha256(written.encode()).hexdigest()


def canonical(definition: Definition) -> Content:
    """Return what matters in a definition, in one form."""
    raw: Content = json.loads(definition.raw) if definition.raw else _parts(definition)
    found: Content = {"name": definition.tool or definition.name}
    for key, value in raw.items():
        if key == "_meta":
            found.update({f"_meta.{name}": each for name, each in _acted_on(value).items()})
        elif key in _TEXTS:
            found[key] = _text(value)
        elif key != "name" and value is not None:
            found[key] = _schema(value)
    return {key: value for key, value in found.items() if value not in ("", None)}


def canonical_text(text: str) -> str:
    """Return a text with single spaces, and without the date and time."""
    return _MOMENT.sub("<time>", _SPACE.sub(" ", text).strip())


def _parts(definition: Definition) -> Content:
    """Return the content of a definition that was not received from a server, such as its instructions."""
    schemas = {
        "inputSchema": definition.input_schema,
        "outputSchema": definition.output_schema,
        "annotations": definition.annotations,
    }
    texts = {"title": definition.title, "description": definition.description}
    return {**texts, **{key: json.loads(value) for key, value in schemas.items() if value}}


def _acted_on(meta: object) -> Content:
    found = cast("Content", meta) if isinstance(meta, dict) else {}
    return {
        key: _plain(value)
        for key, value in found.items()
        if key.startswith(_ACTED_ON) or _RESERVED.search(key) is not None
    }


def _schema(value: object) -> object:
    """Return a schema in one form: texts with single spaces, and sets sorted."""
    if not isinstance(value, dict):
        return _each(value, _schema)
    return {key: _keyword(key, each) for key, each in cast("Content", value).items()}


def _keyword(key: str, value: object) -> object:
    if key in _NAMING and isinstance(value, dict):
        return {name: _schema(each) for name, each in cast("Content", value).items()}
    if key in _TEXTS:
        return _text(value)
    read = _plain(value) if key in _VALUES else _schema(value)
    if key in _SETS and isinstance(read, list):
        return sorted(cast("list[object]", read), key=lambda each: json.dumps(each, sort_keys=True))
    return read


def _text(value: object) -> object:
    return canonical_text(value) if isinstance(value, str) else _schema(value)


def _plain(value: object) -> object:
    """Return data in one form, in which 1.0 is 1."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in cast("Content", value).items()}
    return _each(value, _plain)


def _each(value: object, form: Callable[[object], object]) -> object:
    if isinstance(value, list):
        return [form(each) for each in cast("list[object]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value
