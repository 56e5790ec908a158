"""Disables and enables tools in the text of a configuration file; everything else in it stays as it is."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, cast

from remit.errors import PolicyError

KEY = "ai_enabled"
_SETTING = re.compile(rf"""[ \t]*(?:{KEY}|"{KEY}"|'{KEY}')[ \t]*=[ \t]*(true|false)\b""")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def disable(text: str, patterns: Iterable[str]) -> str:
    """Add rules that hide the tools of each pattern from AI, or complete the rules that exist.

    Raises:
        PolicyError: the text is not TOML, or a rule is in a form that cannot be edited in place.
    """
    for pattern in dict.fromkeys(patterns):
        text = _disabled(text, pattern)
    return text


def enable(text: str, patterns: Iterable[str]) -> str:
    """Remove the settings that hide the tools of exactly these patterns, and rules that say nothing else.

    Raises:
        PolicyError: the text is not TOML, or a rule is in a form that cannot be edited in place.
    """
    for pattern in patterns:
        text = _enabled(text, pattern)
    return text


def disabled_patterns(text: str) -> list[str]:
    """List the patterns whose tools a text hides from AI.

    Raises:
        PolicyError: the text is not TOML.
    """
    rules = _mapping(_parsed(text).get("tools"))
    return [name for name, rule in rules.items() if _mapping(rule).get(KEY) is False]


class _Table(NamedTuple):
    """A table with its own header: the offsets of its lines, without later tables."""

    start: int
    body: int  # after the header's line
    end: int


def _disabled(text: str, pattern: str) -> str:
    content, newline = _parsed(text), _newline(text)
    rule = _mapping(_mapping(content.setdefault("tools", {})).setdefault(pattern, {}))
    if rule.get(KEY) is False:
        return text
    line = f"{KEY} = false{newline}"
    if not rule:
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        made = f"{text}{gap}[tools.{_quoted(pattern)}]{newline}{line}"
    elif (table := _table(text, pattern)) is None:
        raise _uneditable(pattern)
    elif (setting := _setting(text, table)) is not None:
        made = f"{text[: setting.start(1)]}false{text[setting.end(1) :]}"
    else:
        made = f"{text[: table.body]}{line}{text[table.body :]}"
    rule[KEY] = False
    return _checked(made, content, pattern)


def _enabled(text: str, pattern: str) -> str:
    if pattern not in disabled_patterns(text):
        return text
    content = _parsed(text)
    del content["tools"][pattern][KEY]
    table = _table(text, pattern)
    setting = None if table is None else _setting(text, table)
    if table is None or setting is None:
        raise _uneditable(pattern)
    start, end = setting.start(), text.find("\n", setting.end()) + 1 or len(text)
    if content["tools"][pattern] or text[table.body : start].strip():
        return _checked(text[:start] + text[end:], content, pattern)
    del content["tools"][pattern]
    made = _joined(text[: table.start], text[end:])
    if not content["tools"] and "tools" not in _parsed(made):
        del content["tools"]
    return _checked(made, content, pattern)


def _joined(head: str, tail: str) -> str:
    """Join what was before and after a removed table, without the empty line between them."""
    if not tail.strip():
        return f"{head.rstrip()}{_newline(head)}" if head.strip() else ""
    return head + (tail.lstrip("\r\n") if not head or head.endswith(("\n\n", "\r\n\r\n")) else tail)


def _table(text: str, pattern: str) -> _Table | None:
    headers = [*_headers(text), ((), len(text), len(text))]
    for (path, start, body), (_, end, _) in pairwise(headers):
        if path == ("tools", pattern):
            return _Table(start, body, end)
    return None


def _headers(text: str) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Yield the path of each header, and the offsets of its line."""
    at = 0
    for line in _LINE.findall(text):
        if line.lstrip(" \t").startswith("[") and (path := _header_path(line)):
            yield path, at, at + len(line)
        at += len(line)


def _header_path(line: str) -> tuple[str, ...]:
    try:
        inner: object = tomllib.loads(line)
    except tomllib.TOMLDecodeError:  # a line of a list
        return ()
    path: list[str] = []
    while isinstance(inner, dict) and inner:
        ((key, inner),) = cast("dict[str, object]", inner).items()
        path.append(key)
    return tuple(path)


def _setting(text: str, table: _Table) -> re.Match[str] | None:
    at = table.body
    for line in _LINE.findall(text[table.body : table.end]):
        if found := _SETTING.match(text, at):
            return found
        at += len(line)
    return None


def _checked(made: str, expected: dict[str, Any], pattern: str) -> str:
    """Return a text if it has the expected content: patterns found the lines, so a parser checks them."""
    try:
        is_right = tomllib.loads(made) == expected
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise _uneditable(pattern)
    return made


def _uneditable(pattern: str) -> PolicyError:
    return PolicyError(
        f"the rule for `{pattern}` cannot be edited in place",
        hint=f"write it as a table, `[tools.{_quoted(pattern)}]`, and run the command again",
    )


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"the file is not valid TOML: {error}", hint="run `remit policy check`") from None


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
