"""Parsers of configuration files: JSON, JSONC, TOML, YAML and front matter, with limits and error positions.

All take time and memory in proportion to the text, which its reader limits. The TOML and YAML libraries are
imported on demand: importing either takes longer than most commands.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any, cast

from remit.files.reading import FileError
from remit.text import as_object

MAX_DEPTH = 200  # of nested lists and objects, for parsers without a limit
MAX_KEY_PARTS = 64  # of a dotted TOML key: the library takes quadratic time for one key
MAX_YAML_NODES = 50_000  # scalars and collections, counted each time an alias repeats them
MAX_FRONT_MATTER = 16 * 2**10  # characters; of a longer one, only plain fields at the start are read
BOM = "\ufeff"

_STRING = r'"(?:\\.|[^"\\])*+"?'
_STRINGS = re.compile(f"({_STRING})", re.DOTALL)
# Matches everything to keep, strings included, in one step, then a comment if there is one.
_COMMENT = re.compile(rf'((?:[^"/]++|{_STRING}|/(?![/*]))*+)(//[^\n]*|/\*.*?(?:\*/|\Z))?', re.DOTALL)
_VISIBLE = re.compile(r"[^\r\n]")
_TRAILING_COMMA = re.compile(r"((?:\A|[^\s\[{,])\s*),(?=\s*[\]}])")  # after a value
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
# A quoted key without its end is read once, not again from each of its characters.
_KEY = r"(?:[A-Za-z0-9_-]++|\"(?:\\.|[^\"\\\n])*+\"?|'[^'\n]*+'?)"
_DOTTED_KEY = re.compile(rf"{_KEY}(?:[ \t]*+\.[ \t]*+{_KEY})*+")
_MARK = r"(?:'[^\w\s']{1,3}'|\"'{1,3}\")"  # of the syntax, in a parser's message
_QUOTED = re.compile(  # parts of the file in a parser's message, except the marks that it expects
    rf"(?<=xpected )({_MARK}(?: or {_MARK})*+)(?=[ ,]|$)|\(.*\)|'.*'|\".*\"", re.DOTALL
)
_WORDS: dict[str, object] = {"": None, "~": None, "null": None, "true": True, "false": False}
_OPENING = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"---[ \t]*+(?:\r?\n|\Z)")
_PLAIN = re.compile(r"([A-Za-z][\w-]*):[ \t]+([^\s#&*!|>'\"%@`\[\]{},?-][^#:]*|)")
_LINE = re.compile(r"([A-Za-z][\w-]*):[ \t]*(.*)")


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


def _refuse(constant: str) -> object:
    raise FileError(f"not valid JSON: {constant} is not a value")


def parse_jsonc(text: str) -> object:
    """Parse JSON with comments and trailing commas; error positions are those of the file."""
    return parse_json(without_trailing_commas(without_comments(text)))


def parse_commented_json(text: str) -> object:
    """Parse JSON with comments, but without trailing commas."""
    return parse_json(without_comments(text))


def without_comments(text: str) -> str:
    """Replace comments with spaces, keeping every position."""
    return _COMMENT.sub(lambda match: match[1] + _VISIBLE.sub(" ", match[2] or ""), text)


def without_trailing_commas(text: str) -> str:
    """Replace trailing commas with spaces, in a text without comments."""
    parts = _STRINGS.split(text)  # odd parts are strings
    parts[::2] = [_TRAILING_COMMA.sub(r"\1 ", part) for part in parts[::2]]
    return "".join(parts)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML."""
    import tomllib

    try:
        _require_short_keys(text)
        return _bounded(tomllib.loads(text.removeprefix(BOM)))
    except tomllib.TOMLDecodeError as error:
        reason, _, place = str(error).rpartition(" (at ")
        place = place.removesuffix(")").replace(",", "")
        raise FileError(f"not valid TOML: {without_content(reason)}", place) from None
    except (RecursionError, ValueError):
        raise FileError("not usable TOML: nested too deeply, or a number has thousands of digits") from None


def _require_short_keys(text: str) -> None:
    for key in _DOTTED_KEY.finditer(text):
        if key.end() - key.start() > MAX_KEY_PARTS and key[0].count(".") >= MAX_KEY_PARTS:
            line, _ = position(text, key.start())
            raise FileError(f"not usable TOML: a key has more than {MAX_KEY_PARTS} parts", f"line {line}")


def _bounded(content: dict[str, Any]) -> dict[str, Any]:
    """Reject deeply nested content: dotted keys nest without recursion in the parser."""
    level: list[Any] = [content]
    for _ in range(MAX_DEPTH):
        if not level:
            return content
        level = [item for value in level for item in _items(value) if isinstance(item, dict | list)]
    raise FileError("not usable TOML: nested too deeply")


