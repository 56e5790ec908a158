"""Excerpts of a kept result: a range, the lines that match a search, or what a JSON path selects.

Each excerpt is within the limit of one result, and says how to read on.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from remit.presentation.results.json_path import JsonPathError, select
from remit.presentation.results.result_document import ResultDocument
from remit.presentation.results.result_limit import ResultLimit
from remit.presentation.results.result_shape import shape

LONGEST_PATTERN = 1_000  # characters
_AROUND = 200  # characters on each side of a match in a long line
_MOST_MATCHES = 1_000
_FOR_THE_NOTE = 0.1  # share of the limit


class Match(NamedTuple):
    """A match: the number of its line from 0, and where it begins there."""

    line: int
    column: int


Find = Callable[[str, str], Iterable[Match]]  # matches of a pattern in a text


class ReadRequest(NamedTuple):
    """What to read of a result."""

    line: int | None = None  # from 1
    offset: int | None = None  # characters from the beginning
    limit: int | None = None  # the most lines
    search: str | None = None
    is_regex: bool = False
    path: str | None = None


class Excerpt(NamedTuple):
    """A part of a result, and what it is."""

    note: str
    text: str


class BadReadError(ValueError):
    """A request to read a result is invalid."""


def read_request(arguments: Mapping[str, Any]) -> ReadRequest:
    """Read the arguments of `read_result`, except which result.

    Raises:
        BadReadError: an argument is invalid.
    """
    asked = ReadRequest(
        line=_whole(arguments, "line", 1),
        offset=_whole(arguments, "offset", 0),
        limit=_whole(arguments, "limit", 1),
        search=_text(arguments, "search"),
        is_regex=arguments.get("regex") is True,
        path=_text(arguments, "path"),
    )
    if asked.line is not None and asked.offset is not None:
        raise BadReadError("use `line` or `offset`, not both")
    return asked


def selected_text(document: ResultDocument, path: str | None) -> ResultDocument:
    """Return the part of a document that a path selects, as JSON.

    Raises:
        BadReadError: the path cannot be read, or the document is not JSON.
    """
    if path is None:
        return document
    if document.value is None:
        raise BadReadError("this result is not JSON, so `path` cannot be used: use `line` or `search`")
    try:
        found = select(document.value, path)
    except JsonPathError as error:
        raise BadReadError(f"`path`: {error}; write for example `$.items[0:10].name`") from None
    if not found.values:
        known = "\n".join(shape(document, ResultLimit(tokens=300)))
        raise BadReadError(f"`path` selects nothing. The structure is:\n{known}")
    value = found.values[0] if found.is_single else found.values
    if isinstance(value, str):
        return ResultDocument(value)
    if isinstance(value, list):  # an item per line, so lines are a useful range
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] - any JSON
        text = ",\n".join(json.dumps(each, ensure_ascii=False) for each in items)
        return ResultDocument(f"[{text}]")
    return ResultDocument(json.dumps(value, ensure_ascii=False, indent=1))


def head(text: str, limit: ResultLimit) -> Excerpt:
    """Return the beginning of a text."""
    return _range(text, 0, None, limit)


def excerpt(text: str, asked: ReadRequest, limit: ResultLimit, find: Find) -> Excerpt:
    """Return the requested part of a text, within the limit.

    Raises:
        BadReadError: the part does not exist.
    """
    room = limit.share(1 - _FOR_THE_NOTE)
    if asked.search is not None:
        return _matches(text, asked, room, find(text, asked.search))
    start = asked.offset or 0
    if asked.line is not None:
        starts = _line_starts(text)
        if asked.line > len(starts):
            raise BadReadError(f"`line` is after the end: there are {len(starts):,} lines")
        start = starts[asked.line - 1]
    elif start >= len(text) > 0:
        raise BadReadError(f"`offset` is after the end: there are {len(text):,} characters")
    return _range(text, start, asked.limit, room)


def plain_matches(text: str, words: str) -> Iterator[Match]:
    """Find a text, whatever its case."""
    wanted = words.casefold()
    for number, line in enumerate(text.split("\n")):
        at = line.casefold().find(wanted)
        if at >= 0:
            yield Match(number, min(at, len(line)))


def _range(text: str, start: int, most_lines: int | None, limit: ResultLimit) -> Excerpt:
    end = start + limit.longest(text[start:])
    if most_lines is not None:
        end = min(end, _after_lines(text, start, most_lines))
    end = _at_line_end(text, start, end)
    starts = _line_starts(text)
    first, last = _line_of(starts, start), _line_of(starts, max(start, end - 1))
    part = text[start:end]
    lines = f"Lines {first:,} to {last:,}" if last > first else f"Line {first:,}"
    note = f"{lines} of {len(starts):,}"
    if start > starts[first - 1] or (end < len(text) and text[end - 1 : end] != "\n"):
        note += f", characters {start:,} to {end:,} of {len(text):,}"
    if end >= len(text):
        return Excerpt(f"{note} (the end).", part)
    is_whole_line = last < len(starts) and end == starts[last]
    following = f"`line` = {last + 1}" if is_whole_line else f"`offset` = {end}"
    return Excerpt(f"{note}. Continue with {following}.", part)


def _matches(text: str, asked: ReadRequest, limit: ResultLimit, found: Iterable[Match]) -> Excerpt:
    lines = text.split("\n")
    start, most = (asked.line or 1) - 1, min(asked.limit or _MOST_MATCHES, _MOST_MATCHES)
    all_found = list(found)
    wanted = [each for each in all_found if each.line >= start]
    shown: list[str] = []
    left = limit
    for match in wanted[:most]:
        line = f"{match.line + 1}: {_around(lines[match.line], match.column)}"
        if shown and not left.fits(f"{line}\n"):
            break
        line = line[: left.longest(line)]
        left = left.without(f"{line}\n")
        shown.append(line)
    note = f"{len(all_found):,} matching {'line' if len(all_found) == 1 else 'lines'} of {len(lines):,}."
    if len(shown) < len(wanted):
        following = wanted[len(shown)].line + 1
        note += f" Shown: {len(shown):,}. Continue with `line` = {following} and the same search."
    return Excerpt(note, "\n".join(shown))


def _around(line: str, column: int) -> str:
    """Return a line, or in a long line what is around a match."""
    if len(line) <= 2 * _AROUND:
        return line
    first, last = max(0, column - _AROUND), column + _AROUND
    return ("…" if first else "") + line[first:last] + ("…" if last < len(line) else "")


def _line_starts(text: str) -> list[int]:
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines[:-1])]
    return starts[:-1] if len(starts) > 1 and not lines[-1] else starts


def _line_of(starts: list[int], offset: int) -> int:
    return bisect_right(starts, offset)


def _after_lines(text: str, start: int, count: int) -> int:
    at = start
    for _ in range(count):
        following = text.find("\n", at)
        if following < 0:
            return len(text)
        at = following + 1
    return at


def _at_line_end(text: str, start: int, end: int) -> int:
    """Move an end back to the end of a line, unless that loses more than half."""
    if end >= len(text):
        return len(text)
    line_end = text.rfind("\n", start, end) + 1
    return line_end if line_end - start > (end - start) // 2 else max(end, start + 1)


def _whole(arguments: Mapping[str, Any], key: str, least: int) -> int | None:
    value = arguments.get(key)
    if value is None or (type(value) is int and value >= least):
        return value
    raise BadReadError(f"`{key}` must be a whole number of at least {least}")


def _text(arguments: Mapping[str, Any], key: str) -> str | None:
    value = arguments.get(key)
    if value is None or (isinstance(value, str) and 0 < len(value) <= LONGEST_PATTERN):
        return value
    raise BadReadError(f"`{key}` must be a text of at most {LONGEST_PATTERN:,} characters")
