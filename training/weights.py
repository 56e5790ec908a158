"""Reads, writes and averages the weights of models, under the names that BERT's files use."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

PART = 14_000_000  # bytes of a stored file

Weights = dict[str, np.ndarray]


def average(weights: Sequence[Weights], shares: Sequence[float]) -> Weights:
    """The weighted mean of models that began from the same weights."""
    return {
        name: sum(share * one[name].astype(np.float32) for share, one in zip(shares, weights, strict=True))
        for name in weights[0]
    }


def read_weights(folder: Path, name: str) -> Weights:
    """Weights from one file, or from the parts that `write_weights` left."""
    whole = folder / f"{name}.npz"
    parts = [whole] if whole.exists() else sorted(folder.glob(f"{name}.npz.*"))
    with np.load(io.BytesIO(b"".join(part.read_bytes() for part in parts))) as stored:
        return {key: stored[key] for key in stored.files}


def write_weights(folder: Path, name: str, weights: Weights) -> None:
    """Weights in half precision, in parts that are short enough to be carried."""
    content = io.BytesIO()
    np.savez(content, **{key: value.astype(np.float16) for key, value in weights.items()})
    whole = content.getvalue()
    for number, start in enumerate(range(0, len(whole), PART)):
        (folder / f"{name}.npz.{number}").write_bytes(whole[start : start + PART])
