"""Parsers of configuration files: JSON, JSONC, TOML and YAML, with limits and error positions.

All take time and memory in proportion to the text, which its reader limits. The TOML and YAML libraries are
imported on demand: importing either takes longer than most commands.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, cast

from remit.files.bounded_reader import FileError
from remit.files.json_positions import without_comments, without_trailing_commas
from remit.text.secrets import may_be_secret

MAX_DEPTH = 200  # of nested lists and objects, for parsers without a limit
MAX_KEY_PARTS = 64  # of a dotted TOML key: the library takes quadratic time for one key
MAX_YAML_NODES = 50_000  # scalars and collections, counted each time an alias repeats them

_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_KEY = r"(?:[A-Za-z0-9_-]++|\"(?:\\.|[^\"\\\n])*+\"|'[^'\n]*+')"
_DOTTED_KEY = re.compile(rf"{_KEY}(?:[ \t]*+\.[ \t]*+{_KEY})*+")
_BEGUN = re.compile(rf"\s*+(?:\[\[?+[ \t]*+({_DOTTED_KEY.pattern})[ \t]*+\]|({_DOTTED_KEY.pattern})[ \t]*+=)")
_LONGEST_NAME = 100  # characters of a table or key in a message
_UNCLOSED = re.compile(r"(Illegal|Found invalid) character '\\n'|Unterminated string|Expected \"'{1,3}\"")
_TWICE = ("Cannot declare", "Cannot overwrite a value")
_MARK = r"(?:'[^\w\s']{1,3}'|\"'{1,3}\")"  # of the syntax, in a parser's message
_QUOTED = re.compile(  # parts of the file in a parser's message, except the marks that it expects
    rf"(?<=xpected )({_MARK}(?: or {_MARK})*+)(?=[ ,]|$)|\(.*\)|'.*'|\".*\"", re.DOTALL
)
_WORDS: dict[str, object] = {"": None, "~": None, "null": None, "true": True, "false": False}


def parse_json(text: str) -> object:
    """Parse JSON as JavaScript does: the last duplicate key wins, and `NaN` is invalid.

    Raises:
        FileError: the text is invalid; the other parsers raise it too.
    """
    if not text.strip():
        raise FileError("the file is empty")
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise FileError(f"not valid JSON: {error.msg}", f"line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise FileError("not usable JSON: nested too deeply") from None
    except ValueError:
        raise FileError("not usable JSON: a number has thousands of digits") from None


def parse_jsonc(text: str) -> object:
    """Parse JSON with comments and trailing commas; error positions are those of the file."""
    return parse_json(without_trailing_commas(without_comments(text)))


def parse_commented_json(text: str) -> object:
    """Parse JSON with comments, but without trailing commas."""
    return parse_json(without_comments(text))


def parse_toml(text: str) -> object:
    """Parse TOML."""
    import tomllib

    try:
        _require_short_keys(text)
        return _bounded(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        reason, _, at = str(error).rpartition(" (at ")
        place = at.removesuffix(")").replace(",", "")
        raise FileError(f"not valid TOML: {_toml_reason(reason, text, place)}", place) from None
    except (RecursionError, ValueError):
        raise FileError("not usable TOML: nested too deeply, or a number has thousands of digits") from None


def _toml_reason(reason: str, text: str, place: str) -> str:
    """Word a parser's message without values; say of a name what the parser only quotes."""
    header, key = _names_at(text, place)
    if _UNCLOSED.fullmatch(reason):
        return f"`{key}`: a text is not closed" if key else "a text is not closed"
    if reason.startswith(_TWICE) and (header or key):
        return f"`[{header}]` is there twice" if header else f"`{key}` is there twice"
    return without_content(reason)


def _names_at(text: str, place: str) -> tuple[str, str]:
    """Return the table or the key that the line of a place begins with; empty if it may be a secret."""
    number = re.match(r"line (\d+)", place)
    begun = None if number is None else _BEGUN.match(text.split("\n")[int(number[1]) - 1])
    header, key = begun.groups("") if begun else ("", "")
    is_shown = len(header or key) <= _LONGEST_NAME and not may_be_secret(header or key)
    return (header, key) if is_shown else ("", "")


