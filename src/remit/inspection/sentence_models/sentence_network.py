"""A small network that reads a sentence in its context, with numpy: two narrow layers of MiniLM and a head.

`training/inspection_network.py` fits it. It reads only what the linear model finds worth a second look.
"""

import io
import pkgutil
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from remit.inspection.sentence_models.blas_threads import one_thread
from remit.inspection.sentence_models.sentence_context import SentenceInContext
from remit.text.wordpiece import WordPiece

START, END = 101, 102  # ids of the marks around a sentence
MOST_PIECES = 64  # with the marks
MOST_OF_TOOL, MOST_OF_PURPOSE, MOST_BEFORE = 12, 16, 20  # pieces of what is around a sentence
SIZE = 32  # of a head
_MOST_SCORES = 1 << 12  # kept: the tools of a server repeat their schemas' texts
_TINY = np.float32(1e-12)

Floats = NDArray[np.float32]


class SentenceNetwork:
    """The weights of the network, and the scores of the last sentences."""

    def __init__(self, weights: Mapping[str, Floats], entries: Sequence[str]) -> None:
        self._weights = weights
        self._layers = sum(name.endswith(".mixed.weight") for name in weights)
        self._pieces = WordPiece(entries)
        self._scores: dict[SentenceInContext, float] = {}

    def score(self, sentence: SentenceInContext) -> float:
        """Return how much a sentence reads like an order to the model: the higher, the more."""
        if (known := self._scores.get(sentence)) is not None:
            return known
        if len(self._scores) >= _MOST_SCORES:
            self._scores.clear()
        with one_thread():
            score = self._scores[sentence] = self._read(sentence)
        return score

    def _read(self, sentence: SentenceInContext) -> float:
        """Read what is around a sentence as the mean of its words, and the sentence word by word."""
        pieces = self._pieces
        said = [*pieces(sentence.tool)[:MOST_OF_TOOL], *pieces(":"), *pieces(sentence.said)]
        words = self._words([START, *said[: MOST_PIECES - 2], END])
        around = (pieces(sentence.purpose)[:MOST_OF_PURPOSE], pieces(sentence.before)[:MOST_BEFORE])
        means = np.stack([self._words(ids).sum(axis=0) / max(len(ids), 1) for ids in around])
        places = self._weights["positions"][: len(words)]
        at = self._normed(np.concatenate([means + self._weights["around"], words + places]), "norm")
        for layer in range(self._layers):
            at = self._layer(at, f"{layer}.")
        return self._head(at[len(around) :])

    def _words(self, ids: Sequence[int]) -> Floats:
        at = np.array(ids, np.intp)
        return self._weights["words"][at] * self._weights["word_scales"][at]

    def _layer(self, at: Floats, name: str) -> Floats:
        length = len(at)
        three = self._dense(at, f"{name}attention").reshape(length, 3, -1, SIZE)
        query, key, value = three.transpose(1, 2, 0, 3)
        seen = query @ key.transpose(0, 2, 1)  # the fit put the factor for the width into the weights
        seen -= seen.max(axis=-1, keepdims=True)
        np.exp(seen, out=seen)
        seen /= seen.sum(axis=-1, keepdims=True)
        mixed = seen @ value
        mixed = self._dense(mixed.transpose(1, 0, 2).reshape(length, -1), f"{name}mixed")
        at = self._normed(at + mixed, f"{name}mixed_norm")
        inner = self._dense(gelu(self._dense(at, f"{name}inner")), f"{name}outer")
        return self._normed(at + inner, f"{name}outer_norm")

    def _head(self, at: Floats) -> float:
        """Weigh each word with its neighbors; the most telling one counts, and all of them a little."""
        said = gelu(self._dense(at, "narrow"))
        edge = np.zeros((1, said.shape[1]), np.float32)
        padded = np.concatenate([edge, said, edge])
        near = np.concatenate([padded[:-2], padded[1:-1], padded[2:]], axis=1)
        told = gelu(self._dense(near, "near")) + said
        return float(self._dense(np.concatenate([told.max(axis=0), told.mean(axis=0)]), "told")[0])

    def _dense(self, at: Floats, name: str) -> Floats:
        told = at @ self._weights[f"{name}.weight"]
        told += self._weights[f"{name}.bias"]
        return told

    def _normed(self, at: Floats, name: str) -> Floats:
        width = np.float32(at.shape[-1])
        at = at - at.sum(axis=-1, keepdims=True) / width
        at /= np.sqrt((at * at).sum(axis=-1, keepdims=True) / width + _TINY)
        at *= self._weights[f"{name}.weight"]
        at += self._weights[f"{name}.bias"]
        return at


def gelu(at: Floats) -> Floats:
    """Return the smooth step that the layers were trained with, by its usual approximation."""
    step = at * at
    step *= np.float32(0.7978845608 * 0.044715)
    step += np.float32(0.7978845608)
    step *= at
    np.tanh(step, out=step)
    step += 1
    step *= at
    step *= np.float32(0.5)
    return step


@lru_cache(maxsize=1)
def sentence_network() -> SentenceNetwork:
    """Load the bundled network."""
    return parse_network(pkgutil.get_data("remit.inspection", "data/sentence_network.npz") or b"")


def parse_network(content: bytes) -> SentenceNetwork:
    """Read weights; those of dense layers are bytes with a scale for each column."""
    with np.load(io.BytesIO(content)) as stored:
        arrays = {name: stored[name] for name in stored.files}
    entries = arrays.pop("entries").tobytes().decode().split("\n")
    scales = {name: arrays.pop(name) for name in list(arrays) if name.endswith(".scale")}
    weights = {name: each if name == "words" else each.astype(np.float32) for name, each in arrays.items()}
    for name, scale in scales.items():
        weights[name.removesuffix(".scale")] *= scale.astype(np.float32)
    return SentenceNetwork(weights, entries)
