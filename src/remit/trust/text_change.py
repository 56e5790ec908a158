"""Judges a changed text: it is harmless only if it still says the same, and people read what it says now."""

import re
from collections import Counter
from typing import NamedTuple

from remit.inspection.inspector import read
from remit.inspection.passages import Passage
from remit.inspection.rules.combined_signs import Reading
from remit.inspection.tool_mentions import InspectedDefinition
from remit.inspection.vocabulary.imperatives import is_order
from remit.inspection.vocabulary.sentences import parts
from remit.text.untrusted_text import one_line
from remit.trust.definition_pin import canonical_text
from remit.trust.same_text import mentions_secret, same_text

_ADDRESS = re.compile(
    r"(?i)\b(?:https?|wss?|ftp|data|file)://|\bwww\.|\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b|\w@\w+\.\w"
    r"|\b[a-z0-9-]{1,63}\.(?:com|net|org|io|dev|app|ai|co|example|test|local|internal)\b"
)
_EXCERPT = 120


class ChangePoint(NamedTuple):
    """One difference between two definitions."""

    place: str  # such as `description`, without a word of the server
    matters: bool
    what: str  # for people


def text_point(
    place: str, label: str, before: str, after: str, subject: InspectedDefinition, *, may_vary: bool
) -> ChangePoint:
    """Judge a text that changed; `label` names it to people."""
    if same_text(before, after, may_vary=may_vary):
        return ChangePoint(place, False, f"{label} has the same words")
    return ChangePoint(place, True, f"{label} {_difference(place, before, after, subject)}")


def names_address(text: str) -> bool:
    """Return whether a text names a web address, a host or a mail address."""
    return _ADDRESS.search(text) is not None


def _difference(place: str, before: str, after: str, subject: InspectedDefinition) -> str:
    """Quote the first new sentence that addresses the model, or else the first one that differs."""
    old, new = canonical_text(before), canonical_text(after)
    if not new:
        return "is gone"
    readings = read(Passage(place=place, text=after), subject)
    fresh = [each for each in readings if canonical_text(each.text) not in old]
    told = next(((why, each.text) for each in fresh if (why := _addressing(each))), None)
    if told is None and fresh:
        told = ("says something else" if old else "is new"), fresh[0].text
    if told is None:
        told = _lost(old, new) or _repeated(old, new) or ("has its sentences in another order", new)
    return f"{told[0]}: “{one_line(told[1], _EXCERPT)}”"


def _lost(old: str, new: str) -> tuple[str, str] | None:
    return next((("no longer says", each) for each in parts(old) if each.strip() not in new), None)


def _repeated(old: str, new: str) -> tuple[str, str] | None:
    """Tell which sentence a text has more or less often than before."""
    before, after = (Counter(each.strip() for each in parts(text)) for text in (old, new))
    more, less = after - before, before - after
    if more:
        return "repeats", next(iter(more))
    return ("repeats less often", next(iter(less))) if less else None


def _addressing(reading: Reading) -> str | None:
    """Tell how a sentence addresses the model: by a signal, a secret, an address or an order."""
    if reading.rules:
        return reading.rules[0].reason
    if mentions_secret(reading.text):
        return "mentions a secret"
    if names_address(reading.text):
        return "names an address"
    return "gives orders" if is_order(reading.text) else None
