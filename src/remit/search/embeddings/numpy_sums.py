"""Sums the vectors of the static table with numpy."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from remit.search.embeddings.static_embedder import FIRST_WORD, EmbeddingTable, fallback_vector
from remit.search.embeddings.token_sequences import MARK, NAME, TokenSequence
from remit.search.ports import Vector

Floats = NDArray[np.float32]

_BATCH = 1024  # tools per batch
_LEAST = np.float32(1e-12)  # avoids division by zero


class NumpySums:
    """The embedding table as numpy arrays that share its memory."""

    def __init__(self, table: EmbeddingTable) -> None:
        self._rows = np.frombuffer(table.rows, np.int8).reshape(-1, table.width)
        # Ids without a row use the first row with scale zero.
        self._query_scales = _from_the_first_id(table.query_scales)
        self._tool_scales = _from_the_first_id(table.tool_scales)
        whole = [*table.fields, 0.0]  # marks have weight zero
        self._fields = np.array([whole, [float(field == NAME) for field in range(MARK + 1)]], np.float32)
        self._name = np.array(table.name, np.float32)
        self._no_query, self._no_tool = (np.array(fallback_vector(table.width, run), "<f4") for run in (1, 2))

    def query(self, ids: Sequence[int]) -> Vector:
        """Embed a query."""
        at = np.array(ids, np.intp)
        return _vectors(self._query_scales[at] @ self._at(at), self._no_query)[0]

    def tools(self, readings: Sequence[TokenSequence]) -> list[Vector]:
        """Embed tools, giving extra weight to their names."""
        starts = range(0, len(readings), _BATCH)
        return [vector for start in starts for vector in self._tools(readings[start : start + _BATCH])]

    def _tools(self, readings: Sequence[TokenSequence]) -> list[Vector]:
        sums = np.empty((len(readings), 2, self._rows.shape[1]), np.float32)
        for both, (ids, fields) in zip(sums, readings, strict=True):
            at = np.array(ids, np.intp)
            np.matmul(self._tool_scales[at] * self._fields[:, fields], self._at(at), out=both)
        whole, name = _units(sums[:, 0]), _units(sums[:, 1])
        return _vectors(whole + self._name * name, self._no_tool)

    def _at(self, ids: NDArray[np.intp]) -> Floats:
        return self._rows[np.maximum(ids - FIRST_WORD, 0)].astype(np.float32)


def _from_the_first_id(scales: memoryview) -> Floats:
    return np.concatenate([np.zeros(FIRST_WORD), np.frombuffer(scales, "<f2")]).astype(np.float32)


def _units(rows: NDArray[np.floating]) -> Floats:
    lengths = np.sqrt((rows * rows).sum(axis=-1, keepdims=True))
    return (rows / np.maximum(lengths, _LEAST)).astype(np.float32, copy=False)


def _vectors(rows: NDArray[np.floating], fallback: Floats) -> list[Vector]:
    units = _units(np.atleast_2d(rows)).astype("<f4", copy=False)
    return [(unit if unit.any() else fallback).tobytes() for unit in units]
