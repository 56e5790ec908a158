"""The pin of a definition, a digest of all that a model reads and a client acts on; and what changed.

The order of keys, whitespace, and today's date in a text are no changes. Neither is the order of lists that
stand for sets. Everything else is, except `_meta` keys that no client acts on: others differ at each start.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from hashlib import sha256
from typing import cast

from remit.decision import Definition
from remit.text import as_list, as_object

Content = dict[str, object]

# Namespaces of `_meta` keys on which clients act: how a tool is loaded, confirmed, shown and signed in to.
_ACTED_ON = (
    *("anthropic/", "claude", "openai/", "securityschemes", "ui", "mcpui", "vscode", "cursor"),
    "io.modelcontextprotocol/",
)
_RESERVED = r"(?:^|\.)(?:modelcontextprotocol|mcp)(?:\.[\w-]+)*/"  # by the specification
_SETS = ("required", "enum", "type", "anyOf", "oneOf", "allOf", "examples")  # lists without an order
_TEXTS = ("description", "title", "$comment", "instructions")
_VALUES = ("default", "const", "enum", "examples")  # data, in which every character counts
_NAMING = ("properties", "$defs", "definitions", "patternProperties")  # their keys are names
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
# Any other date may be a limit: `Deletes what is older than 2001-01-01`.
_NOW = (
    r"(?P<lead>(?i:\b(?:it is now|(?:today|today's date|current (?:date|time|date and time|datetime))"
    rf"(?: is| is:|:)) )){_DATE}"
)
_SENTENCE = r"(?<=[.!?:;])\s+"
_SCHEMAS = {"inputSchema": "parameter", "outputSchema": "result"}
_ORDER = {"name": 0, "title": 1, "description": 2, "instructions": 3}


def pin_of(definition: Definition) -> str:
    """Return the digest of what counts in a definition."""
    written = json.dumps(_canonical(definition), sort_keys=True, separators=(",", ":"))
    return sha256(written.encode()).hexdigest()


def lines_of(definition: Definition | None) -> list[str]:
    """Write what counts in a definition: one line for each sentence, parameter and annotation."""
    return [] if definition is None else list(_lines(_canonical(definition)))


def diff(accepted: Definition | None, current: Definition | None) -> list[str]:
    """List removed lines with `-` and added ones with `+`, all of them: what is cut cannot be judged."""
    return line_diff(lines_of(accepted), lines_of(current)) or list(_as_written(accepted, current))


def line_diff(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """List removed lines with `-` and added ones with `+`."""
    changed: list[str] = []
    for tag, old_from, old_to, new_from, new_to in SequenceMatcher(None, before, now, False).get_opcodes():
        if tag != "equal":
            changed += [f"- {line}" for line in before[old_from:old_to]]
            changed += [f"+ {line}" for line in now[new_from:new_to]]
    return changed


def _canonical(definition: Definition) -> Content:
    """Return what counts in a definition, in one form."""
    content: Content = {"name": definition.tool}
    for key, value in as_object(json.loads(definition.raw)).items():
        if key == "_meta":
            content.update({f"_meta.{name}": acted_on for name, acted_on in _acted_on(value).items()})
        elif key in _TEXTS:
            content[key] = _text(value)
        elif key != "name":
            content[key] = _schema(value)
    return {key: value for key, value in content.items() if value not in ("", None)}


def _acted_on(meta: object) -> Content:
    return {
        key: _plain(value)
        for key, value in as_object(meta).items()
        if key.lower().startswith(_ACTED_ON) or re.search(_RESERVED, key.lower()) is not None
    }


def _schema(value: object) -> object:
    """Return a schema in one form: texts with single spaces, and sets sorted."""
    if not isinstance(value, dict):
        return _items(value, _schema)
    return {key: _keyword(key, item) for key, item in cast("Content", value).items()}


def _keyword(key: str, value: object) -> object:
    if key in _NAMING and isinstance(value, dict):
        return {name: _schema(item) for name, item in cast("Content", value).items()}
    if key in _TEXTS:
        return _text(value)
    form = _plain(value) if key in _VALUES else _schema(value)
    if key in _SETS and isinstance(form, list):
        return sorted(cast("list[object]", form), key=lambda item: json.dumps(item, sort_keys=True))
    return form


def _text(value: object) -> object:
    if not isinstance(value, str):
        return _schema(value)
    return re.sub(_NOW, r"\g<lead><time>", re.sub(r"[ \t\r\n]+", " ", value).strip())


def _plain(value: object) -> object:
    """Return data in one form, in which 1.0 is 1."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("Content", value).items()}
    return _items(value, _plain)


def _items(value: object, form: Callable[[object], object]) -> object:
    if isinstance(value, list):
        return [form(item) for item in cast("list[object]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _as_written(accepted: Definition | None, current: Definition | None) -> Iterator[str]:
    """Show definitions that differ only in what a pin leaves out, such as line breaks and dates."""
    old, new = ({} if item is None else as_object(json.loads(item.raw)) for item in (accepted, current))
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            yield f"- {key}: {_json(old.get(key))}"
            yield f"+ {key}: {_json(new.get(key))}"


def _lines(content: Content) -> Iterator[str]:
    for key in sorted(content, key=lambda key: (_ORDER.get(key, len(_ORDER)), key)):
        value = content[key]
        if key in _SCHEMAS and isinstance(value, dict):
            yield from _schema_lines(_SCHEMAS[key], cast("Content", value))
        elif isinstance(value, dict):
            fields = sorted(cast("Content", value).items())
            yield from (f"{key}.{name}: {_json(field)}" for name, field in fields)
        elif key in _ORDER and isinstance(value, str):
            yield from (f"{key}: {sentence}" for sentence in re.split(_SENTENCE, value))
        else:
            yield f"{key}: {_json(value)}"


def _schema_lines(word: str, schema: Content) -> Iterator[str]:
    rest = dict(schema)
    names, required = as_object(rest.get("properties")), as_list(rest.get("required"))
    for name, parameter in sorted(names.items()):
        yield _parameter_line(word, name, parameter, is_required=name in required)
    if rest.get("properties") == names:
        del rest["properties"]
    if rest.get("required") == required and all(isinstance(name, str) and name in names for name in required):
        del rest["required"]
    if rest.get("type") == "object":
        del rest["type"]
    yield from (f"{word}s, {key}: {_json(value)}" for key, value in sorted(rest.items()))


def _parameter_line(word: str, name: str, schema: object, *, is_required: bool) -> str:
    rest = dict(cast("Content", schema)) if isinstance(schema, dict) else {"schema": schema}
    kind = rest.pop("type") if isinstance(rest.get("type"), str) else "any"
    description = f": {rest.pop('description')}" if isinstance(rest.get("description"), str) else ""
    required = ", required" if is_required else ""
    more = f" {_json(rest)}" if rest else ""
    return f"{word} {name} ({kind}{required}){more}{description}"


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
