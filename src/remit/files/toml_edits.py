"""Edits TOML in place: appends or removes one table, or sets one value, and keeps every other character.

Patterns find the headers and the candidates for an edit, so every edit is verified with a parser: it counts
only if the content before and after differs in exactly the one table or value.
"""

import copy
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

from remit.files.formats import without_content
from remit.files.json_positions import Path
from remit.files.splices import Splice, TextEditError, apply, newline_of

_BOM = "\ufeff"
_HEADER = re.compile(r"""[ \t]*\[\[?((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\[\]#"'])+)\]\]?[ \t]*(?:#.*)?""")
_PARTS = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^."'])+""")
_KEY = re.compile(r"""[ \t]*(?:"([^"\\]*)"|'([^']*)'|([A-Za-z0-9_-]+))[ \t]*""")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LINE_END = re.compile(r"\r?\n")
_BLANK = re.compile(r"\n(\r?\n)\Z")
_GAP = re.compile(r"(?:\r?\n[ \t]*)*\Z")
_REMARKS = re.compile(r"(?:\r?\n[ \t]*(?:#[^\n]*)?)*\Z")
_LITERAL = r"(?:true|false)"
_LINE = re.compile(r"^[^\n]*$", re.MULTILINE)


def table(text: str, path: Path) -> tuple[object] | None:
    """Return the value at a path in a tuple; None if there is none.

    Raises:
        TextEditError: the text is not TOML.
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
        TextEditError: the text is not TOML, or a table cannot be added at this path.
    """
    newline = newline_of(text)
    written = (f"{key} = {toml_value(value)}" for key, value in values.items())
    lines = newline.join((f"[{'.'.join(map(_quoted, path))}]", *written, ""))
    is_blank = not text.removeprefix(_BOM).strip()
    gap = "" if is_blank else newline if text.endswith("\n") else newline * 2
    expected = parse_content(text)
    holder = expected
    for key in path[:-1]:
        inner: object = holder.setdefault(key, {})
        if not isinstance(inner, dict):
            raise TextEditError(f"`{key}` is not a table")
        holder = cast("dict[str, Any]", inner)
    holder[path[-1]] = dict(values)
    return _checked(text, [Splice(len(text), "", gap + lines)], expected, path)


def take_table(text: str, path: Path) -> list[Splice]:
    """Remove a table and its subtables, if it exists.

    Raises:
        TextEditError: the text is not TOML, or the table is not written under its own headers.
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
    except TextEditError:
        is_right = False
    if not is_right:
        raise TextEditError(
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
    return key if _BARE.fullmatch(key) else toml_value(key)


def toml_value(value: object) -> str:
    """Write a string, a boolean or a list of strings in TOML."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML does not allow it bare


def _plain(part: str) -> str:
    found = _KEY.fullmatch(part)
    return part if found is None else next(group for group in found.groups() if group is not None)


def parse_content(text: str) -> dict[str, Any]:
    """Parse a text.

    Raises:
        TextEditError: the text is not TOML.
    """
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except tomllib.TOMLDecodeError as error:
        reason, _, place = str(error).rpartition(" (at ")
        raise TextEditError(
            f"not valid TOML: {without_content(reason)}", place.removesuffix(")").replace(",", "")
        ) from None
    except (RecursionError, ValueError):
        raise TextEditError(
            "not usable TOML: nested too deeply, or a number has thousands of digits"
        ) from None


def put_flag(text: str, path: Path, value: bool, comment: str = "") -> list[Splice]:
    """Set a boolean of a table, with a comment if it gets a line of its own; create a missing table.

    Raises:
        TextEditError: the text is not TOML, or the table has a form that cannot be edited.
    """
    if table(text, path) is None and table(text, path[:-1]) is None:
        return put_table(text, path[:-1], {path[-1]: value})
    expected = copy.deepcopy(parse_content(text))
    _holder(expected, path)[path[-1]] = value
    word = json.dumps(value)
    found = (
        _replacements(text, path[-1], word) if table(text, path) else _insertions(text, path, word, comment)
    )
    return _first(text, found, expected, path)


def take_flag(text: str, path: Path) -> list[Splice]:
    """Remove a boolean of a table, if it exists, with its line and the comment on it.

    Raises:
        TextEditError: the text is not TOML, or the table has a form that cannot be edited.
    """
    if table(text, path) is None:
        return []
    expected = copy.deepcopy(parse_content(text))
    del _holder(expected, path)[path[-1]]
    return _first(text, _removals(text, path[-1]), expected, path)


def _replacements(text: str, key: str, word: str) -> Iterator[Splice]:
    for found in re.finditer(rf"\b{re.escape(key)}\b[\"']?[ \t]*=[ \t]*({_LITERAL})\b", text):
        yield Splice(found.start(1), found[1], word)


def _insertions(text: str, path: Path, word: str, comment: str) -> Iterator[Splice]:
    newline = newline_of(text)
    server, key = re.escape(path[-2]), path[-1]
    tail = f"  # {comment}" if comment else ""
    for at, name in headers(text):
        if name == [*path[:-1]]:
            end = text.find("\n", at)
            lead = re.match(r"[ \t]*", text[at:])
            indent = lead[0] if lead else ""
            if end < 0:  # the header ends the file
                yield Splice(len(text), "", f"{newline}{indent}{key} = {word}{tail}")
            else:
                yield Splice(end + 1, "", f"{indent}{key} = {word}{tail}{newline}")
    for line in _LINE.finditer(text):
        if found := re.match(
            rf"([ \t]*\S*\b{re.escape(path[-2])}[\"']?[ \t]*\.[ \t]*)[\w-]+[ \t]*=", line[0]
        ):
            yield Splice(line.start(), "", f"{found[1]}{key} = {word}{tail}{newline}")
        if re.search(rf"\b{server}[\"']?[ \t]*=[ \t]*\{{", line[0]):
            for end in (each.start() for each in re.finditer(r"[ \t]*\}", line[0])):
                comma = "" if line[0][:end].rstrip().endswith("{") else ","
                yield Splice(line.start() + end, "", f"{comma} {key} = {word}")


def _removals(text: str, key: str) -> Iterator[Splice]:
    name = rf"[\"']?{re.escape(key)}[\"']?[ \t]*=[ \t]*{_LITERAL}"
    for found in re.finditer(rf"^[ \t]*(?:[^\s=#]+\.)?{name}[ \t]*(?:#[^\n]*)?(?:\n|\Z)", text, re.MULTILINE):
        start = found.start()
        if start and not found[0].endswith("\n"):  # the last line goes with the end of the one before
            start -= 2 if text[:start].endswith("\r\n") else 1
        yield Splice(start, text[start : found.end()], "")
    for pattern in (rf",[ \t]*{name}", rf"{name}[ \t]*,[ \t]*", rf"[ \t]*{name}"):
        for found in re.finditer(pattern, text):
            yield Splice(found.start(), found[0], "")


def _first(text: str, candidates: Iterable[Splice], expected: dict[str, Any], path: Path) -> list[Splice]:
    for splice in candidates:
        try:
            if parse_content(apply(text, [splice])) == expected:
                return [splice]
        except TextEditError:
            continue
    raise TextEditError(
        f"`{'.'.join(path[:-1])}` is written in a form that cannot be edited in place",
        hint=f"write it as a table, `[{'.'.join(path[:-1])}]`, and run this again",
    )


def _holder(content: dict[str, Any], path: Path) -> dict[str, Any]:
    for key in path[:-1]:
        content = cast("dict[str, Any]", content[key])
    return content
