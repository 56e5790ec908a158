"""Arguments of tools that HTTP repeats in headers, where their schema asks for it with `x-mcp-header`."""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any, cast

HeaderMap = Mapping[tuple[str, ...], str]  # where an argument lies, to the header that repeats it

_MARK = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?|")
_PACKED = re.compile(r"=\?base64\?.*\?=")
_TYPES = ("string", "integer", "boolean")  # what has one way only to be written
# Where a schema holds others. All but `properties` lead to places whose argument is not known beforehand.
_ONE = frozenset(
    (
        *("items", "contains", "unevaluatedItems", "additionalProperties", "propertyNames"),
        *("unevaluatedProperties", "not", "if", "then", "else", "contentSchema"),
    )
)
_MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"patternProperties", "dependentSchemas", "$defs", "definitions"})

Place = tuple[str, ...] | None  # the names that lead to it; None: it is not known beforehand


def header_map(schema: object) -> HeaderMap:
    """Find the arguments that are repeated in headers."""
    return {place: marked[_MARK] for place, marked in _marked(schema) if place and _is_text(marked[_MARK])}


def fault(schema: object) -> str | None:
    """Say what is wrong with the marks of a schema, so that its tool cannot be called."""
    taken: dict[str, str] = {}
    for place, marked in _marked(schema):
        name = marked[_MARK]
        if not place:
            return "it stands where no argument is"
        where = ".".join(place)
        if not _is_text(name) or not _TOKEN.fullmatch(name):
            return f"that of `{where}` is no name of a header"
        if marked.get("type") not in _TYPES:
            return f"`{where}` is neither text nor an integer nor a truth value"
        if (other := taken.setdefault(name.lower(), where)) != where:
            return f"`{where}` and `{other}` have the same"
    return None


def headers(found: HeaderMap, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Repeat arguments in headers; one that is not given has none."""
    made: dict[str, str] = {}
    for place, name in found.items():
        value: Any = arguments
        for key in place:
            value = cast("Mapping[str, Any]", value).get(key) if isinstance(value, Mapping) else None
        if isinstance(value, bool):
            made[f"Mcp-Param-{name}"] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            made[f"Mcp-Param-{name}"] = header_text(str(value))
    return made


def header_text(text: str) -> str:
    """Write a text so that it survives in a header."""
    if _PLAIN.fullmatch(text) and not _PACKED.fullmatch(text):
        return text
    return f"=?base64?{b64encode(text.encode('utf-8', 'replace')).decode()}?="


def _marked(schema: object) -> Iterator[tuple[Place, dict[str, Any]]]:
    """List the parts of a schema that bear a mark, however deep they lie."""
    waiting: list[tuple[Place, object]] = [((), schema)]
    while waiting:
        place, part = waiting.pop()
        if not isinstance(part, dict):
            continue
        fields = cast("dict[str, Any]", part)
        if _MARK in fields:
            yield place, fields
        for key, value in fields.items():
            waiting.extend(_parts(place, key, value))


def _parts(place: Place, key: str, value: Any) -> Iterator[tuple[Place, object]]:
    if key == "properties" and isinstance(value, dict):
        for name, part in cast("dict[str, Any]", value).items():
            yield (None if place is None else (*place, name)), part
    elif key in _ONE:
        yield None, value
    elif key in _MANY and isinstance(value, list):
        yield from ((None, part) for part in cast("list[Any]", value))
    elif key in _NAMED and isinstance(value, dict):
        yield from ((None, part) for part in cast("dict[str, Any]", value).values())


def _is_text(value: object) -> bool:
    return isinstance(value, str)
