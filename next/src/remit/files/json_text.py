"""Edits JSON in place: finds members by their path, and makes a text say something else with few splices.

The text may have any formatting: indented or on one line, with any line endings, with a byte order mark, and
with comments and trailing commas if the format allows them. New values follow its indent; comments stay.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from remit.files.formats import BOM, is_same, newline_of, position, without_comments, without_trailing_commas
from remit.files.reading import FileError

Path = tuple[str, ...]

_SPACE = " \t\r\n"
_SPACES = re.compile(r"[ \t\r\n]*")
_USUAL_INDENT = "  "


class Splice(NamedTuple):
    """A replacement at an offset of a text."""

    at: int  # offset in the text before
    removed: str
    inserted: str


Step = Sequence[Splice]  # of one change: disjoint and in order


class SpliceError(ValueError):
    """A splice does not fit the text."""


def splice(text: str, step: Step) -> str:
    """Apply one step to a text.

    Raises:
        SpliceError: the text does not contain the part to replace.
    """
    parts: list[str] = []
    done = 0
    for at, removed, inserted in step:
        if at < done or not text.startswith(removed, at) or at > len(text):
            raise SpliceError
        parts += (text[done:at], inserted)
        done = at + len(removed)
    return "".join((*parts, text[done:]))


def inverse(step: Step) -> list[Splice]:
    """Return the step that undoes a step."""
    undone: list[Splice] = []
    shift = 0
    for at, removed, inserted in step:
        undone.append(Splice(at + shift, inserted, removed))
        shift += len(inserted) - len(removed)
    return undone


class JsonItem(NamedTuple):
    """A member of an object, or an item of a list."""

    start: int  # of its key, or of the item
    value_start: int
    end: int
    key: str | None
    value: object


class _Container(NamedTuple):
    """An object or a list."""

    start: int  # of its opening bracket
    end: int  # of its closing bracket
    items: Sequence[JsonItem]


class JsonText:
    """A JSON text with an object at the top; `lenient` allows comments and trailing commas."""

    def __init__(self, text: str, *, lenient: bool = False) -> None:
        """Parse a text.

        Raises:
            FileError: the text is not JSON, or not an object.
        """
        self.text = text
        self._lenient = lenient
        marked = f" {text[1:]}" if text.startswith(BOM) else text
        self._bare = without_comments(marked) if lenient else marked
        self._plain = without_trailing_commas(self._bare) if lenient else marked
        self.trailing_commas = self._bare.count(",") - self._plain.count(",")
        self._containers: dict[int, _Container] = {}
        self._start = self._skip(0)
        if self._start == len(self._plain):
            raise self.error("the file is empty", 0)
        content, end = self._decode(self._start)
        if self._skip(end) != len(self._plain):
            raise self.error("not valid JSON: Extra data", self._skip(end))
        if not isinstance(content, dict):
            raise self.error("expected an object", self._start)
        self.content = cast("dict[str, Any]", content)

    def find(self, path: Path) -> JsonItem | None:
        """Find the member at a path; the last duplicate key wins."""
        start, item = self._start, None
        for key in path:
            if self._plain[start] != "{":
                return None
            items = self._container(start).items
            item = next((item for item in reversed(items) if item.key == key), None)
            if item is None:
                return None
            start = item.value_start
        return item

    def source(self, path: Path) -> str | None:
        """Return the source text of the value at a path; None if there is none."""
        item = self.find(path)
        return None if item is None else self.text[item.value_start : item.end]

    def place(self, path: Path) -> str:
        """Return the line and column of the value at a path, in words."""
        item = self.find(path)
        return "" if item is None else self.error("", item.value_start).place

    def written(self, value: object) -> str:
        """Write a value on one line."""
        return json.dumps(value, ensure_ascii=False)

    def is_said_by(self, text: str, wanted: Mapping[str, Any], _paths: Iterable[Path]) -> bool:
        """Tell whether a text says what is wanted."""
        return is_same(JsonText(text, lenient=self._lenient).content, wanted)

    def error(self, reason: str, at: int) -> FileError:
        """Make an error at a position."""
        line, column = position(self.text, at)
        return FileError(reason, f"line {line} column {column}")

    def steps(self, wanted: Mapping[str, Any], sources: Mapping[Path, str | None]) -> Iterator[list[Splice]]:
        """Yield the steps that make the text say what is wanted: first what goes, then what comes.

        The values at the paths of `sources` are replaced as a whole, by the source text if there is one.
        """
        document = self
        if step := sorted(self._changes((), self._start, self.content, wanted, sources, is_addition=False)):
            yield step
            document = JsonText(splice(self.text, step), lenient=self._lenient)
        if step := sorted(
            document._changes((), document._start, document.content, wanted, {}, is_addition=True)
        ):
            yield step

    def _changes(
        self,
        path: Path,
        start: int,
        current: Any,
        wanted: Any,
        sources: Mapping[Path, str | None],
        *,
        is_addition: bool,
    ) -> Iterator[Splice]:
        """Yield the splices in one container, and in those below it."""
        container = self._container(start)
        new: list[tuple[str | None, Any]] = []
        gone: set[int] = set()
        if isinstance(current, dict):
            members = cast("dict[str, Any]", current)
            for key, item in {item.key: item for item in container.items}.items():  # the last duplicate wins
                if key is None or key not in wanted:
                    continue
                inner, before, after = (*path, key), members[key], wanted[key]
                if is_same(before, after):
                    continue
                if inner not in sources and type(before) is type(after) and isinstance(after, dict | list):
                    yield from self._changes(
                        inner, item.value_start, before, after, sources, is_addition=is_addition
                    )
                elif not is_addition:
                    source = sources.get(inner)
                    indent = self._indent_at(item.start) if self._is_spread else None
                    new_text = self._written(after, indent) if source is None else source
                    yield Splice(item.value_start, self.text[item.value_start : item.end], new_text)
            gone = {at for at, item in enumerate(container.items) if item.key not in wanted}
            new = [(key, value) for key, value in wanted.items() if key not in members]
        else:
            kept = 0
            for at, item in enumerate(container.items):
                if kept < len(wanted) and is_same(item.value, wanted[kept]):
                    kept += 1
                else:
                    gone.add(at)
            new = [(None, value) for value in wanted[kept:]]
        if is_addition and new:
            yield from self._addition(container, new)
        elif gone and not is_addition:
            yield from self._removal(container, gone)

    def _addition(self, container: _Container, new: Iterable[tuple[str | None, Any]]) -> Iterator[Splice]:
        """Append members or items."""
        text, items = self.text, container.items
        comma = self._comma(items[-1].end, container.end) if items else None
        last = container.start + 1 if not items else items[-1].end if comma is None else comma + 1
        place = self._after_comments(last, container.end)
        is_spread = "\n" in text[container.start : items[0].start] if items else self._is_spread
        indent = lead = None
        if is_spread or place != last:  # nothing may follow a line comment
            is_aligned = is_spread and items
            outer = self._indent_at(container.start) + self._unit
            indent = self._indent_at(items[0].start) if is_aligned else outer
            lead = self._newline + indent
        parts = (
            ("" if key is None else f"{json.dumps(key, ensure_ascii=False)}: ") + self._written(value, indent)
            for key, value in new
        )
        inserted = (
            (" " if items else "") + ", ".join(parts) if lead is None else lead + f",{lead}".join(parts)
        )
        if comma is not None:
            inserted += ","
        elif lead is not None and not items and "\n" not in text[place : container.end]:
            inserted += self._newline + self._indent_at(container.start)
        if not items or comma is not None:
            yield Splice(place, "", inserted)
        elif place == last:
            yield Splice(place, "", f",{inserted}")
        else:
            yield from (Splice(last, "", ","), Splice(place, "", inserted))

    def _removal(self, container: _Container, gone: Collection[int]) -> Iterator[Splice]:
        """Remove members or items, each with one comma; comments stay."""
        text, items = self.text, container.items
        last_kept = max((at for at in range(len(items)) if at not in gone), default=-1)
        first_kept = next((at for at in range(len(items)) if at not in gone), len(items))
        ends_in_comma = self._comma(items[-1].end, container.end) is not None
        cuts: list[tuple[int, int]] = []
        for at in sorted(gone):
            item = items[at]
            before = items[at - 1].end if at else container.start + 1
            after = items[at + 1].start if at + 1 < len(items) else container.end
            left, right = self._comma(before, item.start), self._comma(item.end, after)
            start = self._before_space(before if left is None else left + 1, item, at + 1 in gone)
            cuts.append((start, item.end))
            if right is not None and (at < last_kept or ends_in_comma):
                end = right + 1
                if at < first_kept and "\n" not in text[start : item.start]:  # the next takes its place
                    end += len(text[end:after]) - len(text[end:after].lstrip(_SPACE))
                cuts.append((right, end))
            elif left is not None:
                cuts.append((left, left + 1))
        parts = [*joined(sorted(cuts))]
        edges = [container.start + 1, *(edge for cut in parts for edge in cut), container.end]
        if not "".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)).strip(_SPACE):
            parts = [(container.start + 1, container.end)]
        for a, b in parts:
            yield Splice(a, text[a:b], "")

    def _before_space(self, start: int, item: JsonItem, is_next_gone: bool) -> int:
        """Return the start of the whitespace before an item, unless only it ends a line comment."""
        at = item.start
        while at > start and self.text[at - 1] in _SPACE:
            at -= 1
        is_after_comment = self.text[at - 1] != self._bare[at - 1]
        is_in_line = is_after_comment and not without_comments(f"{self.text[:at]}.").endswith(".")
        ends_line = re.match(r"[ \t]*,?[ \t]*\r?\n", self.text[item.end : item.end + 100])
        return item.start if is_in_line and (is_next_gone or ends_line is None) else at

    def _after_comments(self, start: int, end: int) -> int:
        """Return the position after the last comment between two positions, else the first."""
        while end > start and self.text[end - 1] == self._bare[end - 1]:
            end -= 1
        return end

    def _comma(self, start: int, end: int) -> int | None:
        at = self._bare.find(",", start, end)
        return None if at < 0 else at

    @property
    def _newline(self) -> str:
        return newline_of(self.text)

    @property
    def _is_spread(self) -> bool:
        """Whether new objects get lines of their own."""
        top = self._container(self._start)
        return not top.items or "\n" in self.text[top.start : top.items[0].start]

    @property
    def _unit(self) -> str:
        """The indent of one level."""
        top = self._container(self._start)
        return (self._indent_at(top.items[0].start) if top.items else "") or _USUAL_INDENT

    def _indent_at(self, at: int) -> str:
        """Return the leading whitespace of a position's line."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at].removeprefix(BOM)
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _written(self, value: object, indent: str | None) -> str:
        """Format a value on several lines at an indent, or on one line without one."""
        if indent is None:
            return self.written(value)
        lines = json.dumps(value, ensure_ascii=False, indent=self._unit).split("\n")
        return (self._newline + indent).join(lines)

    def _container(self, start: int) -> _Container:
        """Read the container that starts at a bracket."""
        if start not in self._containers:
            items = list(self._items(start))
            end = self._skip(items[-1].end if items else start + 1)
            self._containers[start] = _Container(start, end, items)
        return self._containers[start]

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
        return cast("re.Match[str]", _SPACES.match(self._plain, at)).end()

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


class _ConstantError(Exception):
    pass


def _refuse(constant: str) -> object:
    raise _ConstantError(constant)


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def joined(cuts: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Merge adjacent and overlapping parts, which come in order."""
    start = end = -1
    for a, b in cuts:
        if a > end:
            if end >= 0:
                yield start, end
            start = a
        end = max(end, b)
    if end >= 0:
        yield start, end
