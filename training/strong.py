"""Measures an exported strong model on the sets to choose on: `strong.py BUILD ONNX`, with onnxruntime."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from evaluate import show
from measure import DevSet, dev_sets, measure, summary
from packed import Packed
from score import STRONG_WORD_WEIGHT
from text import query_sequence

BATCH = 32
TIMED = 200  # queries


class Strong:
    """The model, on a number of threads."""

    def __init__(self, path: Path, threads: int) -> None:
        options: Any = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self._session: Any = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def __call__(self, texts: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """The vectors of texts; those of like length go together."""
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        vectors: dict[int, NDArray[np.float32]] = {}
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            vectors |= dict(zip(batch, self._run([texts[at] for at in batch]), strict=True))
        return np.stack([vectors[at] for at in range(len(texts))])

    def _run(self, texts: list[Sequence[int]]) -> NDArray[np.float32]:
        ids = np.zeros((len(texts), max(map(len, texts))), np.int64)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text)] = text
        return self._session.run(["vectors"], {"ids": ids, "mask": (ids > 0).astype(np.int64)})[0]


def main() -> None:
    """Print what the model reaches alone and with the words, and how long a query takes it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("strong", type=Path)
    parser.add_argument("--threads", type=int, default=2, help="for the figures; a query is timed on one")
    parser.add_argument("--sets", nargs="*", default=(), help="only these sets")
    given = parser.parse_args()
    vocabulary = (given.build / "vocab.txt").read_text("utf-8").splitlines()
    dev = dev_sets(Packed(given.build / "data.npz"), vocabulary, given.sets)
    scores = {one.name: cosines(Strong(given.strong, given.threads), one) for one in dev}
    for title, weight in (("strong", 0.0), ("fused", STRONG_WORD_WEIGHT)):
        rows = {one.name: measure(scores[one.name] + np.float32(weight) * one.words, one.gold) for one in dev}
        show(title, summary(rows))
    print(
        "\nms a query, half of them under, 95 of 100 under: {:.1f} {:.1f}".format(*timed(given.strong, dev))
    )


def cosines(model: Strong, one: DevSet) -> NDArray[np.float32]:
    """Each query's cosine with each tool."""
    queries = model([query_sequence(ids) for ids in one.strong.queries])
    return queries @ model([ids for ids, _ in one.strong.tools]).T


def timed(path: Path, dev: list[DevSet]) -> tuple[float, float]:
    """How long queries take one by one, on one thread."""
    model = Strong(path, threads=1)
    queries = [query_sequence(ids) for one in dev for ids in one.strong.queries]
    times: list[float] = []
    for query in queries[:: max(1, len(queries) // TIMED)]:
        begun = time.perf_counter()
        model([query])
        times.append(1000 * (time.perf_counter() - begun))
    half, most = np.percentile(times, (50, 95))
    return float(half), float(most)


if __name__ == "__main__":
    main()
