"""An in-memory index of vector signs, for processes that search a large place repeatedly."""

from collections.abc import Iterable, Sequence
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint64]
Array = TypeVar("Array", bound=NDArray[np.generic])

_BITS = 64  # bits per machine word
_NOWHERE = 0  # the place of dropped nodes


class NumpySignIndex:
    """Stores codes column by column, one array per machine word, and compares all at once.

    Each pair of a home and a kind is a place, identified by a number.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._words = -(-width * 8 // _BITS)
        self._count = 0
        self._nodes, self._at = np.empty(0, np.int64), np.empty(0, np.int32)
        self._codes: Codes = np.empty((self._words, 0), np.uint64)
        self._places: dict[tuple[int, str], int] = {}

    def put(self, home: int, kinds: Sequence[str], nodes: Sequence[int], codes: Sequence[bytes]) -> None:
        """Add or replace the codes of a home's nodes."""
        self.drop(nodes)
        self._make_room(len(nodes))
        places = {kind: self._places.setdefault((home, kind), len(self._places) + 1) for kind in set(kinds)}
        new = slice(self._count, self._count + len(nodes))
        self._at[new] = [places[kind] for kind in kinds]
        self._nodes[new] = nodes
        self._codes[:, new] = self._read(codes).T
        self._count = new.stop

    def drop(self, nodes: Iterable[int]) -> bool:
        """Drop nodes; return False if none of them was indexed."""
        found = self._are(nodes) & (self._at[: self._count] != _NOWHERE)
        self._at[: self._count][found] = _NOWHERE
        return bool(found.any())

    def among(self, nodes: Iterable[int], homes: Sequence[int], kinds: Sequence[str]) -> list[int]:
        """Return the indexed nodes that belong to the given homes and kinds."""
        return self._nodes[: self._count][self._are(nodes) & self._are_in(homes, kinds)].tolist()

    def nearest(self, code: bytes, homes: Sequence[int], kinds: Sequence[str], most: int) -> list[int]:
        """List the nodes of the given homes and kinds whose codes differ least; ties are ordered by id."""
        beyond = self._words * _BITS + 1  # greater than any distance
        distances = np.where(self._are_in(homes, kinds), self._distances(code), np.uint16(beyond))
        so_far = np.cumsum(np.bincount(distances, minlength=beyond + 1))
        farthest = min(int(np.searchsorted(so_far, most)), beyond - 1)
        near = np.flatnonzero(distances <= farthest)
        order = np.lexsort((self._nodes[near], distances[near]))[:most]
        return self._nodes[near[order]].tolist()

    def _distances(self, code: bytes) -> NDArray[np.uint16]:
        distances = np.zeros(self._count, np.uint16)
        for words, own in zip(self._codes, self._read([code])[0], strict=True):
            distances += np.bitwise_count(words[: self._count] ^ own)
        return distances

    def _are(self, nodes: Iterable[int]) -> NDArray[np.bool_]:
        known = self._nodes[: self._count]
        asked = np.fromiter(nodes, np.int64)
        is_asked = np.zeros(known.max(initial=0) + 1, np.bool_)
        is_asked[asked[asked < len(is_asked)]] = True
        return is_asked[known]

    def _are_in(self, homes: Sequence[int], kinds: Sequence[str]) -> NDArray[np.bool_]:
        is_meant = [False, *(home in homes and kind in kinds for home, kind in self._places)]
        return np.array(is_meant, np.bool_)[self._at[: self._count]]

    def _read(self, codes: Sequence[bytes]) -> Codes:
        padded = np.zeros((len(codes), self._words * _BITS // 8), np.uint8)
        padded[:, : self._width] = np.frombuffer(b"".join(codes), np.uint8).reshape(-1, self._width)
        return padded.view("<u8")

    def _make_room(self, more: int) -> None:
        """Double the capacity when full, removing dropped nodes."""
        if self._count + more <= len(self._nodes):
            return
        kept = np.flatnonzero(self._at[: self._count] != _NOWHERE)
        room = 2 * (len(kept) + more)
        self._nodes, self._at = _roomier(self._nodes, kept, room), _roomier(self._at, kept, room)
        self._codes, self._count = _roomier(self._codes, kept, room), len(kept)


def _roomier(array: Array, kept: NDArray[np.intp], room: int) -> Array:
    roomy = np.empty((*array.shape[:-1], room), array.dtype)
    roomy[..., : len(kept)] = array[..., kept]
    return cast("Array", roomy)
