"""Scores tools against a query by a table of word vectors, and adds the words they share."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from text import FIRST_WORD, MARK, NAME

Floats = NDArray[np.float32]

NAME_WEIGHT = 0.3  # of a tool's name's own vector, beside the whole tool's
WORD_WEIGHT = 0.025  # of the words' score, beside the cosine
STRONG_WORD_WEIGHT = 0.02  # the same beside the strong model's
PART_WEIGHT = 0.35  # of a query's best part, beside the whole query
_CUTS = frozenset((999, 1010, 1012, 1025, 1029, 1998, 2059))  # ! , . ; ? and then


class Table(NamedTuple):
    """Word vectors in eight bits, with each word's weight in a query and in a tool."""

    rows: NDArray[np.int8]
    query_scales: NDArray[np.float16]
    tool_scales: NDArray[np.float16]
    fields: Floats
    name: Floats  # weight of the name's own vector, beside the whole tool's

    @classmethod
    def load(cls, path: Path) -> "Table":
        """Read a table that `save` wrote."""
        with np.load(path) as stored:
            return cls(*(stored[name] for name in cls._fields))

    def save(self, path: Path) -> None:
        """Write the table; it does not compress, so it is not tried."""
        np.savez(path, **self._asdict())

    def query(self, ids: Sequence[int]) -> Floats:
        """The vector of a query's ids, pairs among them, of length one."""
        return unit(self._sum(ids, self.query_scales))

    def tool(self, ids: Sequence[int], marks: Sequence[int]) -> Floats:
        """A tool's vector with some more of its name's, of length one."""
        kept = [(i, field) for i, field in zip(ids, marks, strict=True) if field != MARK]
        factors = self.fields[[field for _, field in kept]]
        whole = self._sum([i for i, _ in kept], self.tool_scales, factors)
        name = self._sum([i for i, field in kept if field == NAME], self.tool_scales)
        return unit(unit(whole) + self.name * unit(name))

    def _sum(self, ids: Sequence[int], scales: NDArray[np.float16], factors: Floats | None = None) -> Floats:
        at = np.asarray(ids, np.int64) - FIRST_WORD
        weights = scales[np.maximum(at, 0)].astype(np.float32) * (at >= 0)
        if factors is not None:
            weights *= factors
        return weights @ self.rows[np.maximum(at, 0)].astype(np.float32)


def unit(vector: Floats) -> Floats:
    """A vector at length one; nothing stays nothing."""
    return vector / max(float(np.sqrt(vector @ vector)), 1e-12)


def parts(ids: Sequence[int]) -> list[list[int]]:
    """A query cut at its punctuation, `and` and `then`; nothing if that leaves it in one piece."""
    pieces: list[list[int]] = [[]]
    for i in ids:
        if i in _CUTS:
            pieces.append([])
        else:
            pieces[-1].append(i)
    long = [piece for piece in pieces if len(piece) >= 3]
    return long if len(long) > 1 else []
