"""Edits TOML in place: appends or removes one table and keeps every other character.

A pattern finds the headers, so every edit is verified with a parser: it fails unless the content before and
after differs in exactly the one table.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

from remit.files.formats import without_content
from remit.files.json_positions import Path
from remit.files.splices import Splice, apply

_BOM = "\ufeff"
_HEADER = re.compile(r"""[ \t]*\[\[?((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\[\]#"'])+)\]\]?[ \t]*(?:#.*)?""")
_PARTS = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^."'])+""")
_KEY = re.compile(r"""[ \t]*(?:"([^"\\]*)"|'([^']*)'|([A-Za-z0-9_-]+))[ \t]*""")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LINE_END = re.compile(r"\r?\n")
_BLANK = re.compile(r"\n(\r?\n)\Z")
_GAP = re.compile(r"(?:\r?\n[ \t]*)*\Z")
_REMARKS = re.compile(r"(?:\r?\n[ \t]*(?:#[^\n]*)?)*\Z")


class TomlTextError(ValueError):
    """A text is invalid TOML, or in a form that cannot be edited."""

    def __init__(self, reason: str, place: str = "", hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place
        self.hint = hint  # what to do if the file itself is valid


def table(text: str, path: Path) -> tuple[object] | None:
    """Return the value at a path in a tuple; None if there is none.

    Raises:
        TomlTextError: the text is not TOML.
    """
    found: object = parse_content(text)
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return None
        found = cast("dict[str, object]", found)[key]
    return (found,)


def put_table(text: str, path: Path, values: Mapping[str, object]) -> list[Splice]:
    """Append a table of strings, booleans and lists of strings.

    Raises:
        TomlTextError: the text is not TOML, or a table cannot be added at this path.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    written = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items())
    lines = newline.join((f"[{'.'.join(map(_quoted, path))}]", *written, ""))
    is_blank = not text.removeprefix(_BOM).strip()
    gap = "" if is_blank else newline if text.endswith("\n") else newline * 2
    expected = parse_content(text)
    holder = expected
    for key in path[:-1]:
        inner: object = holder.setdefault(key, {})
        if not isinstance(inner, dict):
            raise TomlTextError(f"`{key}` is not a table")
        holder = cast("dict[str, Any]", inner)
    holder[path[-1]] = dict(values)
    return _checked(text, [Splice(len(text), "", gap + lines)], expected, path)


def take_table(text: str, path: Path) -> list[Splice]:
    """Remove a table and its subtables, if it exists.

    Raises:
        TomlTextError: the text is not TOML, or the table is not written under its own headers.
    """
    if table(text, path) is None:
        return []
    expected = _without(parse_content(text), path, [name for _, name in headers(text)])
    step = [Splice(start, text[start:end], "") for start, end in _blocks(text, path)]
    return _checked(text, step, expected, path)


def _without(content: dict[str, Any], path: Path, named: Sequence[Path]) -> dict[str, Any]:
    """Remove a table, and parents that exist only through its header."""
    key, *below = path
    inner = _without(content[key], below, [name[1:] for name in named if name[:1] == [key]]) if below else {}
    rest = {name: value for name, value in content.items() if name != key}
    return {**content, key: inner} if inner or (below and [key] in named) else rest


def _checked(text: str, step: list[Splice], expected: dict[str, Any], path: Path) -> list[Splice]:
    try:
        is_right = parse_content(apply(text, step)) == expected
    except TomlTextError:
        is_right = False
    if not is_right:
        raise TomlTextError(
            f"`{path[0]}` is written in a form that cannot be edited in place",
            hint=f"write each of its entries as a table, `[{path[0]}.NAME]`, and run this again",
        )
    return step


def _blocks(text: str, path: Path) -> Iterator[tuple[int, int]]:
    """Find the tables at and below a path, each from its header to the end of its last line.

    A table at the end of the text includes the empty lines before it. Between two tables, one empty line that
    separated it goes with it.
    """
    found: list[tuple[int, list[str]]] = [*headers(text), (len(text), [])]
    for (start, name), (end, _) in pairwise(found):
        if name[: len(path)] != list(path):
            continue
        if end == len(text):
            gap = cast("re.Match[str]", _GAP.search(text, 0, start))
            yield _after_line_end(text, gap.start()) if gap.start() else 0, end
        else:
            remarks = cast("re.Match[str]", _REMARKS.search(text, start, end))
            last = _after_line_end(text, remarks.start())
            before = _BLANK.search(text, 0, start)
            yield (before.start(1) if before and _LINE_END.match(text, last) else start), last


def _after_line_end(text: str, at: int) -> int:
    found = _LINE_END.match(text, at)
    return at if found is None else found.end()


def headers(text: str) -> Iterator[tuple[int, list[str]]]:
    """Find the headers of a text: where each starts, and its keys."""
    at = 0
    for line in text.split("\n"):
        found = _HEADER.fullmatch(line.rstrip("\r"))
        if found is not None:
            yield at, [_plain(part) for part in _PARTS.findall(found[1])]
        at += len(line) + 1


def _quoted(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _plain(part: str) -> str:
    found = _KEY.fullmatch(part)
    return part if found is None else next(group for group in found.groups() if group is not None)


def parse_content(text: str) -> dict[str, Any]:
    """Parse a text.

    Raises:
        TomlTextError: the text is not TOML.
    """
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except tomllib.TOMLDecodeError as error:
        reason, _, place = str(error).rpartition(" (at ")
        raise TomlTextError(
            f"not valid TOML: {without_content(reason)}", place.removesuffix(")").replace(",", "")
        ) from None
    except (RecursionError, ValueError):
        raise TomlTextError(
            "not usable TOML: nested too deeply, or a number has thousands of digits"
        ) from None
