"""The differences of two texts, without the unchanged parts."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from remit.files.json_positions import position
from remit.files.splices import Splice

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*+"?|\r?\n[ \t]*|[ \t]+|\w+|.', re.DOTALL)  # never splits a string

_MOST = 200_000  # characters to compare word by word; more are compared line by line
_MANY = 20_000  # parts to compare without shortcuts, which may find larger differences


class TextDifference(NamedTuple):
    """A replaced part of a text."""

    line: int  # of its start in the old text, from 1
    column: int
    removed: str
    inserted: str


def differences(before: str, after: str) -> Iterator[TextDifference]:
    """Yield the differences, in the order of the old text."""
    for at, removed, inserted in splices(before, after):
        yield TextDifference(*position(before, at), removed, inserted)


def splices(before: str, after: str) -> list[Splice]:
    """Return the smallest replacements that turn a text into another."""
    old_lines, new_lines = _LINE.findall(before), _LINE.findall(after)
    start = _same(old_lines, new_lines)
    end = _same(old_lines[start:][::-1], new_lines[start:][::-1])
    at = sum(map(len, old_lines[:start]))
    old, new = (lines[start : len(lines) - end] for lines in (old_lines, new_lines))
    if sum(map(len, old)) + sum(map(len, new)) <= _MOST:
        old, new = (_TOKEN.findall("".join(lines)) for lines in (old, new))
    found: list[Splice] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=len(old) > _MANY).get_opcodes():
        removed = "".join(old[a:b])
        if tag != "equal":
            found.append(Splice(at, removed, "".join(new[c:d])))
        at += len(removed)
    return found


def _same(ones: Sequence[str], others: Sequence[str]) -> int:
    """Count the equal lines at the start."""
    pairs = enumerate(zip(ones, others, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(ones), len(others)))
