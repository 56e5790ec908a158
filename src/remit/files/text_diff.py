"""What differs between two texts: the parts that go and come, and nothing of what stays."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from remit.files.json_positions import position

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*+"?|\r?\n[ \t]*|[ \t]+|\w+|.', re.DOTALL)  # a string is never cut


class Difference(NamedTuple):
    """A part of a text that is replaced by another."""

    line: int  # where it begins in the text before, from 1
    column: int
    removed: str
    inserted: str


def differences(before: str, after: str) -> Iterator[Difference]:
    """List what differs, in the order of the text before."""
    old_lines, new_lines = _LINE.findall(before), _LINE.findall(after)
    start = _same(old_lines, new_lines)
    end = _same(old_lines[start:][::-1], new_lines[start:][::-1])
    old, new = (_TOKEN.findall("".join(lines[start : len(lines) - end])) for lines in (old_lines, new_lines))
    at = sum(map(len, old_lines[:start]))
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        removed = "".join(old[a:b])
        if tag != "equal":
            yield Difference(*position(before, at), removed, "".join(new[c:d]))
        at += len(removed)


def _same(ones: Sequence[str], others: Sequence[str]) -> int:
    """How many lines are the same from the beginning."""
    pairs = enumerate(zip(ones, others, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(ones), len(others)))
