"""Positions of members and items in a JSON text, in which comments and trailing commas become spaces."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from remit.files.splices import TextEditError

Path = Sequence[str]

_SPACE = re.compile(r"[ \t\r\n]*")
_BOM = "\ufeff"
_STRING = r'"(?:\\.|[^"\\])*+"?'
_STRINGS = re.compile(f"({_STRING})", re.DOTALL)
# Matches everything to keep, strings included, in one step, then a comment if there is one.
_COMMENT = re.compile(rf'((?:[^"/]++|{_STRING}|/(?![/*]))*+)(//[^\n]*|/\*.*?(?:\*/|\Z))?', re.DOTALL)
_VISIBLE = re.compile(r"[^\r\n]+")
_TRAILING_COMMA = re.compile(r",(?=\s*[\]}])")


class JsonItem(NamedTuple):
    """A member of an object, or an item of a list."""

    start: int  # of its key, or of the item
    value_start: int
    end: int
    key: str | None
    value: object


class JsonContainer(NamedTuple):
    """An object or a list."""

    start: int  # of its opening bracket
    end: int  # of its closing bracket
    items: Sequence[JsonItem]


class JsonText:
    """A JSON text with an object at the top; `lenient` allows comments and trailing commas."""

    def __init__(self, text: str, *, lenient: bool = False) -> None:
        """Parse a text.

        Raises:
            TextEditError: the text is not JSON, or not an object.
        """
        self.text = text
        self.is_lenient = lenient
        marked = f" {text[1:]}" if text.startswith(_BOM) else text
        self.bare = without_comments(marked) if lenient else marked
        self._plain = without_trailing_commas(self.bare) if lenient else marked
        self._containers: dict[int, JsonContainer] = {}
        self.start = self._skip(0)
        if self.start == len(self._plain):
            raise self.error("the file is empty", 0)
        self._top, end = self._decode(self.start)
        if self._skip(end) != len(self._plain):
            raise self.error("not valid JSON: Extra data", self._skip(end))
        if not isinstance(self._top, dict):
            raise self.error("expected an object", self.start)

    def value(self, path: Path) -> tuple[object] | None:
        """Return the value at a path in a tuple; None if there is none."""
        found: object = self._top
        for key in path:
            if not isinstance(found, dict) or key not in found:
                return None
            found = cast("dict[str, object]", found)[key]
        return (found,)

    def source(self, path: Path) -> str | None:
        """Return the source text at a path; None if there is none."""
        found = self.find(path)
        return None if found is None else self.text[found.value_start : found.end]

    def find(self, path: Path) -> JsonItem | None:
        """Find the member at a path; the last duplicate key wins."""
        if not path or (place := self.object_at(path[:-1])) is None:
            return None
        return next((item for item in reversed(place.items) if item.key == path[-1]), None)

    def object_at(self, path: Path) -> JsonContainer | None:
        """Find the object at a path; None without one."""
        if not path:
            return self.container(self.start)
        found = self.find(path)
        if found is None or not isinstance(found.value, dict):
            return None
        return self.container(found.value_start)

    def container(self, start: int) -> JsonContainer:
        """Read the container that starts at a bracket."""
        if start not in self._containers:
            items = list(self._items(start))
            end = self._skip(items[-1].end if items else start + 1)
            self._containers[start] = JsonContainer(start, end, items)
        return self._containers[start]

    def key_end(self, item: JsonItem) -> int:
        """Return the end of a member's key."""
        return self._decode(item.start)[1]

    def error(self, reason: str, at: int) -> TextEditError:
        """Make an error at a position."""
        line, column = position(self.text, at)
        return TextEditError(reason, f"line {line} column {column}")

    def _items(self, start: int) -> Iterator[JsonItem]:
        at = self._skip(start + 1)
        while self._plain[at] not in "]}":
            first, key = at, None
            if self._plain[start] == "{":
                key, at = self._decode(at)
                at = self._skip(self._skip(at) + 1)
            value, end = self._decode(at)
            yield JsonItem(first, at, end, cast("str | None", key), value)
            at = self._skip(end)
            if self._plain[at] == ",":
                at = self._skip(at + 1)

    def _skip(self, at: int) -> int:
        return cast("re.Match[str]", _SPACE.match(self._plain, at)).end()

    def _decode(self, at: int) -> tuple[object, int]:
        try:
            return _DECODER.raw_decode(self._plain, at)
        except json.JSONDecodeError as error:
            raise self.error(f"not valid JSON: {error.msg}", error.pos) from None
        except RecursionError:
            raise self.error("not usable JSON: nested too deeply", at) from None
        except _ConstantError as error:
            raise self.error(f"not valid JSON: {error} is not a value", at) from None
        except ValueError:
            raise self.error("not usable JSON: a number has thousands of digits", at) from None


def position(text: str, at: int) -> tuple[int, int]:
    """Return the line and column of an offset, both from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


class _ConstantError(Exception):
    pass


def _refuse(constant: str) -> object:
    raise _ConstantError(constant)


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def without_comments(text: str) -> str:
    """Replace comments with spaces, keeping every position."""
    return _COMMENT.sub(_blank, text)


def without_trailing_commas(text: str) -> str:
    """Replace trailing commas with spaces, in a text without comments."""
    parts = _STRINGS.split(text)  # odd parts are strings
    parts[::2] = [_TRAILING_COMMA.sub(" ", part) for part in parts[::2]]
    return "".join(parts)


def _blank(match: re.Match[str]) -> str:
    kept, comment = match[1], match[2] or ""
    if "\n" in comment or "\r" in comment:
        return kept + _VISIBLE.sub(_spaces, comment)
    return kept + " " * len(comment)


def _spaces(match: re.Match[str]) -> str:
    return " " * len(match[0])
