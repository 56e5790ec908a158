"""Edits TOML in place: sets or removes a value or table, keeps every other character, and finds positions.

Patterns find the places for an edit, so a parser checks it: it counts only if the content before and after
differs in exactly the one value.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard, cast

from remit.files.formats import (
    BOM,
    MAX_DEPTH,
    is_same,
    newline_of,
    parse_toml,
    value_at,
    with_value,
    without_value,
)
from remit.files.json_text import Path, Splice, Step, joined, splice
from remit.files.reading import FileError

_MOST_POSITIONS = 5000

_KEY = r"[A-Za-z0-9_-]++|\"(?:\\.|[^\"\\\n])*+\"?|'[^'\n]*+'?"  # without its end it is read once
_KEY_PATH = re.compile(rf"(?:{_KEY})(?:[ \t]*+\.[ \t]*+(?:{_KEY}))*+")
_ONE_KEY = re.compile(_KEY)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|(?!""").)*"{3,5}|\'\'\'(?:(?!\'\'\').)*\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL
)
_SCALAR = re.compile(r"[^\s,\]}#=]+(?: \d\d:[^\s,\]}#]*)?")  # a date may have a space before its time
_QUOTES = re.compile(r'"""\n?|\'\'\'\n?|"|\'')
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}
_BLANK = re.compile(r"(?:\s+|#[^\n]*)*")
_SPACES = re.compile(r"[ \t]*")
_CLOSING = re.compile(r"[ \t]*\]{0,2}")
_REST_OF_LINE = re.compile(r"[ \t\r]*(?:#[^\n]*)?(?:\n|\Z)")


class TomlText:
    """A TOML text; a value at a path of `comments` gets that comment if it gets a line of its own."""

    def __init__(self, text: str, comments: Mapping[Path, str]) -> None:
        """Parse a text.

        Raises:
            FileError: the text is not TOML.
        """
        self.text = text
        self.content = parse_toml(text)
        self.trailing_commas = 0  # of inline tables; there are none in TOML
        self._comments = comments

    def source(self, path: Path) -> str | None:
        """Return the source text of a value, also of a table with its own lines; None if there is none."""
        for entry in _entries(self.text):
            if entry.path == path and not entry.is_header and not entry.is_in_list:
                return self.text[entry.value : entry.end]
        value = value_at(self.content, path)
        return None if value is None else toml_value(value[0])

    def place(self, path: Path) -> str:
        """Return the line and column of a key, in words."""
        line, column, *_ = positions(self.text).get(path, (0, 0))
        return f"line {line} column {column}" if line else ""

    def written(self, value: object) -> str:
        """Write a value."""
        return toml_value(value)

    def steps(self, wanted: Mapping[str, Any], sources: Mapping[Path, str | None]) -> Iterator[Step]:
        """Yield the steps that make the text say what is wanted.

        The values at the paths of `sources` are replaced as a whole, by the source text if there is one.
        """
        text = self.text
        for path, value in _differences((), self.content, wanted, sources):
            if value is None:
                steps: list[Step] = [remove_step(text, path)]
            else:
                comment = self._comments.get(path, "")
                steps = set_steps(text, path, value[0], source=sources.get(path), comment=comment)
            for step in steps:
                text = splice(text, step)
            yield from steps

    def is_said_by(self, text: str, wanted: Mapping[str, Any], paths: Iterable[Path]) -> bool:
        """Tell whether a text says what is wanted, whether or not it names empty tables above paths."""
        made, expected = parse_toml(text), dict(wanted)
        for path in paths:
            for length in range(len(path) - 1, 0, -1):
                if value_at(made, path[:length]) == ({},):
                    made = without_value(made, path[:length])
                if value_at(expected, path[:length]) == ({},):
                    expected = without_value(expected, path[:length])
        return is_same(made, expected)


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _differences(
    path: Path, current: Mapping[str, Any], wanted: Mapping[str, Any], whole: Mapping[Path, object]
) -> Iterator[tuple[Path, tuple[Any] | None]]:
    """Yield the paths at which contents differ, with the wanted value; None where there is none."""
    yield from (((*path, key), None) for key in current if key not in wanted)
    for key, value in wanted.items():
        inner, now = (*path, key), current.get(key)
        if is_same(now, value):  # TOML has no null
            continue
        is_above = any(len(other) > len(inner) and other[: len(inner)] == inner for other in whole)
        if _is_table(value) and inner not in whole and (_is_table(now) or (now is None and is_above)):
            yield from _differences(inner, now or {}, value, whole)
        else:
            yield inner, (value,)


