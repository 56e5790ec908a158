"""Edits JSON in place: sets or removes a member or item and keeps every other character.

The text may have any formatting: indented or on one line, with any line endings, with a byte order mark, and
with comments and trailing commas if the format allows them. New values follow that formatting; comments stay.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence

from remit.files.json_positions import JsonContainer, JsonItem, JsonText, Path, without_comments
from remit.files.splices import Splice, newline_of

_USUAL_INDENT = "  "
_SPACE = " \t\r\n"


def put(document: JsonText, path: Path, value: object) -> list[Splice]:
    """Set a member, creating missing parent objects.

    Raises:
        TextEditError: a parent on the path is not an object.
    """
    found = document.find(path)
    if found is not None:
        return put_source(document, path, _Hand(document).instead_of(found, value))
    known, holder = _deepest(document, path)
    for key in reversed(path[known + 1 :]):
        value = {key: value}
    return _append(document, holder, value, path[known])


def put_source(document: JsonText, path: Path, source: str) -> list[Splice]:
    """Replace the source text at an existing path."""
    found = document.find(path)
    if found is None:
        raise KeyError(".".join(path))
    return [Splice(found.value_start, document.text[found.value_start : found.end], source)]


def add(document: JsonText, path: Path, item: object) -> list[Splice]:
    """Append an item to a list, creating a missing list.

    Raises:
        TextEditError: a parent on the path is not an object, or the value is not a list.
    """
    found = document.find(path)
    if found is None:
        return put(document, path, [item])
    if not isinstance(found.value, list):
        raise document.error(f"`{'.'.join(path)}`: expected a list", found.value_start)
    return _append(document, document.container(found.value_start), item)


def take(document: JsonText, path: Path) -> list[Splice]:
    """Remove a member, if it exists."""
    found, holder = document.find(path), document.object_at(path[:-1])
    if found is None or holder is None:
        return []
    return _removal(document, holder, holder.items.index(found))


def take_item(document: JsonText, path: Path, is_it: Callable[[object], bool]) -> list[Splice]:
    """Remove the last matching item of a list, if any."""
    found = document.find(path)
    if found is None or not isinstance(found.value, list):
        return []
    holder = document.container(found.value_start)
    at = next((at for at in reversed(range(len(holder.items))) if is_it(holder.items[at].value)), None)
    return [] if at is None else _removal(document, holder, at)


class _Hand:
    """The formatting of a text."""

    def __init__(self, document: JsonText) -> None:
        self._document = document
        self._text = document.text
        self.newline = newline_of(self._text)
        top = document.container(document.start)
        first = self._text[top.start : top.items[0].start if top.items else top.end]
        self._is_spread = "\n" in first or not top.items
        self._unit = (indent_at(self._text, top.items[0].start) if top.items else "") or _USUAL_INDENT
        self._is_airy = re.search(r'":[^\S]', document.bare) is not None or '":' not in document.bare

    def is_broken(self, holder: JsonContainer) -> bool:
        """Tell whether items of a container are, or should be, on their own lines."""
        if not holder.items:
            return self._is_spread
        return "\n" in self._text[holder.start : holder.items[0].start]

    def indent_in(self, holder: JsonContainer) -> str:
        """Return the indent of items in a container."""
        if self.is_broken(holder) and holder.items:
            return indent_at(self._text, holder.items[0].start)
        return indent_at(self._text, holder.start) + self._unit

    def is_spaced(self, holder: JsonContainer) -> bool:
        """Tell whether commas on one line are followed by a space."""
        if len(holder.items) > 1:
            return self._text[holder.items[1].start - 1] in _SPACE
        return self._is_airy

    def name(self, key: str, holder: JsonContainer) -> str:
        """Format a key with its colon."""
        is_airy = self._is_airy or self.is_broken(holder)
        colon = ": " if is_airy else ":"
        if holder.items:
            first = holder.items[0]
            seen = self._text[self._document.key_end(first) : first.value_start]
            colon = seen if re.fullmatch(" ?: ?", seen) else colon
        return json.dumps(key, ensure_ascii=False) + colon

    def instead_of(self, item: JsonItem, value: object) -> str:
        """Format a value like the one it replaces."""
        is_one_line = "\n" not in self._text[item.value_start : item.end]
        is_full = self._text[item.value_start] in "{[" and item.value not in ({}, [])
        if is_one_line and (is_full or not self._is_spread):
            return self.write(value, None)
        return self.write(value, indent_at(self._text, item.start))

    def write(self, value: object, indent: str | None) -> str:
        """Format a value on several lines at an indent, or on one line without one."""
        if indent is None:
            separators = (", ", ": ") if self._is_airy else (",", ":")
            return json.dumps(value, ensure_ascii=False, separators=separators)
        lines = json.dumps(value, ensure_ascii=False, indent=self._unit).split("\n")
        return (self.newline + indent).join(lines)


def indent_at(text: str, at: int) -> str:
    """Return the leading whitespace of a position's line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _deepest(document: JsonText, path: Path) -> tuple[int, JsonContainer]:
    """Return how many keys of a path exist, and the last object on it."""
    known, holder = 0, document.container(document.start)
    while (found := document.find(path[: known + 1])) is not None:
        inside = document.object_at(path[: known + 1])
        if inside is None:
            raise document.error(f"`{'.'.join(path[: known + 1])}`: expected an object", found.value_start)
        known, holder = known + 1, inside
    return known, holder


