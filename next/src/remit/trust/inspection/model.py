"""Scores sentences and definitions with two linear models over hashed n-grams and signs."""

import zlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remit.trust.inspection.signs import Read

BITS = 17
SIZE = 1 << BITS
_GRAMS, _SIGN, _WHOLE = 2.0, 0.2, 3.0  # how much features count
_SHORTEST, _LONGEST = 3, 5  # characters of a piece
_PHRASE = 3  # words
_LINE_BREAK = 10
_NUMBERS = 7  # before the weights: two scales, what else a model has
_FNV, _64_BITS = 1099511628211, (1 << 64) - 1

Ids = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Weights = NDArray[np.float32]


def _scattered(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return odd numbers that look random, the same on every machine."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return (numbers ^ (numbers >> np.uint64(31))) | np.uint64(1)


_LETTERS, _POSITIONS, _MIX = _scattered(
    np.arange(1, 769, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
).reshape(3, 256)
_IS_WORD = np.array([byte > 127 or chr(byte).isalnum() or chr(byte) in "'<>[]#" for byte in range(256)])


class Features(NamedTuple):
    """The features of sentences: those of n-grams, then those of signs."""

    ids: Ids
    owners: Ids  # the sentence of each
    values: Weights
    size: int  # how many sentences


class Model(NamedTuple):
    """The weights of both models, and the scores that count."""

    sentence: Weights
    whole: Weights
    sentence_bias: float
    whole_bias: float
    order: float  # of a sentence that is an order by itself
    high: float
    medium: float


def features(sentences: Sequence[Read]) -> Features:
    """Hash the words, phrases, pieces and signs of sentences."""
    lines = [f" {sentence.text} " for sentence in sentences]
    data = np.frombuffer("\n".join(lines).encode(errors="replace"), np.uint8)
    owner = np.cumsum(data == _LINE_BREAK)
    letters = _LETTERS[data]
    grams = [*_pieces(letters, owner), *_phrases(*_words(data, letters, owner))]
    signs = [
        (_hash(sign), at)
        for at, sentence in enumerate(sentences)
        for sign in (*sentence.signs, *sentence.runs)
    ]
    owners = np.concatenate([owners for _, owners in grams])
    lengths = np.maximum(np.bincount(owners, minlength=len(sentences)), 1)
    values = np.concatenate([(_GRAMS / np.sqrt(lengths))[owners], np.full(len(signs), _SIGN)])
    sign_hashes = np.array([sign for sign, _ in signs], np.uint64)
    mixed = np.concatenate([*(hashes for hashes, _ in grams), sign_hashes]) * _MIX[0]
    ids = (mixed >> np.uint64(64 - BITS)).astype(np.int64)
    owners = np.concatenate([owners, np.array([at for _, at in signs], np.int64)])
    return Features(ids, owners, values.astype(np.float32), len(sentences))


def _pieces(letters: Hashes, owner: Ids) -> list[tuple[Hashes, Ids]]:
    """Hash every few characters of each sentence."""
    pieces: list[tuple[Hashes, Ids]] = []
    running = letters
    for length in range(2, min(_LONGEST, len(letters)) + 1):
        running = running[:-1] * _MIX[4] + letters[length - 1 :]
        if length >= _SHORTEST:
            is_within = owner[: len(running)] == owner[length - 1 :]
            hashes = running[is_within]
            pieces.append(((hashes ^ (hashes >> np.uint64(29))) * _MIX[5], owner[: len(running)][is_within]))
    return pieces


def _words(data: NDArray[np.uint8], letters: Hashes, owner: Ids) -> tuple[Hashes, Ids]:
    """Hash each word of each sentence."""
    is_word = _IS_WORD[data]
    starts = np.flatnonzero(is_word[1:] & ~is_word[:-1]) + 1  # every sentence begins with a space
    if not len(starts):
        return np.zeros(0, np.uint64), np.zeros(0, np.int64)
    first = int(starts[0])
    position: Ids = np.arange(first, len(data)) - np.repeat(starts, np.diff(starts, append=len(data)))
    parts = np.where(is_word[first:], letters[first:] * _POSITIONS[position & 255], np.uint64(0))
    words = np.add.reduceat(parts, starts - first)
    return (words ^ (words >> np.uint64(31))) * _MIX[6], owner[starts]


def _phrases(words: Hashes, owner: Ids) -> list[tuple[Hashes, Ids]]:
    """Hash the phrases of each sentence."""
    phrases: list[tuple[Hashes, Ids]] = []
    for length in range(1, min(_PHRASE, len(words)) + 1):
        last = len(words) - length + 1
        hashes = np.full(last, _MIX[length])
        for at in range(length):
            hashes = hashes + words[at : at + last] * _MIX[8 + at]
        is_within = owner[:last] == owner[length - 1 :]
        phrases.append((hashes[is_within], owner[:last][is_within]))
    return phrases


@cache
def _hash(sign: str) -> int:
    value = 0
    for byte in sign.encode():
        value = (value * _FNV + byte + 77) & _64_BITS
    return value


def sentence_scores(model: Model, found: Features) -> NDArray[np.float64]:
    """Score sentences."""
    sums = np.bincount(found.owners, model.sentence[found.ids] * found.values, found.size)
    return (sums + model.sentence_bias).astype(np.float64)


def whole_features(ids: Ids) -> tuple[NDArray[np.int32], float]:
    """Return the features of a definition, each once, and their value."""
    ordered = np.sort(ids.astype(np.int32))
    unique = ordered[np.diff(ordered, prepend=-1) > 0]
    return unique, _WHOLE / max(len(unique), 1) ** 0.5


def whole_score(model: Model, found: Features) -> float:
    """Score a definition by all its features."""
    ids, value = whole_features(found.ids)
    return float(model.whole[ids].sum()) * value + model.whole_bias


@cache
def checksum() -> str:
    """Return what tells the weights that ship with Remit from others."""
    return f"{zlib.crc32(_weights()):08x}"


@cache
def bundled() -> Model:
    """Load the model that ships with Remit."""
    data = zlib.decompress(_weights())
    sentence_scale, whole_scale, *numbers = np.frombuffer(data, np.float32, _NUMBERS).tolist()
    tables = np.frombuffer(data, np.int8, offset=4 * _NUMBERS).reshape(2, SIZE).astype(np.float32)
    return Model(tables[0] * np.float32(sentence_scale), tables[1] * np.float32(whole_scale), *numbers)


def _weights() -> bytes:
    return files("remit.trust.inspection").joinpath("weights.bin").read_bytes()
