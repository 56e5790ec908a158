"""Front matter: the fields between two lines of `---` at the top of a Markdown file.

Most files have only plain `key: value` lines, which are parsed here. The library parses other YAML. Invalid
YAML, and YAML that the caller does not want parsed, is read line by line, as in Claude Code.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import takewhile

from remit.files.bounded_reader import FileError
from remit.files.formats import parse_yaml, plain_scalar
from remit.text.json_values import as_object

MAX_FRONT_MATTER = 16 * 2**10  # characters; of a longer one, only plain fields at the start are read

_OPENING = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"---[ \t]*+(?:\r?\n|\Z)")
_PLAIN = re.compile(r"([A-Za-z][\w-]*):[ \t]+([^\s#&*!|>'\"%@`\[\]{},?-][^#:]*|)")
_LINE = re.compile(r"([A-Za-z][\w-]*):[ \t]*(.*)")


def split(
    text: str, may_parse: Callable[[int], bool] = lambda _size: True
) -> tuple[Mapping[str, object], str]:
    """Split a file into fields and body; without front matter it is all body.

    `may_parse` tells whether to parse YAML of a size.
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
    return {match[1]: _unquoted(match[2]) for line in lines if (match := _LINE.fullmatch(line))}


def _unquoted(value: str) -> str:
    return value.strip().strip("\"'")
