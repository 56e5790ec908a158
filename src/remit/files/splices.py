"""Splices: changes of a text that say exactly what they take out and put in, and so can be taken back."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Splice(NamedTuple):
    """A place in a text where something is taken out and something else put in."""

    at: int  # in the text as it was before
    removed: str
    inserted: str


Step = Sequence[Splice]  # of one change: apart from each other, and in the order of the text


class MisplacedError(ValueError):
    """A splice does not fit the text."""


def apply(text: str, step: Step) -> str:
    """Make the changes of one step.

    Raises:
        MisplacedError: the text does not hold what would be taken out.
    """
    parts: list[str] = []
    done = 0
    for at, removed, inserted in step:
        if at < done or not text.startswith(removed, at) or at > len(text):
            raise MisplacedError
        parts += (text[done:at], inserted)
        done = at + len(removed)
    return "".join((*parts, text[done:]))


def inverse(step: Step) -> list[Splice]:
    """The step that takes another one back."""
    found: list[Splice] = []
    shift = 0
    for at, removed, inserted in step:
        found.append(Splice(at + shift, inserted, removed))
        shift += len(inserted) - len(removed)
    return found


def apply_all(text: str, steps: Iterable[Step]) -> str:
    """Make the changes of steps, one after the other."""
    for step in steps:
        text = apply(text, step)
    return text


def undo(text: str, steps: Sequence[Step]) -> str:
    """Take steps back, the last first.

    Raises:
        MisplacedError: the text is not what the steps made of another.
    """
    return apply_all(text, map(inverse, reversed(steps)))