def _items(value: Any) -> Iterable[Any]:
    return cast("dict[str, Any]", value).values() if isinstance(value, dict) else value


def parse_yaml(text: str) -> object:
    """Parse YAML by the core schema of version 1.2; tags are ignored, and keys are text."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _YamlDocument().read(cast("Any", yaml).parse(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f"line {mark.line + 1} column {mark.column + 1}"
        reason = without_content(str(getattr(error, "problem", None) or error))
        raise FileError(f"not valid YAML: {reason}", place) from None
    except ValueError:
        raise FileError("not usable YAML: a number has thousands of digits") from None


class _YamlDocument:
    """Builds a value from parser events without recursion: the library's builder has no limits.

    An alias shares the value of its anchor, but counts as many nodes as that has: whoever walks or prints the
    value visits them again.
    """

    def __init__(self) -> None:
        self._top: list[object] = []
        self._open: list[_OpenCollection] = []
        self._anchors: dict[str, tuple[object, int]] = {}  # with the number of nodes
        self._nodes = 0

    def read(self, events: Iterable[Any]) -> object:
        for event in events:
            match type(event).__name__:
                case "ScalarEvent":
                    value = plain_scalar(event.value) if event.implicit[0] else event.value
                    self._count(1)
                    self._keep(event.anchor, value, 1)
                    self._put(value)
                case "AliasEvent":
                    value, nodes = self._anchored(event.anchor)
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

    def _anchored(self, anchor: str) -> tuple[object, int]:
        if any(collection.anchor == anchor for collection in self._open):
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


def split_front_matter(
    text: str, may_parse: Callable[[int], bool] = lambda _size: True
) -> tuple[Mapping[str, object], str]:
    """Split a Markdown file into the fields between two lines of `---` at its top, and its body.

    Most files have only plain `key: value` lines. YAML that is invalid, or of a size that `may_parse`
    refuses, is read line by line, as in Claude Code.
    """
    opening = _OPENING.match(text)
    closing = opening and _CLOSING.search(text, opening.end())
    if opening is None or closing is None:
        return {}, text
    fields = text[opening.end() : closing.start()].removesuffix("\n").removesuffix("\r")
    return _fields(fields, may_parse), text[closing.end() :]


def _fields(text: str, may_parse: Callable[[int], bool]) -> Mapping[str, object]:
    lines = [line for line in text[:MAX_FRONT_MATTER].splitlines() if line.strip()]
    plain = [*takewhile(bool, (_PLAIN.fullmatch(line.rstrip()) for line in lines))]
    if len(plain) == len(lines):
        return {match[1]: plain_scalar(match[2]) for match in plain if match is not None}
    if may_parse(len(text)):
        with suppress(FileError):
            return as_object(parse_yaml(text))
    matches = (_LINE.fullmatch(line) for line in lines)
    return {match[1]: match[2].strip().strip("\"'") for match in matches if match}


def without_content(message: str) -> str:
    """Leave out what a parser's message quotes of the file, which may be secret."""
    return _QUOTED.sub(lambda quoted: quoted[1] or "…", message)


def position(text: str, at: int) -> tuple[int, int]:
    """Return the line and column of an offset, both from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def newline_of(text: str) -> str:
    """Return the line ending of a text."""
    return "\r\n" if "\r\n" in text else "\n"


def is_same(one: object, other: object) -> bool:
    """Tell whether two parsed contents are the same, where `true`, `1` and `1.0` differ."""
    pairs: list[tuple[Any, Any]] = [(one, other)]
    while pairs:
        a, b = pairs.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if isinstance(a, dict):
            if cast("dict[str, Any]", a).keys() != b.keys():
                return False
            pairs += [(item, b[key]) for key, item in cast("dict[str, Any]", a).items()]
        elif isinstance(a, list):
            if len(cast("list[Any]", a)) != len(b):
                return False
            pairs += zip(cast("list[Any]", a), b, strict=True)
        elif a != b and (a == a or b == b):  # "not a number" is the same as itself
            return False
    return True


def value_at(content: object, path: Iterable[str]) -> tuple[Any] | None:
    """Return the value at a path of parsed content in a tuple; None if there is none."""
    for key in path:
        if not isinstance(content, dict) or key not in content:
            return None
        content = cast("dict[str, object]", content)[key]
    return (content,)


def with_value(content: Mapping[str, Any], path: Sequence[str], value: object) -> dict[str, Any]:
    """Return parsed content with a value at a path; everything beside the path is shared."""
    key, *below = path
    return {**content, key: with_value(content.get(key, {}), below, value) if below else value}


def without_value(content: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return parsed content without the value at a path, which exists."""
    key, *below = path
    if below:
        return {**content, key: without_value(content[key], below)}
    return {name: value for name, value in content.items() if name != key}
