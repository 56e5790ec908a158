"""Front matter: the fields between two lines of `---` at the top of a Markdown file.

Most files have only plain `key: value` lines, which are parsed here. The library parses other YAML. Invalid
YAML is read line by line, as in Claude Code.
"""

import re
from collections.abc import Mapping
from typing import cast

from remit.files.bounded_reader import FileError
from remit.files.formats import parse_yaml, plain_scalar

_FENCED = re.compile(r"---[ \t]*\r?\n(.*?)(?:\r?\n)?---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_PLAIN = re.compile(r"([A-Za-z][\w-]*):[ \t]+([^\s#&*!|>'\"%@`\[\]{},?-][^#:]*|)")
_LINE = re.compile(r"([A-Za-z][\w-]*):[ \t]*(.*)")


def split(text: str) -> tuple[Mapping[str, object], str]:
    """Split a file into fields and body; without front matter it is all body."""
    found = _FENCED.match(text)
    if found is None:
        return {}, text
    return _fields(found[1]), text[found.end() :]


def _fields(text: str) -> Mapping[str, object]:
    lines = [line for line in text.splitlines() if line.strip()]
    plain = [_PLAIN.fullmatch(line.rstrip()) for line in lines]
    if all(plain):
        return {match[1]: plain_scalar(match[2]) for match in plain if match is not None}
    try:
        content = parse_yaml(text)
    except FileError:
        return {match[1]: _unquoted(match[2]) for line in lines if (match := _LINE.fullmatch(line))}
    return cast("dict[str, object]", content) if isinstance(content, dict) else {}


def _unquoted(value: str) -> str:
    return value.strip().strip("\"'")
