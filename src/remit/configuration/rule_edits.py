"""Writes and removes rules for tools in the text of a configuration file; everything else in it stays."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, cast

from remit.errors import PolicyError
from remit.files.splices import newline_of
from remit.files.toml_edits import toml_value
from remit.text.json_values import as_object

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class RuleSetting(NamedTuple):
    """A setting of a rule, with the value that commands write."""

    key: str
    value: bool

    @property
    def line(self) -> str:
        """The setting in TOML."""
        return f"{self.key} = {self._written}"

    @property
    def _written(self) -> str:
        return "true" if self.value else "false"

    def found_at(self, text: str, at: int) -> re.Match[str] | None:
        """Find the setting, whatever its value, in the line that begins at an offset."""
        key = self.key
        return re.compile(rf"""[ \t]*(?:{key}|"{key}"|'{key}')[ \t]*=[ \t]*(true|false)\b""").match(text, at)

    def replaced(self, text: str, found: re.Match[str]) -> str:
        """Return a text with the value in place of the one that was found."""
        return f"{text[: found.start(1)]}{self._written}{text[found.end(1) :]}"


DISABLED = RuleSetting("ai_enabled", value=False)
ASKED = RuleSetting("approval", value=True)


def write(text: str, patterns: Iterable[str], setting: RuleSetting) -> str:
    """Add rules with a setting for the tools of each pattern, or complete the rules that exist.

    Raises:
        PolicyError: the text is not TOML, or a rule is in a form that cannot be edited in place.
    """
    for pattern in dict.fromkeys(patterns):
        text = _with(text, pattern, setting)
    return text


def remove(text: str, patterns: Iterable[str], setting: RuleSetting) -> str:
    """Remove a setting from the rules of exactly these patterns, and rules that say nothing else.

    Raises:
        PolicyError: the text is not TOML, or a rule is in a form that cannot be edited in place.
    """
    for pattern in patterns:
        text = _without(text, pattern, setting)
    return text


def patterns_with(text: str, setting: RuleSetting) -> list[str]:
    """List the patterns whose rules have a setting.

    Raises:
        PolicyError: the text is not TOML.
    """
    rules = as_object(_parsed(text).get("tools"))
    return [name for name, rule in rules.items() if as_object(rule).get(setting.key) is setting.value]


class _Table(NamedTuple):
    """A table with its own header: the offsets of its lines, without later tables."""

    start: int
    body: int  # after the header's line
    end: int


def _with(text: str, pattern: str, setting: RuleSetting) -> str:
    content, newline = _parsed(text), newline_of(text)
    rule = as_object(as_object(content.setdefault("tools", {})).setdefault(pattern, {}))
    if rule.get(setting.key) is setting.value:
        return text
    line = f"{setting.line}{newline}"
    if not rule:
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        made = f"{text}{gap}[tools.{toml_value(pattern)}]{newline}{line}"
    elif (table := _table(text, pattern)) is None:
        raise _uneditable(pattern)
    elif (found := _setting(text, table, setting)) is not None:
        made = setting.replaced(text, found)
    else:
        made = f"{text[: table.body]}{line}{text[table.body :]}"
    rule[setting.key] = setting.value
    return _checked(made, content, pattern)


def _without(text: str, pattern: str, setting: RuleSetting) -> str:
    if pattern not in patterns_with(text, setting):
        return text
    content = _parsed(text)
    del content["tools"][pattern][setting.key]
    table = _table(text, pattern)
    found = None if table is None else _setting(text, table, setting)
    if table is None or found is None:
        raise _uneditable(pattern)
    start, end = found.start(), text.find("\n", found.end()) + 1 or len(text)
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
        return f"{head.rstrip()}{newline_of(head)}" if head.strip() else ""
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


def _setting(text: str, table: _Table, setting: RuleSetting) -> re.Match[str] | None:
    at = table.body
    for line in _LINE.findall(text[table.body : table.end]):
        if found := setting.found_at(text, at):
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
        hint=f"write it as a table, `[tools.{toml_value(pattern)}]`, and run the command again",
    )


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"the file is not valid TOML: {error}", hint="run `remit policy check`") from None
