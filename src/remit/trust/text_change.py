"""Judges a changed text: does it say something else, or something to the model?"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from remit.inspection.concepts import Concept
from remit.inspection.imperatives import is_order
from remit.inspection.inspector import read
from remit.inspection.passages import Passage
from remit.inspection.sentences import MAX_LENGTH, sentences
from remit.inspection.tool_mentions import InspectedDefinition
from remit.text.untrusted_text import one_line
from remit.text.words import split
from remit.trust.definition_pin import canonical_text

_WORD = re.compile(r"[^\W\d_]+")
_PATH = re.compile(r"(?:(?<!\w)~|\b[A-Za-z]:)?[\\/][\w.@\\/-]+")
_ADDRESS = re.compile(r"(?i)\b(?:https?|wss?|ftp|data|file)://|\bwww\.")
_COMMAND = re.compile(r"(?i)\b(?:always|never|must|do not|don't|first|before|instead|nobody|silently)\b")
_SECRET = re.compile(
    r"(?ix)(?<![^\W_])(?:secrets?|tokens?|(?:api|ssh|access|private)?keys?|passwords?|passwd|passphrases?"
    r"|credentials?|cookies?|dot[ ]?env|env|ssh|id[ ]rsa|gnupg|keychain|keyring)(?![^\W_])"
)
# Lengths of what a model reads and writes; an `access token limit` is still about a secret.
_MODEL_TOKENS = re.compile(
    r"(?ix)(?<![^\W_])(?:(?:max(?:imum)?|min(?:imum)?|many|input|output|prompt|completion)[ _-]?tokens"
    r"|(?:number|count|amount)[ ]of[ ](?:(?:input|output|prompt|completion|generated)[ ])?tokens"
    r"|(?<!\w[ _-])tokens[ ]to[ ](?:generate|produce|sample)"
    r"|(?<!\w[ _-])tokens?[ _-]?(?:counts?|limits?|budget))(?![^\W_])"
)
_RUN_TOGETHER = re.compile(r"[A-Za-z]{31,}")
_MOST_WORDS = 5  # of a name: a longer one is a sentence
_MOST_FOLDERS = 8  # words of a path: a longer one may be a sentence
_KEPT = 0.6  # share of the accepted words that the new text still has
_LONGER = 400  # characters by which a text may grow
_EXCERPT = 120
_OVERLAP = 200  # characters


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
    """Find the first new sentence that addresses the model: by a signal, a secret, an order or an address."""
    old = canonical_text(before)
    known, words = f" {_plain(old)} ", set(_plain(old, masks_paths=False).split())
    for reading in read(Passage(place=place, text=after), subject):
        if f" {_plain(reading.text)} " in known:
            continue
        why = reading.signals[0].reason if reading.signals else None
        if why is None and mentions_secret(reading.text):
            why = "mentions a secret"
        if why is None and any(_is_sentence(path) for path in _PATH.findall(reading.text) if path not in old):
            why = "has a path that reads like a sentence"
        if why is None and any(word not in old for word in _RUN_TOGETHER.findall(reading.text)):
            why = "runs words together"
        if why is None and not words.issuperset(_plain(reading.text, masks_paths=False).split()):
            why = "gives orders" if is_order(reading.text) else None
            why = "names an address" if _ADDRESS.search(reading.text) else why
        if why is not None:
            yield ChangePoint(place, True, f"{label} {why}: “{one_line(reading.text, _EXCERPT)}”")
            return


def name_points(place: str, label: str, name: str, subject: InspectedDefinition) -> Iterator[ChangePoint]:
    """Find out whether a new name or value, read as words, says something to the model."""
    words = split(name)
    if words.count(" ") >= _MOST_WORDS:
        yield ChangePoint(place, True, f"{label} is a sentence")
    elif mentions_secret(name):
        yield ChangePoint(place, True, f"{label} mentions a secret")
    else:
        signals = (
            signal
            for reading in read(Passage(place=place, text=words), subject)
            for signal in reading.signals
        )
        yield from (ChangePoint(place, True, f"{label} {signal.reason}") for signal in signals)


def mentions_secret(text: str) -> bool:
    """Return whether a text is about secrets, or names a file that holds some."""
    if any(_SECRET.search(_MODEL_TOKENS.sub(" ", each)) for each in (text, split(text))):
        return True
    return any(each.any(Concept.SECRET, Concept.PRIVATE_FILE) for each in sentences(text))


def commanding_sentence(text: str) -> str | None:
    """Find an order in a new description that is more than a hint about the tool's use."""
    parts = (part for part in re.split(r"(?<=[.!?:;])\s|\n", text) if _COMMAND.search(part))
    orders = (piece for part in parts for piece in _pieces(part) if is_order(piece))
    return next((one_line(piece, _EXCERPT) for piece in orders), None)


def _pieces(text: str) -> Iterator[str]:
    """Cut a long text into pieces that overlap: finding an order takes quadratic time."""
    return (text[at : at + MAX_LENGTH] for at in range(0, len(text), MAX_LENGTH - _OVERLAP))


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


def _plain(text: str, *, masks_paths: bool = True) -> str:
    """Return the words of a text in lower case, without numbers and ordinary paths."""
    masked = _PATH.sub(_masked, text) if masks_paths and "://" not in text else text
    return " ".join(_WORD.findall(canonical_text(masked).lower()))


def _masked(path: re.Match[str]) -> str:
    return path[0] if _is_sentence(path[0]) or mentions_secret(path[0]) else " path "


def _is_sentence(path: str) -> bool:
    return len(_WORD.findall(path)) > _MOST_FOLDERS
