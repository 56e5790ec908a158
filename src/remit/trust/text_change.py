"""Judges a changed text: does it say something else, or something to the model?"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from remit.inspection.imperatives import is_order
from remit.inspection.inspector import read
from remit.inspection.passages import Passage
from remit.inspection.tool_mentions import InspectedDefinition
from remit.text.foreign import one_line
from remit.trust.definition_pin import canonical_text

_WORD = re.compile(r"[^\W\d_]+")
_PATH = re.compile(r"(?:(?<!\w)~|\b[A-Za-z]:)?[\\/][\w.@\\/-]+")
_ADDRESS = re.compile(r"(?i)\b(?:https?|wss?|ftp|data|file)://|\bwww\.")
_COMMAND = re.compile(r"(?i)\b(?:always|never|must|do not|don't|first|before|instead|nobody|silently)\b")
_KEPT = 0.6  # share of the accepted words that the new text still has
_LONGER = 400  # characters by which a text may grow
_EXCERPT = 120


class ChangePoint(NamedTuple):
    """One difference between two definitions."""

    place: str  # such as `description`, without a word of the server
    matters: bool
    what: str  # for people


def text_points(
    place: str, label: str, before: str, after: str, subject: InspectedDefinition
) -> Iterator[ChangePoint]:
    """Judge a text that changed; `label` names it to people."""
    if (old := canonical_text(before)) == (new := canonical_text(after)):
        return
    if not new:
        yield ChangePoint(place, False, f"{label} is gone")
        return
    addressing = list(addressing_points(place, label, before, after, subject))
    yield from addressing or [ChangePoint(place, *_similarity(label, old, new))]


def addressing_points(
    place: str, label: str, before: str, after: str, subject: InspectedDefinition
) -> Iterator[ChangePoint]:
    """Find the first new sentence that addresses the model: by a signal, an order or an address."""
    old = canonical_text(before)
    known = f" {_plain(old)} "
    for reading in read(Passage(place=place, text=after), subject):
        if f" {_plain(reading.text)} " in known:
            continue
        why = reading.signals[0].reason if reading.signals else None
        if why is None and not _is_reworded(old, reading.text):
            why = "gives orders" if is_order(reading.text) else None
            why = "names an address" if _ADDRESS.search(reading.text) else why
        if why is not None:
            yield ChangePoint(place, True, f"{label} {why}: “{one_line(reading.text, _EXCERPT)}”")
            return


def commanding_sentence(text: str) -> str | None:
    """Find an order in a new description that is more than a hint about the tool's use."""
    sentences = (part for part in re.split(r"(?<=[.!?:;])\s|\n", text) if _COMMAND.search(part))
    return next((one_line(part, _EXCERPT) for part in sentences if is_order(part)), None)


def _similarity(label: str, old: str, new: str) -> tuple[bool, str]:
    """Compare the words of two texts that only describe."""
    if _plain(old) == _plain(new):
        return False, f"{label} differs in spelling, numbers or paths only"
    if not old:
        return True, f"{label} is new"
    words, kept = set(_plain(old).split()), set(_plain(new).split())
    if len(words & kept) < _KEPT * len(words):
        return True, f"{label} says something else"
    if len(new) > len(old) + max(_LONGER, len(old)):
        return True, f"{label} is much longer"
    return False, f"{label} is worded differently"


def _is_reworded(old: str, sentence: str) -> bool:
    """Return whether a sentence has only words, addresses included, that the accepted text has."""
    return set(_plain(sentence, masks_paths=False).split()) <= set(_plain(old, masks_paths=False).split())


def _plain(text: str, *, masks_paths: bool = True) -> str:
    """Return the words of a text in lower case, without numbers and paths."""
    masked = _PATH.sub(" path ", text) if masks_paths and "://" not in text else text
    return " ".join(_WORD.findall(canonical_text(masked).lower()))
