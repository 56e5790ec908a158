"""The differences of two texts, without the unchanged parts."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from remit.files.json_positions import position

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*+"?|\r?\n[ \t]*|[ \t]+|\w+|.', re.DOTALL)  # never splits a string


class TextDifference(NamedTuple):
    """A replaced part of a text."""

    line: int  # of its start in the old text, from 1
    column: int
    removed: str
    inserted: str


def differences(before: str, after: str) -> Iterator[TextDifference]:
    """Yield the differences, in the order of the old text."""
    old_lines, new_lines = _LINE.findall(before), _LINE.findall(after)
    start = _same(old_lines, new_lines)
    end = _same(old_lines[start:][::-1], new_lines[start:][::-1])
    old, new = (_TOKEN.findall("".join(lines[start : len(lines) - end])) for lines in (old_lines, new_lines))
    at = sum(map(len, old_lines[:start]))
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        removed = "".join(old[a:b])
        if tag != "equal":
            yield TextDifference(*position(before, at), removed, "".join(new[c:d]))
        at += len(removed)


def _same(ones: Sequence[str], others: Sequence[str]) -> int:
    """Count the equal lines at the start."""
    pairs = enumerate(zip(ones, others, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(ones), len(others)))
