"""What the network reads of a sentence: its words, the tool's name and purpose, and the sentence before."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from remit.inspection.sentence_models.sentence_words import ToolHome, plain_text
from remit.text.words import split

_MOST_OF_TOOL = 5  # words of the tool's name
_DESCRIBING = ("description", "title")
_GLUE = re.compile(r"[^a-z0-9]+")


class SentenceInContext(NamedTuple):
    """A sentence and what is around it, in words that a network knows."""

    tool: str
    purpose: str  # the first sentence of the description
    before: str  # the sentence before, or the place of the first one
    said: str


def in_context(
    sentences: Sequence[str], at: int, place: str, description: Sequence[str], home: ToolHome
) -> SentenceInContext:
    """Put one of the sentences of a passage into its context; a text that was read already counts once."""
    said = plain_text(sentences[at], home)
    before = plain_text(sentences[at - 1], home) if at else _named(place)
    purpose = plain_text(description[0], home) if description else ""
    tool = " ".join([word for word in home.name.split("_") if word][:_MOST_OF_TOOL])
    return SentenceInContext(tool, "" if purpose in (said, before) else purpose, before, said)


def _named(place: str) -> str:
    """Return a place in words; a description and a title need none."""
    if place in _DESCRIBING:
        return ""
    return " ".join(filter(None, _GLUE.split(split(place).lower())))
