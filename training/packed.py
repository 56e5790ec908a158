"""Keeps lists of lists of numbers as two flat arrays each, in one compressed file."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Packed:
    """What `prepare.py` wrote, read back by name."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as stored:
            self._arrays = {name: stored[name] for name in stored.files}
        self.meta: dict[str, Any] = json.loads(self._arrays.pop("meta").tobytes())

    def array(self, name: str) -> NDArray[Any]:
        """A plain array."""
        return self._arrays[name]

    def lists(self, name: str) -> list[list[int]]:
        """A list of lists."""
        flat, ends = self._arrays[f"{name}/flat"].tolist(), np.cumsum(self._arrays[f"{name}/sizes"]).tolist()
        return [flat[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def pack(name: str, rows: Iterable[Sequence[int]], kind: Any = np.uint16) -> dict[str, NDArray[Any]]:
    """The arrays that hold a list of lists."""
    rows = list(rows)
    flat = np.fromiter((i for row in rows for i in row), np.int64)
    if len(flat) and flat.max() > np.iinfo(kind).max:
        raise ValueError(f"{name} holds {flat.max()}, too large for {np.dtype(kind).name}")
    sizes = np.fromiter(map(len, rows), np.uint16)
    return {f"{name}/flat": flat.astype(kind), f"{name}/sizes": sizes}


def write(path: Path, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> None:
    """Write arrays and what there is to say about them."""
    text = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    np.savez_compressed(path, meta=text, **arrays)
