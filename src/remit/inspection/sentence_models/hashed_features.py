"""Hashed features of a sentence: pairs of neighboring words, and pieces of words.

They know more than a list of words can hold: unseen words share pieces with known ones.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise, repeat
from zlib import crc32

SIZE = 1 << 18  # of each table
PairEnds = tuple[bytes, int, int]  # a word, and the checksums of pairs up to their second word
_LENGTHS = (4, 5)  # letters of a piece, with a mark at each end of the word


def pairs_of(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Return the pairs of words that follow each other, directly or with one word between."""
    said = ("^", *words, "$")
    return chain(pairwise(said), zip(said, repeat("_"), said[2:], strict=False))


def pieces_of(word: str) -> Iterator[str]:
    """Return the pieces of a word; kinds such as `<path>` have none."""
    if word[0] != "<":
        marked = f"^{word}$"
        for length in _LENGTHS:
            yield from (f"c{marked[at : at + length]}" for at in range(len(marked) - length + 1))


def pair_slot(pair: Sequence[str]) -> int:
    """Return the place of a pair in its table."""
    return crc32(" ".join(pair).encode()) % SIZE


def pair_slots(words: Sequence[PairEnds]) -> list[int]:
    """Return the places of a sentence's pairs in their table; each pair counts once."""
    said = [_START, *words, _END]
    found = {crc32(second, before) for (_, before, _), (second, _, _) in pairwise(said)}
    found.update([crc32(third, gap) for (_, _, gap), (third, _, _) in zip(said, said[2:], strict=False)])
    return [each % SIZE for each in found]


def pair_ends(word: str) -> PairEnds:
    """Return what a word adds to the checksums of its pairs, so that each takes one step."""
    text = word.encode()
    return text, crc32(text + b" "), crc32(text + b" _ ")


def piece_slots(word: str) -> list[int]:
    """Return the places of a word's pieces in their table."""
    return [crc32(piece.encode()) % SIZE for piece in pieces_of(word)]


_START, _END = pair_ends("^"), pair_ends("$")
