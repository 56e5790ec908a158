"""Finds artifacts by their vector signs: in SQL first, in memory once a large place is searched again.

An in-memory index does not pay off for a process that searches once. A process that searches again keeps
the codes and reads new ones before each search. The caller notices deleted artifacts when reading vectors.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remit.memory.artifacts import ArtifactKind, Home
from remit.store.database import Database

if TYPE_CHECKING:
    from remit.search.binary_vector_index import NumpySignIndex

OpenSignIndex = Callable[[int], "NumpySignIndex"]  # takes the length of a code in bytes


class _State(NamedTuple):
    """The model and length of the stored codes."""

    model: str
    width: int | None  # None: no codes


class SignSearch:
    """Searches the codes of artifacts, in memory for places that were searched before."""

    def __init__(self, database: Database, open_sign_index: OpenSignIndex | None) -> None:
        self._database = database
        self._open_held = open_sign_index
        self._searched: set[int] = set()
        self._held: NumpySignIndex | None = None
        self._of: _State | None = None
        self._rounds: dict[int, int] = {}  # the last round in memory, by home

    def nearest(
        self, code: bytes, homes: Sequence[Home], kinds: Sequence[ArtifactKind], most: int, *, is_large: bool
    ) -> list[int]:
        """List the artifacts whose codes differ least from the query's code."""
        found = self._database.rows("memory_codes_state")
        if not found or found[0][1] != len(code):
            return []
        model, width, last = found[0]
        ids = [home.id for home in homes]
        if self._open_held is not None and is_large and self._searched.issuperset(ids):
            held = self._synchronised(_State(model, width), ids, last, self._open_held)
            return held.nearest(code, ids, kinds, most)
        self._searched.update(ids)
        among = {"homes": json.dumps(ids), "kinds": json.dumps(kinds)}
        return [id for (id,) in self._database.rows("memory_by_code", code=code, most=most, **among)]

    def among(self, nodes: Iterable[int], homes: Sequence[Home], kinds: Sequence[ArtifactKind]) -> list[int]:
        """List the artifacts in memory that belong to the given homes and kinds, which never change."""
        return [] if self._held is None else self._held.among(nodes, [home.id for home in homes], kinds)

    def drop(self, nodes: Iterable[int]) -> bool:
        """Drop deleted nodes from memory; False if none was in memory."""
        return self._held is not None and self._held.drop(nodes)

    def _synchronised(
        self, state: _State, homes: Sequence[int], last: int, open_sign_index: OpenSignIndex
    ) -> "NumpySignIndex":
        if self._held is None or self._of != state:
            self._held, self._of, self._rounds = open_sign_index(state.width or 0), state, {}
        for home in homes:
            known = self._rounds.get(home, -1)
            if known < last:
                rows = self._database.rows("memory_codes_since", home=home, round=known)
                kinds, nodes, codes, rounds = zip(*rows, strict=True) if rows else ((), (), (), ())
                self._held.put(home, kinds, nodes, codes)
                self._rounds[home] = max(last, max(rounds, default=last))
        return self._held
