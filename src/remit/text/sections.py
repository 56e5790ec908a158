"""Sections of a text with a budget: when space is short, whole sections go."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from remit.text.token_estimate import estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the session context; when space is short, the lowest `keep` goes first."""

    text: str
    keep: int


def assemble(sections: Sequence[Section], *, budget: int = sys.maxsize, tokens: int = sys.maxsize) -> str:
    """Join sections, dropping whole ones until the rest fits."""
    kept = [section for section in sections if section.text]
    while len(text := "\n\n".join(section.text for section in kept)) > budget or estimate(text) > tokens:
        kept.remove(min(kept, key=lambda section: section.keep))
    return text