def parse_yaml(text: str) -> object:
    """Parse YAML by the core schema of version 1.2; tags are ignored, and keys are text."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Document().read(cast("Any", yaml).parse(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f"line {mark.line + 1} column {mark.column + 1}"
        reason = without_content(str(getattr(error, "problem", None) or error))
        raise FileError(f"not valid YAML: {reason}", place) from None
    except ValueError:
        raise FileError("not usable YAML: a number has thousands of digits") from None


def _require_short_keys(text: str) -> None:
    for key in _DOTTED_KEY.finditer(text):
        if key.end() - key.start() > MAX_KEY_PARTS and key[0].count(".") >= MAX_KEY_PARTS:
            line = text.count("\n", 0, key.start()) + 1
            raise FileError(f"not usable TOML: a key has more than {MAX_KEY_PARTS} parts", f"line {line}")


def _bounded(content: dict[str, Any]) -> object:
    """Reject deeply nested content: dotted keys nest without recursion in the parser."""
    level: list[Any] = [content]
    for _ in range(MAX_DEPTH):
        if not level:
            return content
        level = [item for value in level for item in _items(value) if isinstance(item, dict | list)]
    raise FileError("not usable TOML: nested too deeply")


def _items(value: Any) -> Iterable[Any]:
    return cast("dict[str, Any]", value).values() if isinstance(value, dict) else value


class _Document:
    """Builds a value from parser events without recursion: the library's builder has no limits.

    An alias shares the value of its anchor, but counts as many nodes as that has: whoever walks or prints the
    value visits them again.
    """

    def __init__(self) -> None:
        self._top: list[object] = []
        self._open: list[_OpenCollection] = []
        self._anchors: dict[str, tuple[object, int]] = {}  # with the number of nodes
        self._nodes = 0

    def read(self, events: Any) -> object:
        for event in events:
            match type(event).__name__:
                case "ScalarEvent":
                    value = plain_scalar(event.value) if event.implicit[0] else event.value
                    self._count(1)
                    self._keep(event.anchor, value, 1)
                    self._put(value)
                case "AliasEvent":
                    value, nodes = self._named(event.anchor)
                    self._count(nodes)
                    self._put(value)
                case "SequenceStartEvent":
                    self._begin(event, cast("list[object]", []))
                case "MappingStartEvent":
                    self._begin(event, cast("dict[str, object]", {}))
                case "SequenceEndEvent" | "MappingEndEvent":
                    ended = self._open.pop()
                    self._keep(ended.anchor, ended.value, self._nodes - ended.before)
                case "DocumentEndEvent":
                    break
                case _:
                    pass
        return self._top[0] if self._top else None

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_YAML_NODES:
            raise FileError(f"not usable YAML: more than {MAX_YAML_NODES:,} values, with repeated ones")

    def _keep(self, anchor: str | None, value: object, nodes: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = value, nodes

    def _named(self, anchor: str) -> tuple[object, int]:
        if any(each.anchor == anchor for each in self._open):
            raise FileError("not usable YAML: a part contains itself")
        return self._anchors.get(anchor, (None, 1))

    def _begin(self, event: Any, value: Any) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise FileError("not usable YAML: nested too deeply")
        self._put(value)
        self._open.append(_OpenCollection(value, event.anchor, self._nodes))
        self._count(1)

    def _put(self, value: object) -> None:
        if not self._open:
            self._top.append(value)
            return
        collection, key = self._open[-1].value, self._open[-1].key
        if isinstance(collection, list):
            cast("list[object]", collection).append(value)
        elif key:
            collection[_as_key(key.pop())] = value
        else:
            key.append(value)


class _OpenCollection:
    """A collection whose end the parser has not reached."""

    def __init__(self, value: Any, anchor: str | None, before: int) -> None:
        self.value = value
        self.anchor = anchor
        self.before = before  # nodes counted before it
        self.key: list[object] = []  # the pending key of a mapping


def _as_key(value: object) -> str:
    if isinstance(value, str):
        return value
    return "?" if isinstance(value, list | dict) else json.dumps(value)


def plain_scalar(text: str) -> object:
    """Parse an unquoted YAML scalar by the core schema."""
    if (word := text.lower()) in _WORDS and text in (word, word.capitalize(), word.upper()):
        return _WORDS[word]
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def without_content(message: str) -> str:
    """Leave out what a parser's message quotes of the file, which may be secret."""
    return _QUOTED.sub(lambda found: found[1] or "…", message)


def _refuse(constant: str) -> object:
    raise FileError(f"not valid JSON: {constant} is not a value")
