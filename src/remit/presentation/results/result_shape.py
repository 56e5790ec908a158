"""Describes the shape of a result in a few lines: its size, the structure of JSON, the columns of a table."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, cast

from remit.presentation.results.json_path import member_path
from remit.presentation.results.result_document import ResultDocument
from remit.presentation.results.result_limit import ResultLimit
from remit.text.untrusted_text import one_line

_DEEPEST = 3
_MOST_LINES = 40
_MOST_MEMBERS = 20  # per object
_MOST_COLUMNS = 40
_SAMPLE = 50  # items of an array, lines of a table
_LONGEST_NAME = 60
_LONGEST_HEADER = 4_000  # characters of a table's first line
_DELIMITERS = ("\t", ",", ";", "|")


def size_of(text: str) -> str:
    """Return the size of a text in bytes, in words."""
    size = len(text.encode(errors="replace"))
    for unit, least in (("MB", 1_000_000), ("kB", 1_000)):
        if size >= least:
            return f"{size / least:,.1f} {unit}"
    return f"{size:,} bytes"


def shape(document: ResultDocument, limit: ResultLimit) -> list[str]:
    """Describe the structure of a document, one line per part, within a limit."""
    lines = list(islice(_outline("$", document.value, 0), _MOST_LINES + 1))
    lines = lines if document.value is not None else list(_table(document.text))
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], "…"]
    while len(lines) > 1 and not limit.fits("\n".join(lines)):
        lines = [*lines[: len(lines) // 2], "…"] if len(lines) > 2 else lines[:1]
    return lines


def _outline(path: str, value: Any, depth: int) -> Iterator[str]:
    yield f"{path}: {_words(value)}"
    if depth >= _DEEPEST:
        return
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        for name, each in islice(members.items(), _MOST_MEMBERS):
            yield from _outline(member_path(path, one_line(name, _LONGEST_NAME)), each, depth + 1)
        if len(members) > _MOST_MEMBERS:
            yield f"{path}: {len(members) - _MOST_MEMBERS:,} more keys"
    elif isinstance(value, list) and value and not _columns(cast("list[Any]", value)):
        first = cast("list[Any]", value)[0]
        if isinstance(first, Mapping | list):
            yield from _outline(f"{path}[0]", first, depth + 1)


def _words(value: Any) -> str:
    match value:
        case str():
            return f"text of {len(value):,} characters"
        case list():
            return _array_words(cast("list[Any]", value))
        case dict():
            count = len(cast("dict[str, Any]", value))
            return f"object with {count:,} {'key' if count == 1 else 'keys'}"
        case _:
            return _kind(value)


def _array_words(items: list[Any]) -> str:
    kinds = dict.fromkeys(map(_kind, items[:_SAMPLE]))
    words = f"array of {len(items):,}" + (f" ({', '.join(kinds)})" if kinds else "")
    columns = _columns(items)
    more = f", and {len(columns) - _MOST_COLUMNS} more" if len(columns) > _MOST_COLUMNS else ""
    named = ", ".join(f"{_quoted(name)} ({kind})" for name, kind in islice(columns.items(), _MOST_COLUMNS))
    return f"{words} with {named}{more}" if named else words


def _quoted(name: str) -> str:
    """Quote a name that is more than a word: a server chose it, and it must not read as Remit's own text."""
    return name if re.fullmatch(r"[\w.-]+", name) else json.dumps(name, ensure_ascii=False)


def _columns(items: Sequence[Any]) -> dict[str, str]:
    """Return the keys of an array of objects, each with the kind of its first value."""
    found: dict[str, str] = {}
    for item in items[:_SAMPLE]:
        if not isinstance(item, Mapping):
            return {}
        for name, each in cast("Mapping[str, Any]", item).items():
            found.setdefault(one_line(name, _LONGEST_NAME), _kind(each))
    return found


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "text"
        case int() | float():
            return "number"
        case list():
            return f"array of {len(cast('list[Any]', value)):,}"
        case _:
            return "object"


def _table(text: str) -> Iterator[str]:
    """Describe a table whose rows have the same delimiter equally often."""
    lines = [line for line in text[: 100 * _LONGEST_HEADER].split("\n", _SAMPLE)[:_SAMPLE] if line.strip()]
    if len(lines) < 3 or len(lines[0]) > _LONGEST_HEADER:
        return
    for delimiter in _DELIMITERS:
        count = lines[0].count(delimiter)
        if count and sum(line.count(delimiter) == count for line in lines[:-1]) >= 0.9 * (len(lines) - 1):
            names = [one_line(name.strip().strip('"'), _LONGEST_NAME) for name in lines[0].split(delimiter)]
            columns = [_quoted(name) for name in names if name][:_MOST_COLUMNS]
            mark = "tab" if delimiter == "\t" else f"`{delimiter}`"
            yield f"rows separated by {mark}, columns: {', '.join(columns)}"
            return
