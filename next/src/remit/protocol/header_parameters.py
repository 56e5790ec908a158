"""Tool arguments that HTTP requests repeat in headers, marked in the schema with `x-mcp-header`."""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any, cast

HeaderMap = Mapping[tuple[str, ...], str]  # path of an argument to the header that repeats it

_KEYWORD = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?|")
_ENCODED = re.compile(r"=\?base64\?.*\?=")
_TYPES = ("string", "integer", "boolean")  # types with only one notation
# Keywords that contain schemas. All but `properties` lead to arguments whose path is unknown.
_ONE = frozenset(
    (
        *("items", "contains", "unevaluatedItems", "additionalProperties", "propertyNames"),
        *("unevaluatedProperties", "not", "if", "then", "else", "contentSchema"),
    )
)
_MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"patternProperties", "dependentSchemas", "$defs", "definitions"})

Path = tuple[str, ...] | None  # None: unknown


def header_map(schema: object) -> HeaderMap:
    """Find the arguments to repeat in headers."""
    return {
        place: marked[_KEYWORD] for place, marked in _marked(schema) if place and _is_text(marked[_KEYWORD])
    }


def schema_fault(schema: object) -> str | None:
    """Explain why the keywords in a schema are invalid; None if they are valid."""
    taken: dict[str, str] = {}
    for place, marked in _marked(schema):
        name = marked[_KEYWORD]
        if not place:
            return "it is not on a parameter"
        where = ".".join(place)
        if not _is_text(name) or not _TOKEN.fullmatch(name):
            return f"the one of `{where}` is not a valid header name"
        if marked.get("type") not in _TYPES:
            return f"`{where}` must be text, an integer or a boolean"
        if (other := taken.setdefault(name.lower(), where)) != where:
            return f"`{where}` and `{other}` have the same"
    return None


def headers(found: HeaderMap, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers for given arguments."""
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
    """Encode text for a header."""
    if _PLAIN.fullmatch(text) and not _ENCODED.fullmatch(text):
        return text
    return f"=?base64?{b64encode(text.encode('utf-8', 'replace')).decode()}?="


def _marked(schema: object) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the parts of a schema that have the keyword, at any depth."""
    waiting: list[tuple[Path, object]] = [((), schema)]
    while waiting:
        place, part = waiting.pop()
        if not isinstance(part, dict):
            continue
        fields = cast("dict[str, Any]", part)
        if _KEYWORD in fields:
            yield place, fields
        for key, value in fields.items():
            waiting.extend(_parts(place, key, value))


def _parts(place: Path, key: str, value: Any) -> Iterator[tuple[Path, object]]:
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
