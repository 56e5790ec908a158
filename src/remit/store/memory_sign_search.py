"""Finds artifacts by the signs of their vectors: in SQL, or in memory, where a large place is searched again.

A process that asks once is done before memory would be filled. One that asks again holds the codes, and reads
before each search those that came since; what is gone by then is found out by whoever reads the vectors.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from remit.memory.artifacts import ArtifactKind
from remit.memory.ports import Home
from remit.store.database import Database


class SignIndex(Protocol):
    """Holds codes in memory."""

    def put(self, home: int, kinds: Sequence[str], nodes: Sequence[int], codes: Sequence[bytes]) -> None: ...

    def drop(self, nodes: Iterable[int]) -> bool: ...

    def among(self, nodes: Iterable[int], homes: Sequence[int], kinds: Sequence[str]) -> list[int]: ...

    def nearest(self, code: bytes, homes: Sequence[int], kinds: Sequence[str], most: int) -> list[int]: ...


OpenSignIndex = Callable[[int], SignIndex]  # for codes of so many bytes


class _State(NamedTuple):
    """What the codes in the store are."""

    model: str
    width: int | None  # None: there are none


class SignSearch:
    """The codes of artifacts, and those of the places that were searched more than once in memory."""

    def __init__(self, database: Database, open_held: OpenSignIndex | None) -> None:
        self._database = database
        self._open_held = open_held
        self._searched: set[int] = set()
        self._held: SignIndex | None = None
        self._of: _State | None = None
        self._rounds: dict[int, int] = {}  # by home, up to which its codes are held

    def nearest(
        self, code: bytes, homes: Sequence[Home], kinds: Sequence[ArtifactKind], most: int, *, is_large: bool
    ) -> list[int]:
        """Name the artifacts whose codes differ least from a query's."""
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
        """Name the artifacts of some homes and kinds among those that are held: that never changes."""
        return [] if self._held is None else self._held.among(nodes, [home.id for home in homes], kinds)

    def drop(self, nodes: Iterable[int]) -> bool:
        """Hold nodes no longer that are gone; False where they were not held."""
        return self._held is not None and self._held.drop(nodes)

    def _synchronised(
        self, state: _State, homes: Sequence[int], last: int, open_held: OpenSignIndex
    ) -> SignIndex:
        if self._held is None or self._of != state:
            self._held, self._of, self._rounds = open_held(state.width or 0), state, {}
        for home in homes:
            known = self._rounds.get(home, -1)
            if known < last:
                rows = self._database.rows("memory_codes_since", home=home, round=known)
                kinds, nodes, codes, rounds = zip(*rows, strict=True) if rows else ((), (), (), ())
                self._held.put(home, kinds, nodes, codes)
                self._rounds[home] = max(last, max(rounds, default=last))
        return self._held
