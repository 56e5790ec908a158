"""Edits one value of a TOML table in place: in its own lines, in one line, or with dotted keys.

Candidates are found with patterns and verified with a parser: an edit counts only if the content before and
after differs in exactly the one value.
"""

import copy
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from remit.files.json_positions import Path
from remit.files.splices import Splice, apply
from remit.files.toml_edits import TomlTextError, headers, parse_content, put_table, table

_LITERAL = r"(?:true|false)"
_LINE = re.compile(r"^[^\n]*$", re.MULTILINE)


def put_flag(text: str, path: Path, value: bool, comment: str = "") -> list[Splice]:
    """Set a boolean of a table, with a comment if it gets a line of its own; create a missing table.

    Raises:
        TomlTextError: the text is not TOML, or the table has a form that cannot be edited.
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
        TomlTextError: the text is not TOML, or the table has a form that cannot be edited.
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
    newline = "\r\n" if "\r\n" in text else "\n"
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
        except TomlTextError:
            continue
    raise TomlTextError(
        f"`{'.'.join(path[:-1])}` is written in a form that cannot be edited in place",
        hint=f"write it as a table, `[{'.'.join(path[:-1])}]`, and run this again",
    )


def _holder(content: dict[str, Any], path: Path) -> dict[str, Any]:
    for key in path[:-1]:
        content = cast("dict[str, Any]", content[key])
    return content
