"""Cleans, bounds and fences text that a server or a repository wrote, before a model or a person reads it.

Texts are cleaned: descriptions, titles, instructions, questions and errors. Data is not: names, types and
values in schemas, and the results of tools, stay as the server sent them.

Hooks import this module, so it imports little.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, cast
from unicodedata import category

LONGEST_TEXT = 20_000  # characters of one description; the longest of 2,189 real tools has 13,086
_DEEPEST = 64  # levels of a schema; deeper ones are left out, because nothing would clean them
_KEPT = "\n\t"
_BREAKS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
# Control, format (bidirectional, zero-width, tags), surrogate and line-separating characters.
_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Blank, but letters, marks or symbols to Unicode: fillers, joiners, variation selectors, the blank pattern.
_BLANK = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
_JOINERS = "\u200c\u200d"
# Persian, Indic scripts and emoji need joiners; everywhere else they only hide something.
_JOINED = "[\u0600-\u1fff\u2600-\u27bf\ufe0f\U0001f000-\U0001faff]"
_STRAY_JOINER = f"(?<!{_JOINED})[{_JOINERS}]|[{_JOINERS}](?!{_JOINED})"
# Escapes that may stand for an invisible character; a test holds this to `is_invisible`.
_SUSPECT = (
    r"\\(?:[bfr]|u(?:00[0189]|007f|00ad|034f|0[678]|115f|1160|17b|180"
    r"|20(?:0[b-f]|2[89a-e]|6)|2800|3164|d[89a-f]|f))"
)
_TEXTS = frozenset({"title", "description", "$comment", "deprecationMessage", "markdownDescription"})
_LABELS = frozenset({"enumNames", "enumDescriptions", "markdownEnumDescriptions"})
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_VALUES = frozenset({"const", "enum", "default", "examples", "required", "_meta"})


def clean(text: str, most: int = LONGEST_TEXT) -> str:
    """Remove characters that are invisible, change the direction of text or control a terminal.

    A text that is too long is cut, with a mark that says so.
    """
    if hidden := set(filter(is_invisible, set(text))):
        breaks = {ord(char): "\n" if char in _BREAKS else None for char in hidden.difference(_JOINERS)}
        text = text.replace("\r\n", "\n").translate(breaks)
        text = re.sub(_STRAY_JOINER, "", text) if hidden.intersection(_JOINERS) else text
    return text if len(text) <= most else f"{text[:most]}… [cut by Remit: {len(text):,} characters]"


def one_line(text: str, most: int) -> str:
    """Return a text as a single line of printable characters, shortened if needed.

    Descriptions come from servers, so a line break must not start a new section.
    """
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return plain if len(plain) <= most else plain[: most - 1].rstrip() + "…"


def fence(source: str, text: str, most: int = LONGEST_TEXT) -> str:
    """Quote a text after its source; each line has a mark, so no line can end the quote or pose as ours."""
    lines = clean(text, most).strip().splitlines()
    return "\n".join([f"{source}:", *(f"> {line}".rstrip() for line in lines)])


def attribute(source: str, text: str) -> str:
    """Put a source before a text; a text of several lines is fenced."""
    plain = clean(text).strip()
    return fence(source, plain) if "\n" in plain else f"{source}: {plain}"


def make_visible(text: str) -> str:
    """Escape every character that a person cannot see or that moves others, and change nothing else."""
    return "".join(char if char.isprintable() and not _is_blank(char) else _escaped(char) for char in text)


@cache
def is_invisible(char: str) -> bool:
    """Return whether `clean` removes a character or replaces it with a line break."""
    return char not in _KEPT and (category(char) in _CATEGORIES or _is_blank(char))


def is_clean_json(text: str) -> bool:
    """Return whether JSON in ASCII certainly has nothing to clean; this takes less time than cleaning it."""
    return len(text) <= LONGEST_TEXT and text.isprintable() and re.search(_SUSPECT, text) is None


def clean_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Clean the texts of a tool, prompt or resource in a list, including those of its schemas."""
    return cast("dict[str, Any]", _clean_texts(item, 0, clean))


def clean_schema(schema: object) -> Any:
    """Clean the titles, descriptions and labels of a schema; names, types and values stay unchanged."""
    return _clean_texts(schema, 0, clean)


def clean_form(schema: object) -> Any:
    """Clean the texts in the schema of a form, and put each on one line.

    A client shows them next to its own words, so none may look like a line of the client's.
    """
    return _clean_texts(schema, 0, lambda text: " ".join(clean(text).split()))


def clean_values(value: Any, most: int = LONGEST_TEXT) -> Any:
    """Clean every text in a JSON value, except names of members."""
    if isinstance(value, str):
        return clean(value, most)
    if isinstance(value, list | tuple):
        return [clean_values(each, most) for each in cast("Sequence[object]", value)]
    if isinstance(value, Mapping):
        return {key: clean_values(each, most) for key, each in cast("Mapping[str, object]", value).items()}
    return value


def _clean_texts(value: object, depth: int, cleaned: Callable[[str], str]) -> object:
    if isinstance(value, list | Mapping) and depth > _DEEPEST:
        return {}
    if isinstance(value, list):
        return [_clean_texts(each, depth + 1, cleaned) for each in cast("list[object]", value)]
    if not isinstance(value, Mapping):
        return value
    members = cast("Mapping[str, object]", value)
    return {key: _member(key, each, depth, cleaned) for key, each in members.items()}


def _member(key: str, value: object, depth: int, cleaned: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return cleaned(value) if key in _TEXTS else value
    if key in _VALUES:
        return value
    if key in _LABELS and isinstance(value, list):
        labels = cast("Sequence[object]", value)
        return [cleaned(each) if isinstance(each, str) else each for each in labels]
    if key in _BY_NAME and isinstance(value, Mapping):
        schemas = cast("Mapping[str, object]", value)
        return {name: _clean_texts(each, depth + 1, cleaned) for name, each in schemas.items()}
    return _clean_texts(value, depth + 1, cleaned)


def _is_blank(char: str) -> bool:
    code = ord(char)
    return code > 127 and any(first <= code <= last for first, last in _BLANK)


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
