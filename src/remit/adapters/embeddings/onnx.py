"""The stronger model of the extra `onnx`: MiniLM, fine-tuned for tools, in eight bits."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import onnxruntime  # pyright: ignore[reportMissingTypeStubs] - it has none
from numpy.typing import NDArray

from remit.adapters.embeddings.sequences import END, START, query_ids, tool_ids
from remit.adapters.embeddings.weights import data_file
from remit.adapters.embeddings.wordpiece import PIECES, WordPiece, vocabulary
from remit.core.documents import Document
from remit.core.ranking import Fusion
from remit.ports import Vector

_BATCH = 16  # tools at once: more is not faster


class Session(Protocol):
    """What is used of onnxruntime."""

    def run(
        self, outputs: Sequence[str], feed: Mapping[str, NDArray[np.int64]]
    ) -> Sequence[NDArray[np.float32]]: ...


class OnnxEmbedder:
    """Turns tools and queries into vectors by a small transformer, on one thread."""

    model = "onnx-1"
    fusion = Fusion(word_weight=0.0225)

    def __init__(self) -> None:
        self._pieces = WordPiece(vocabulary()[:PIECES])  # the rest is the static table's
        self._session = _open(data_file("strong.onnx"))

    def embed_query(self, text: str) -> Vector:
        """The vector of a query."""
        return self._vectors([[START, *query_ids(text, self._pieces), END]])[0]

    def embed_tools(self, documents: Sequence[Document]) -> list[Vector]:
        """The vectors of tools; those of like length go together."""
        texts = [tool_ids(document, self._pieces).ids for document in documents]
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        vectors: dict[int, Vector] = {}
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            vectors.update(zip(batch, self._vectors([texts[at] for at in batch]), strict=True))
        return [vectors[at] for at in range(len(texts))]

    def _vectors(self, texts: Sequence[Sequence[int]]) -> list[Vector]:
        ids = np.zeros((len(texts), max(map(len, texts))), np.int64)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text)] = text
        (vectors,) = self._session.run(["vectors"], {"ids": ids, "mask": (ids > 0).astype(np.int64)})
        return [vector.astype("<f4").tobytes() for vector in vectors]


def _open(path: str) -> Session:
    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # a search must not take the machine
    options.log_severity_level = 3  # errors alone
    runtime.disable_telemetry_events()
    return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