def _append(document: JsonText, holder: JsonContainer, value: object, key: str | None = None) -> list[Splice]:
    hand, text, items = _Hand(document), document.text, holder.items
    comma = _comma(document, items[-1].end, holder.end) if items else None
    last = holder.start + 1 if not items else items[-1].end if comma is None else comma + 1
    place = _after_comments(document, last, holder.end)
    is_broken = hand.is_broken(holder) or place != last  # nothing may follow a line comment
    indent = hand.indent_in(holder) if is_broken else None
    gap = " " if items and hand.is_spaced(holder) else ""
    inserted = gap if indent is None else hand.newline + indent
    inserted += "" if key is None else hand.name(key, holder)
    inserted += hand.write(value, indent) + ("," if comma is not None else "")
    if is_broken and not items and "\n" not in text[place : holder.end]:
        inserted += hand.newline + indent_at(text, holder.start)
    if not items or comma is not None:
        return [Splice(place, "", inserted)]
    if place == last:
        return [Splice(place, "", f",{inserted}")]
    return [Splice(last, "", ","), Splice(place, "", inserted)]


def _removal(document: JsonText, holder: JsonContainer, at: int) -> list[Splice]:
    text, items, item = document.text, holder.items, holder.items[at]
    before = items[at - 1].end if at else holder.start + 1
    after = items[at + 1].start if at + 1 < len(items) else holder.end
    left, right = _comma(document, before, item.start), _comma(document, item.end, after)
    is_alone = len(items) == 1 and right is None
    if is_alone and not (text[holder.start + 1 : item.start] + text[item.end : holder.end]).strip(_SPACE):
        return [Splice(holder.start + 1, text[holder.start + 1 : holder.end], "")]
    start = _before_space(document, before if left is None else left + 1, item)
    cuts = [(start, item.end)]
    if right is not None:
        end = right + 1
        if not at and "\n" not in text[start : item.start]:  # the next item takes its place
            end += len(text[end:after]) - len(text[end:after].lstrip(" \t"))
        cuts.append((right, end))
    elif left is not None:
        cuts.insert(0, (left, left + 1))
    return [Splice(a, text[a:b], "") for a, b in _joined(cuts)]


def _before_space(document: JsonText, start: int, item: JsonItem) -> int:
    """Return the start of the whitespace before an item, unless it ends a line comment."""
    at = item.start
    while at > start and document.text[at - 1] in _SPACE:
        at -= 1
    is_after_comment = document.text[at - 1] != document.bare[at - 1]
    is_in_line = is_after_comment and not without_comments(f"{document.text[:at]}.").endswith(".")
    ends_line = re.match(r"[ \t]*,?[ \t]*\r?\n", document.text[item.end :])
    return item.start if is_in_line and ends_line is None else at


def _after_comments(document: JsonText, start: int, end: int) -> int:
    """Return the position after the last comment between two positions, else the first."""
    while end > start and document.text[end - 1] == document.bare[end - 1]:
        end -= 1
    return end


def _comma(document: JsonText, start: int, end: int) -> int | None:
    at = document.bare.find(",", start, end)
    return None if at < 0 else at


def _joined(cuts: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Merge adjacent cuts."""
    start, end = cuts[0]
    for a, b in cuts[1:]:
        if a > end:
            yield start, end
            start = a
        end = b
    yield start, end
