"""Looks up which phrases of the vocabulary start with a word."""

from collections.abc import Collection, Iterable
from functools import lru_cache

from remit.inspection.vocabulary.concepts import WORDS, Concept
from remit.inspection.vocabulary.foreign_words import SPACED

Phrase = tuple[tuple[str, ...], tuple[Concept, ...]]  # the words after the first, and what the phrase means


def _phrases(tables: Iterable[dict[Concept, str]]) -> dict[str, dict[tuple[str, ...], list[Concept]]]:
    found: dict[str, dict[tuple[str, ...], list[Concept]]] = {}
    for table in tables:
        for concept, phrases in table.items():
            for first, *rest in map(str.split, phrases.split(",")):
                found.setdefault(first, {}).setdefault(tuple(rest), []).append(concept)
    return found


_ALL = _phrases((WORDS, SPACED))
_EXACT: dict[str, tuple[Phrase, ...]] = {
    first: tuple((rest, tuple(dict.fromkeys(concepts))) for rest, concepts in found.items())
    for first, found in _ALL.items()
}
_STEMS = tuple((first[:-1], tuple(found[()])) for first, found in _ALL.items() if first.endswith("*"))
_ALL_STEMS = tuple(stem for stem, _ in _STEMS)
_FOREIGN = frozenset(_phrases((SPACED,))) - frozenset(_phrases((WORDS,)))


_TELLING = (
    *(Concept.IGNORE, Concept.MODEL, Concept.SYSTEM_PROMPT, Concept.TELL, Concept.KNOW, Concept.SECRETLY),
    *(Concept.LEAK, Concept.LASTING, Concept.CONSENT, Concept.OTHER, Concept.PRAISE, Concept.CHOOSE),
    *(
        Concept.BLAME,
        Concept.OUTSIDE,
        Concept.SECRET,
        Concept.CONVERSATION,
        Concept.PERSONAL,
        Concept.PRETEND,
    ),
    *(Concept.OBEY, Concept.TAMPER, Concept.MUST, Concept.BEFORE, Concept.WHENEVER),
)
_POSES = frozenset({"system", "developer", "admin", "root", "hidden"})
_TELLING_WORDS = _POSES | _FOREIGN | frozenset(_phrases([{concept: WORDS[concept] for concept in _TELLING}]))


@lru_cache(maxsize=1 << 14)
def phrases_from(word: str) -> tuple[Phrase, ...]:
    """Return the phrases that start with a word in lower case."""
    exact = _EXACT.get(word) or _EXACT.get(word.removesuffix("'s"), ())
    if not word.startswith(_ALL_STEMS):
        return exact
    return (*exact, *(((), concepts) for stem, concepts in _STEMS if word.startswith(stem)))


def is_telling(words: Collection[str]) -> bool:
    """Return whether words may steer a model; most sentences only describe, and need no closer look."""
    return not _TELLING_WORDS.isdisjoint(words) or any(map(_has_stem, words))


@lru_cache(maxsize=1 << 14)
def _has_stem(word: str) -> bool:
    return word.startswith(_ALL_STEMS)


def is_foreign(word: str) -> bool:
    """Return whether a word belongs to the vocabulary of another language only."""
    return word in _FOREIGN


def has_foreign_words(words: Iterable[str]) -> bool:
    """Return whether several words belong to other languages."""
    return len(_FOREIGN.intersection(words)) > 1
