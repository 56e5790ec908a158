"""The pin of a definition: a digest of all that a model sees, and all that a client acts on.

The order of keys, whitespace, and the current date and time in a text are no changes. Neither is the order of
lists that stand for sets. Everything else is, except `_meta` keys that no client acts on.
"""

import json
import re
from collections.abc import Callable
from hashlib import sha256
from typing import cast

from remit.decision.tools import Definition

Content = dict[str, object]

# Namespaces of `_meta` keys on which clients act: how a tool is loaded, confirmed, shown and signed in to.
_ACTED_ON = (
    *("anthropic/", "claude", "openai/", "securityschemes", "ui", "mcpui", "vscode", "cursor"),
    "io.modelcontextprotocol/",
)
_RESERVED = re.compile(r"(?:^|\.)(?:modelcontextprotocol|mcp)(?:\.[\w-]+)*/")  # by the specification
_SETS = ("required", "enum", "type", "anyOf", "oneOf", "allOf", "examples")  # lists without an order
_TEXTS = ("description", "title", "$comment")
_VALUES = ("default", "const", "enum", "examples")  # data, in which every character counts
_NAMING = ("properties", "$defs", "definitions", "patternProperties")  # their keys are names
_SPACE = re.compile(r"[ \t\r\n]+")
# Whole names and numbers that a calendar has: anything wider would hide words from the pin.
_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?"
    "|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_WEEKDAY = "(?:(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Mon|Tues?|Wed|Thu(?:rs)?|Fri|Sat|Sun),? )?"
_YEAR, _DAY = "(?:19|20)[0-9]{2}", "(?:0?[1-9]|[12][0-9]|3[01])"
_NUMBERS = rf"{_YEAR}(?P<dash>[-/])(?:0[1-9]|1[0-2])(?P=dash)(?:0[1-9]|[12][0-9]|3[01])"
_HOUR, _SIXTY = "(?:[01][0-9]|2[0-3])", "[0-5][0-9]"
_DATE = (  # with or without a time
    rf"\b(?:{_NUMBERS}|{_WEEKDAY}{_MONTH} {_DAY},? {_YEAR}|{_WEEKDAY}{_DAY} {_MONTH} {_YEAR})"
    rf"(?:(?:T|,? ){_HOUR}:{_SIXTY}(?::{_SIXTY}(?:\.[0-9]{{1,9}})?)?"
    rf"(?: ?(?:Z|UTC|GMT|[+-]{_HOUR}:?{_SIXTY}))?)?(?!\w)"
)
_MOMENT = re.compile(_DATE)
# Any other date may be a limit: `Deletes what is older than 2001-01-01`.
_NOW = re.compile(
    r"(?P<lead>(?i:\b(?:it is now|(?:today|today's date|current (?:date|time|date and time|datetime))"
    rf"(?: is| is:|:)) )){_DATE}"
)


def pin_of(definition: Definition) -> str:
    """Return the digest of what matters in a definition."""
    written = json.dumps(canonical(definition), sort_keys=True, separators=(",", ":"))
    return sha256(written.encode()).hexdigest()


def instructions_pin(text: str | None) -> str:
    """Return the digest of what matters in a server's instructions."""
    return pin_of(Definition(name="instructions", description=text or ""))


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
    """Return a text with single spaces, and without the current date and time."""
    return _NOW.sub(r"\g<lead><time>", _SPACE.sub(" ", text).strip())


def dateless_text(text: str) -> str:
    """Return a text with single spaces, and without any date and time."""
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
        if key.lower().startswith(_ACTED_ON) or _RESERVED.search(key.lower()) is not None
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
