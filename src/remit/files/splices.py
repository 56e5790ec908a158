"""Splices: reversible text replacements."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Splice(NamedTuple):
    """A replacement at an offset of a text."""

    at: int  # offset in the text before
    removed: str
    inserted: str


Step = Sequence[Splice]  # of one change: disjoint and in order


class TextEditError(ValueError):
    """A text is invalid, or in a form that cannot be edited."""

    def __init__(self, reason: str, place: str = "", hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place
        self.hint = hint  # what to do if the file itself is valid


class SpliceError(ValueError):
    """A splice does not fit the text."""


def newline_of(text: str) -> str:
    """Return the line ending of a text."""
    return "\r\n" if "\r\n" in text else "\n"


def apply(text: str, step: Step) -> str:
    """Apply one step.

    Raises:
        SpliceError: the text does not contain the part to replace.
    """
    parts: list[str] = []
    done = 0
    for at, removed, inserted in step:
        if at < done or not text.startswith(removed, at) or at > len(text):
            raise SpliceError
        parts += (text[done:at], inserted)
        done = at + len(removed)
    return "".join((*parts, text[done:]))


def inverse(step: Step) -> list[Splice]:
    """Return the inverse of a step."""
    found: list[Splice] = []
    shift = 0
    for at, removed, inserted in step:
        found.append(Splice(at + shift, inserted, removed))
        shift += len(inserted) - len(removed)
    return found


def apply_all(text: str, steps: Iterable[Step]) -> str:
    """Apply steps in order."""
    for step in steps:
        text = apply(text, step)
    return text


def undo(text: str, steps: Sequence[Step]) -> str:
    """Undo steps, last first.

    Raises:
        SpliceError: the text is not the result of the steps.
    """
    return apply_all(text, map(inverse, reversed(steps)))
