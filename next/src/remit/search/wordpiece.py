"""The uncased WordPiece tokenizer of BERT, as the bundled models use it."""

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

PIECES = 30522  # size of BERT's vocabulary; our own words and pairs of words follow
UNKNOWN = 100
_LONGEST_WORD = 100  # characters; longer words are unknown
_MOST_KEPT = 50_000  # words in the cache

_ASCII_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")


class WordPiece:
    """A tokenizer over a vocabulary, with a cache of split words."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._entries = entries
        self._ids = dict(zip(entries, range(len(entries)), strict=True))
        self._cut: dict[str, list[int]] = {}

    def __call__(self, text: str) -> list[int]:
        """Return the ids of the pieces in a text."""
        whole, cut = self._ids, self._cut
        ids: list[int] = []
        for word in words(text):
            if (one := whole.get(word)) is not None:
                ids.append(one)
            else:
                ids += cut.get(word) or self._keep(word)
        return ids

    def pairs(self, ids: Sequence[int]) -> list[tuple[int, int]]:
        """List the entries for pairs of adjacent ids, each with the position of the second id."""
        if len(self._entries) == PIECES:
            return []
        names = [self._entries[i] for i in ids]
        joined = (self._ids.get(f"{first} {second}") for first, second in pairwise(names))
        return [(at, i) for at, i in enumerate(joined, start=1) if i is not None]

    def _keep(self, word: str) -> list[int]:
        if len(self._cut) >= _MOST_KEPT:
            self._cut.clear()
        pieces = self._cut[word] = self._pieces(word)
        return pieces

    def _pieces(self, word: str) -> list[int]:
        pieces: list[int] = []
        start, prefix = 0, ""
        while start < len(word) <= _LONGEST_WORD:
            end = next((e for e in range(len(word), start, -1) if self._is_piece(prefix + word[start:e])), 0)
            if not end:
                return [UNKNOWN]
            pieces.append(self._ids[prefix + word[start:end]])
            start, prefix = end, "##"
        return pieces or [UNKNOWN]

    def _is_piece(self, text: str) -> bool:
        return self._ids.get(text, PIECES) < PIECES  # our own words are never prefixes


def words(text: str) -> list[str]:
    """Split a text into lowercase words and punctuation, and remove accents."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    plain = unicodedata.normalize("NFD", text.translate(_CLEANED).lower())
    return plain.translate(_SPACED).split()


class _Cleaned(dict[int, str]):
    """Maps characters to cleaned text: spaces around ideographs, nothing for control characters."""

    def __missing__(self, code: int) -> str:
        c, kind = chr(code), unicodedata.category(chr(code))
        if c in "\t\n\r" or kind == "Zs":
            c = " "
        elif c == "\ufffd" or kind.startswith("C"):
            c = ""
        elif any(low <= code <= high for low, high in _IDEOGRAPHS):
            c = f" {c} "
        self[code] = c
        return c


class _Spaced(dict[int, str]):
    """Maps characters to spaced text: spaces around punctuation, nothing for accents."""

    def __missing__(self, code: int) -> str:
        c, kind = chr(code), unicodedata.category(chr(code))
        if kind == "Mn":
            c = ""
        elif c in "$+<=>^`|~" or kind.startswith("P"):
            c = f" {c} "
        self[code] = c
        return c


_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
_CLEANED, _SPACED = _Cleaned(), _Spaced()
