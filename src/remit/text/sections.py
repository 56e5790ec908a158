"""Fits the sections of a text into a budget."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from remit.text.token_estimate import estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of a text; the section with the lowest `keep` is dropped first."""

    text: str
    keep: int


def assemble(sections: Sequence[Section], *, budget: int = sys.maxsize, tokens: int = sys.maxsize) -> str:
    """Join sections, dropping whole sections until the rest fits the budget."""
    kept = [section for section in sections if section.text]
    while len(text := "\n\n".join(section.text for section in kept)) > budget or estimate(text) > tokens:
        kept.remove(min(kept, key=lambda section: section.keep))
    return text