def set_value(text: str, path: Path, value: object) -> str:
    """Set a value, or a table; where there is none, it is added.

    Raises:
        FileError: the text is not TOML, or has a form that cannot be edited in place.
    """
    for step in set_steps(text, path, value):
        text = splice(text, step)
    return text


def remove_value(text: str, path: Path) -> str:
    """Remove a value or table, if it exists.

    Raises:
        FileError: the text is not TOML, or has a form that cannot be edited in place.
    """
    return splice(text, remove_step(text, path))


def toml_value(value: object) -> str:
    """Write a value in TOML, on one line."""
    if _is_table(value):
        members = (f"{_quoted(key)} = {toml_value(item)}" for key, item in value.items())
        inside = ", ".join(members)
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, cast('Iterable[object]', value)))}]"
    if isinstance(value, str | bool):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML does not allow it bare
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportAttributeAccessIssue] - dates and times


def positions(text: str) -> dict[Path, tuple[int, int, int, int]]:
    """Return the line and column of each key, and of the content of its value, from 1.

    The text must be TOML: the parser does not report positions.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    places: dict[Path, tuple[int, int, int, int]] = {}
    for entry in _entries(text)[:_MOST_POSITIONS]:
        quotes = None if entry.is_header else _QUOTES.match(text, entry.value)
        inside = quotes.end() if quotes else entry.value
        start = entry.value if entry.is_header else entry.start
        lines = bisect_right(starts, start), bisect_right(starts, inside)
        columns = start - starts[lines[0] - 1] + 1, inside - starts[lines[1] - 1] + 1
        places.setdefault(entry.path, (lines[0], columns[0], lines[1], columns[1]))
    return places


def content_of(source: str, path: Path) -> tuple[Any] | None:
    """Parse the source text of a value, or the lines of the table at a path; None if it is neither."""
    for text, at in ((f"_ = {source}", ("_",)), (source, path)):
        try:
            return value_at(parse_toml(text), at)
        except FileError:
            continue
    return None


def set_steps(
    text: str, path: Path, value: Any, *, source: str | None = None, comment: str = ""
) -> list[Step]:
    """Return the steps that set a value, or a table.

    Its source text is used where it has a place. A comment is written if it gets a line of its own.

    Raises:
        FileError: the text is not TOML, or has a form that cannot be edited in place.
    """
    content = parse_toml(text)
    current = value_at(content, path)
    if current is not None and is_same(current[0], value):
        return []
    for length in range(1, len(path)):
        if not isinstance((value_at(content, path[:length]) or ({},))[0], dict):
            raise FileError(f"`{'.'.join(path[:length])}` is not a table")
    expected = with_value(content, path, value)
    for entry in _entries(text):
        if entry.path == path and not entry.is_header:
            for new_text in (source or toml_value(value), toml_value(value)):  # the source may be of lines
                step = [Splice(entry.value, text[entry.value : entry.end], new_text)]
                if _says(splice(text, step), expected):
                    return [step]
    steps: list[Step] = [] if current is None else [remove_step(text, path)]
    base = splice(text, steps[0]) if steps else text
    for addition in _additions(base, path, value, comment):
        if _says(splice(base, [addition]), expected):
            return [*steps, [addition]]
    raise _uneditable(path)


def remove_step(text: str, path: Path) -> list[Splice]:
    """Return the step that removes a value or table, with tables that only its name made; empty without one.

    Raises:
        FileError: the text is not TOML, or has a form that cannot be edited in place.
    """
    content = parse_toml(text)
    if value_at(content, path) is None:
        return []
    step = [Splice(start, text[start:end], "") for start, end in joined(sorted(_cuts(text, path)))]
    made = splice(text, step)
    expected = without_value(content, path)
    if _says(made, expected):
        return step
    for length in range(len(path) - 1, 0, -1):
        if value_at(expected, path[:length]) != ({},):
            break
        expected = without_value(expected, path[:length])
        if _says(made, expected):
            return step
    raise _uneditable(path)


def _says(text: str, expected: object) -> bool:
    try:
        return is_same(parse_toml(text), expected)
    except FileError:
        return False


def _uneditable(path: Path) -> FileError:
    table = _dotted(path[:-1] or path)
    return FileError(
        f"`{'.'.join(path[:-1] or path)}` is written in a form that cannot be edited in place",
        hint=f"write it as a table, `[{table}]`, and run this again",
    )


def _quoted(key: str) -> str:
    return key if _BARE.fullmatch(key) else toml_value(key)


def _at_end(text: str, lines: str) -> Splice:
    """Append lines, after an empty one."""
    newline = newline_of(text)
    is_blank = not text.removeprefix(BOM).strip()
    gap = "" if is_blank or lines[:1] in "\r\n" else newline if text.endswith("\n") else newline * 2
    return Splice(len(text), "", gap + lines)


def _additions(text: str, path: Path, value: Any, comment: str) -> Iterator[Splice]:
    """Yield the places for a value that is missing, best first."""
    *above, key = path
    parent, newline, tail = tuple(above), newline_of(text), f"  # {comment}" if comment else ""
    setting = f"{_quoted(key)} = {toml_value(value)}"
    if _is_table(value):
        settings = (f"{_quoted(name)} = {toml_value(item)}" for name, item in value.items())
        yield _at_end(text, newline.join((f"[{_dotted(path)}]", *settings, "")))
    for entry in _entries(text):
        if entry.path == parent and not entry.is_header and text[entry.value] == "{":
            inside = text[entry.value + 1 : entry.end - 1].rstrip()
            at = entry.value + 1 + len(inside)
            yield Splice(at, "", f", {setting}" if inside else f" {setting}")
    sections = [(table, last) for table, last in _sections(text) if parent[: len(table)] == table]
    for table, last in sorted(sections, key=lambda section: -len(section[0])):
        if parent and len(table) < len(parent):
            yield _at_end(text, f"[{_dotted(parent)}]{newline}{setting}{tail}{newline}")
        prefix = "".join(f"{_quoted(name)}." for name in parent[len(table) :])
        yield _after_line(text, last, f"{prefix}{setting}{tail}")
    if parent:  # which may be missing in an inline table
        yield from _additions(text, parent, {key: value}, "")


def _sections(text: str) -> Iterator[tuple[Path, "_Entry | None"]]:
    """Yield each table that has lines of its own, and its last line; the first is the top."""
    table: Path = ()
    last: _Entry | None = None
    for entry in _entries(text):
        if entry.depth == 0:
            if entry.is_header:
                yield table, last
                table = entry.path
            last = entry
    yield table, last


def _dotted(path: Path) -> str:
    return ".".join(map(_quoted, path))


def _after_line(text: str, last: "_Entry | None", line: str) -> Splice:
    """Add a line after that of an entry, with its indent, or at the start."""
    newline = newline_of(text)
    if last is None:
        first = len(BOM) if text.startswith(BOM) else 0
        return Splice(first, "", line + newline + (newline if text[first:].strip() else ""))
    indent = text[_line_start(text, last.start) : last.start]
    end = text.find("\n", last.end) + 1
    return (
        Splice(end, "", f"{indent}{line}{newline}") if end else Splice(len(text), "", newline + indent + line)
    )


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1 or (len(BOM) if text.startswith(BOM) else 0)


def _cuts(text: str, path: Path) -> Iterator[tuple[int, int]]:
    """Find the lines, or the part of a line, of all that is at and below a path."""
    entries = _entries(text)
    run: list[_Entry] = []  # lines that go together
    header: _Entry | None = None
    is_cut = False
    for entry in (entry for entry in entries if entry.depth == 0):
        header = entry if entry.is_header else header
        if entry.path[: len(path)] == path or (header is not None and header.path[: len(path)] == path):
            run.append(entry)
        elif run:
            yield _lines(text, run)
            run, is_cut = [], True
    if run:
        yield _lines(text, run)
    elif not is_cut:
        yield from (_member(text, entry) for entry in entries if entry.path == path and not entry.is_in_list)


def _lines(text: str, run: Sequence["_Entry"]) -> tuple[int, int]:
    """Return the lines of a run, with the empty ones before it that nothing needs; remarks after it stay."""
    start = _line_start(text, run[0].start)
    end = cast("re.Match[str]", _REST_OF_LINE.match(text, run[-1].end)).end()
    is_last, before = not text[end:].strip(), text[:start].rstrip(" \t\r\n")
    if run[0].is_header and is_last and before.removeprefix(BOM):
        start = text.find("\n", len(before)) + 1
        end = len(text)
    elif (
        run[0].is_header
        and text[:start].endswith(("\n\n", "\n\r\n"))
        and text[end : end + 2].startswith(("\n", "\r\n"))
    ):
        start -= 2 if text[:start].endswith("\r\n") else 1
    if start and end == len(text) and text[end - 1] != "\n":  # goes with the end of the line before
        start = len(text[:start].removesuffix("\n").removesuffix("\r"))
    return start, end


def _member(text: str, entry: "_Entry") -> tuple[int, int]:
    """Return the part of an inline table that a member takes, with its comma."""
    start, end = entry.start, cast("re.Match[str]", _SPACES.match(text, entry.end)).end()
    if text[end] == ",":
        return start, cast("re.Match[str]", _SPACES.match(text, end + 1)).end()
    before = text[:start].rstrip(" \t")
    if before.endswith(","):
        return len(before) - 1, entry.end
    return len(before), end


class _Entry(NamedTuple):
    """A header, or a key with its value."""

    path: Path
    start: int
    value: int  # of a header: its name
    end: int
    depth: int = 0  # of inline tables and lists around it
    is_header: bool = False
    is_in_list: bool = False


def _entries(text: str) -> list[_Entry]:
    return _Scanner(text).entries


class _Scanner:
    """Scans TOML once, key by key; other text yields something, but ends."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = len(BOM) if text.startswith(BOM) else 0
        self.entries: list[_Entry] = []
        table: Path = ()
        while self._next():
            if self._next() == "[":
                table = self._header()
            elif not self._is_pair(table, 0, is_in_list=False):
                self._at += 1

    def _next(self) -> str:
        """Skip to the next character that counts, and return it; empty at the end."""
        self._at = cast("re.Match[str]", _BLANK.match(self._text, self._at)).end()
        return self._text[self._at : self._at + 1]

    def _header(self) -> Path:
        start = self._at
        self._at += 2 if self._text.startswith("[[", start) else 1
        self._at = cast("re.Match[str]", _SPACES.match(self._text, self._at)).end()
        name = _KEY_PATH.match(self._text, self._at)
        if name is None:
            return ()
        path = _names(name[0])
        self._at = cast("re.Match[str]", _CLOSING.match(self._text, name.end())).end()
        self.entries.append(_Entry(path, start, name.start(), self._at, is_header=True))
        return path

    def _is_pair(self, table: Path, depth: int, *, is_in_list: bool) -> bool:
        """Read a key and its value, if there is one."""
        name = _KEY_PATH.match(self._text, self._at)
        if name is None:
            return False
        self._at = cast("re.Match[str]", _SPACES.match(self._text, name.end())).end()
        if self._text[self._at : self._at + 1] != "=":
            return False
        self._at = value = cast("re.Match[str]", _SPACES.match(self._text, self._at + 1)).end()
        path, number = (*table, *_names(name[0])), len(self.entries)
        self._value(path, depth, is_in_list=is_in_list)
        entry = _Entry(path, name.start(), value, self._at, depth, is_in_list=is_in_list)
        self.entries.insert(number, entry)
        return True

    def _value(self, path: Path, depth: int, *, is_in_list: bool) -> None:
        opening = self._text[self._at : self._at + 1]
        if match := _STRING.match(self._text, self._at) or (
            opening not in "[{" and _SCALAR.match(self._text, self._at)
        ):
            self._at = match.end()
        elif opening and opening in "[{" and depth < MAX_DEPTH:
            self._at += 1
            while (char := self._next()) and char not in "]}":
                start = self._at
                if opening == "[" and char != ",":
                    self._value(path, depth + 1, is_in_list=True)
                elif opening == "{":
                    self._is_pair(path, depth + 1, is_in_list=is_in_list)
                if self._at == start:
                    self._at += 1
            self._at += 1 if char else 0


def _names(path: str) -> Path:
    return tuple(map(_name, _ONE_KEY.findall(path)))


def _name(key: str) -> str:
    if key.startswith("'"):
        return key[1:-1]
    return _ESCAPE.sub(_unescaped, key[1:-1]) if key.startswith('"') else key


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)
