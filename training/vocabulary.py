"""Chooses the words and pairs of words that get rows of their own in the static table."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import log

from lexical import STOP_WORDS
from sets import Set
from text import FIRST_WORD, PIECES, WordPiece, words

WORDS, PAIRS = 3200, 2650  # at most
LONGEST = 6  # pieces of a word
SEEN = 2, 4  # places that a word, that a pair must be in: servers, or right tools of queries

Places = dict[tuple[str, ...], set[tuple[str, str]]]


def added(sets: Iterable[Set], vocabulary: list[str]) -> list[str]:
    """The entries to put after BERT's own: words that it cuts into pieces, then pairs of words."""
    places: Places = defaultdict(set)
    for place, text, asked in _texts(sets):
        found = words(text)
        # Many queries of a set come from one mould: what they have side by side says little.
        for gram in (*((word,) for word in found), *(() if asked else pairwise(found))):
            places[gram].add(place)
    often = {gram: len(where) for gram, where in places.items() if len(where) >= SEEN[len(gram) - 1]}
    new = _cut_words(often, WordPiece(vocabulary))
    return new + _pairs(often, WordPiece(vocabulary + new))


def pieces(vocabulary: list[str]) -> list[list[int]]:
    """What the strong model reads in place of each added word; nothing for a pair."""
    tokenize = WordPiece(vocabulary[:PIECES])
    return [[] if " " in entry else tokenize(entry) for entry in vocabulary[PIECES:]]


def _texts(sets: Iterable[Set]) -> Iterator[tuple[tuple[str, str], str, bool]]:
    """All texts, with the server that each is of or a tool that answers it, and whether it is a query."""
    for one in sets:
        for tool in one.tools:
            place = (one.name, tool.server or tool.id)
            for text in (tool.fields.name, tool.fields.server, tool.fields.description, *tool.fields.params):
                yield place, text, False
        for query in one.queries:
            yield (one.name, query.relevant[0]), query.text, True


def _cut_words(often: dict[tuple[str, ...], int], tokenize: WordPiece) -> list[str]:
    found = [
        (-count, word)
        for (word, *rest), count in often.items()
        if not rest and word.isascii() and word.isalnum() and not word.isdigit()
        if 1 < len(tokenize(word)) <= LONGEST
    ]
    return [word for _, word in sorted(found)[:WORDS]]


def _pairs(often: dict[tuple[str, ...], int], tokenize: WordPiece) -> list[str]:
    """The pairs of telling words that are seen most, those seen together more than apart before others."""
    total = sum(count for gram, count in often.items() if len(gram) == 1)
    found = []
    for gram, count in often.items():
        if len(gram) == 2 and all(_telling(word, tokenize) for word in gram):
            lift = log(count * total / (often[gram[:1]] * often[gram[1:]]))
            found.append((-count * lift, " ".join(gram)))
    return [pair for _, pair in sorted(found)[:PAIRS]]


def _telling(word: str, tokenize: WordPiece) -> bool:
    if word in STOP_WORDS or len(word) < 2 or not word.isascii() or not word.isalpha():
        return False
    ids = tokenize(word)
    return len(ids) == 1 and ids[0] >= FIRST_WORD
