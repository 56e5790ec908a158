"""Turns tools and queries into the token sequences that the search models read."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

UNKNOWN, START, END = 100, 101, 102
OPEN, CLOSE, COMMA, COLON, BAR = 1006, 1007, 1010, 1024, 1064
PIECES = 30522  # entries of BERT's vocabulary
FIRST_WORD = 999  # lower ids are special or unused: they have no row in the static table

NAME, SERVER, FIRST, REST, PARAMS, MARK = range(6)  # the field of a token; MARK: brackets, commas, ends

QUERY_LENGTH, TOOL_LENGTH = 64, 128
LIMITS = {NAME: 20, SERVER: 10, FIRST: 56, PARAMS: 32}  # tokens per field; REST takes what is left

_LOWER_UPPER = re.compile(r"([a-z0-9])([A-Z])")
_UPPER_WORD = re.compile(r"([A-Z]+)([A-Z][a-z])")
_NOT_WORD = re.compile(r"[\W_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")
_SPACES = re.compile(r"\s+")


class Fields(NamedTuple):
    """What search reads of a tool, as text."""

    name: str
    server: str
    description: str
    params: tuple[str, ...]
    details: str

    @property
    def first(self) -> str:
        """The description's first sentence."""
        return _SENTENCE_END.split(self.description, maxsplit=1)[0]

    @property
    def rest(self) -> str:
        """The description after its first sentence."""
        return self.description[len(self.first) :].strip()


class Segments(NamedTuple):
    """A tool's fields as token ids, in the order of the field numbers."""

    name: Sequence[int]
    server: Sequence[int]
    first: Sequence[int]
    rest: Sequence[int]
    params: Sequence[int]


def split(identifier: str) -> str:
    """Write an identifier as words: `listDBIndexes_v2` is `list DB Indexes v2`."""
    spaced = _UPPER_WORD.sub(r"\1 \2", _LOWER_UPPER.sub(r"\1 \2", identifier))
    return _NOT_WORD.sub(" ", spaced).strip()


def fields(name: str, server: str, description: str, params: Iterable[tuple[str, str]]) -> Fields:
    """Cut a tool down to what search reads; parameters come with their descriptions."""
    params = list(params)
    return Fields(
        name=split(name),
        server=split(server)[:60],
        description=_SPACES.sub(" ", description).strip()[:1200],
        params=tuple(filter(None, (split(name) for name, _ in params)))[:20],
        details=" ".join(text for _, text in params)[:600],
    )


class WordPiece:
    """The uncased WordPiece tokenizer of BERT, with each word's pieces kept once found.

    Entries after BERT's own are words that it would cut into pieces, and pairs of words with a space between.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {piece: i for i, piece in enumerate(vocabulary[:PIECES])}
        added = list(enumerate(vocabulary))[PIECES:]
        self._words: dict[str, list[int]] = {word: [i] for i, word in added if " " not in word}
        self._pairs = {tuple(self(pair)): i for i, pair in added if " " in pair}

    def __call__(self, text: str) -> list[int]:
        """The ids of a text's pieces, without start and end."""
        known = self._words
        ids: list[int] = []
        for word in words(text):
            pieces = known.get(word)
            if pieces is None:
                pieces = known[word] = self._pieces(word)
            ids += pieces
        return ids

    def pairs(self, ids: Sequence[int]) -> list[int]:
        """What is known of two ids side by side, in place of the second; 0 where nothing is."""
        return [0, *(self._pairs.get(both, 0) for both in pairwise(ids))]

    def segments(self, tool: Fields) -> Segments:
        """A tool's fields as token ids, each at its full length."""
        params: list[int] = []
        for param in tool.params:
            params += [COMMA, *self(param)] if params else self(param)
        return Segments(self(tool.name), self(tool.server), self(tool.first), self(tool.rest), params)

    def _pieces(self, word: str) -> list[int]:
        pieces: list[int] = []
        start, prefix = 0, ""
        while start < len(word) <= 100:
            end = next((e for e in range(len(word), start, -1) if prefix + word[start:e] in self._ids), 0)
            if not end:
                return [UNKNOWN]
            pieces.append(self._ids[prefix + word[start:end]])
            start, prefix = end, "##"
        return pieces or [UNKNOWN]


def query_sequence(ids: Sequence[int]) -> list[int]:
    """A query's ids with start and end."""
    return [START, *ids[: QUERY_LENGTH - 2], END]


def tool_sequence(tool: Segments, without: int | None = None) -> tuple[list[int], list[int]]:
    """The ids `[CLS] name ( server ) : first rest | params [SEP]` and the field of each.

    A field given as `without` is left out; so are the brackets and the bar around nothing.
    """
    cut = {f: [] if f == without else list(tool[f][:limit]) for f, limit in LIMITS.items()}
    parts = [([START], MARK), (cut[NAME], NAME)]
    if cut[SERVER]:
        parts += [([OPEN], MARK), (cut[SERVER], SERVER), ([CLOSE], MARK)]
    parts += [([COLON], MARK), (cut[FIRST], FIRST)]
    tail = [([BAR], MARK), (cut[PARAMS], PARAMS)] if cut[PARAMS] else []
    tail.append(([END], MARK))
    room = TOOL_LENGTH - sum(len(ids) for ids, _ in parts + tail)
    rest = [] if without == REST else list(tool.rest[:room])
    return _joined([*parts, (rest, REST), *tail])


def _joined(parts: list[tuple[list[int], int]]) -> tuple[list[int], list[int]]:
    ids = [i for part, _ in parts for i in part]
    # A parameter's name holds no comma of its own: the commas there are marks.
    marks = [MARK if field == PARAMS and i == COMMA else field for part, field in parts for i in part]
    return ids, marks


def words(text: str) -> list[str]:
    """The words and signs of a text, in small letters and without accents."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    spaced = "".join(f" {c} " if _is_ideograph(c) else _clean(c) for c in text)
    plain = (c for c in unicodedata.normalize("NFD", spaced.lower()) if unicodedata.category(c) != "Mn")
    return "".join(f" {c} " if _is_punctuation(c) else c for c in plain).split()


_ASCII_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")


def _clean(c: str) -> str:
    if c in "\t\n\r" or unicodedata.category(c) == "Zs":
        return " "
    return "" if c == "\ufffd" or unicodedata.category(c).startswith("C") else c


def _is_punctuation(c: str) -> bool:
    return c in "$+<=>^`|~" or unicodedata.category(c).startswith("P")


def _is_ideograph(c: str) -> bool:
    code = ord(c)
    return code >= 0x3400 and any(low <= code <= high for low, high in _IDEOGRAPHS)


_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
