"""Adds up the vectors of the static table with numpy."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from remit.adapters.embeddings.sequences import MARK, NAME, Reading
from remit.adapters.embeddings.static import FIRST_WORD, Table, nothing
from remit.ports import Vector

Floats = NDArray[np.float32]


class Arrays:
    """The table as arrays, over the same memory."""

    def __init__(self, table: Table) -> None:
        self._rows = np.frombuffer(table.rows, np.int8).reshape(-1, table.width)
        # An id without a row counts nothing; all of them share the first one.
        self._query_scales = _from_the_first_id(table.query_scales)
        self._tool_scales = _from_the_first_id(table.tool_scales)
        whole = [*table.fields, 0.0]  # a mark counts nothing
        self._fields = np.array([whole, [float(field == NAME) for field in range(MARK + 1)]], np.float32)
        self._name = np.array(table.name, np.float32)
        self._no_query, self._no_tool = (np.array(nothing(table.width, run), "<f4") for run in (1, 2))

    def query(self, ids: Sequence[int]) -> Vector:
        """A query's vector."""
        at = np.array(ids, np.intp)
        return _bytes(_unit(self._query_scales[at] @ self._at(at)), self._no_query)

    def tool(self, reading: Reading) -> Vector:
        """A tool's vector, with some more of its name's."""
        at = np.array(reading.ids, np.intp)
        weights = self._tool_scales[at] * self._fields[:, reading.fields]
        whole, name = weights @ self._at(at)
        return _bytes(_unit(_unit(whole) + self._name * _unit(name)), self._no_tool)

    def _at(self, ids: NDArray[np.intp]) -> Floats:
        return self._rows[np.maximum(ids - FIRST_WORD, 0)].astype(np.float32)


def _from_the_first_id(scales: memoryview) -> Floats:
    return np.concatenate([np.zeros(FIRST_WORD), np.frombuffer(scales, "<f2")]).astype(np.float32)


def _unit(vector: NDArray[np.floating]) -> Floats:
    length = np.sqrt(vector @ vector)
    return (vector / length if length else vector).astype(np.float32, copy=False)


def _bytes(vector: Floats, fallback: Floats) -> Vector:
    return (vector if vector.any() else fallback).astype("<f4", copy=False).tobytes()
