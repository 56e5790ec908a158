"""The stronger model of the extra `onnx`: MiniLM, fine-tuned for tools and quantized to 8 bits."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import onnxruntime  # pyright: ignore[reportMissingTypeStubs] - it has none
from numpy.typing import NDArray

from remit.search.documents import Document
from remit.search.models import Vector
from remit.search.ranking import Fusion
from remit.search.static import END, START, data_file, query_ids, tool_ids, vocabulary
from remit.search.wordpiece import PIECES, WordPiece


class OnnxSession(Protocol):
    """The part of an onnxruntime session that this module uses."""

    def run(
        self, outputs: Sequence[str], feed: Mapping[str, NDArray[np.int64]]
    ) -> Sequence[NDArray[np.float32]]: ...


class OnnxEmbedder:
    """Embeds tools and queries with a small transformer, on one thread."""

    model = "onnx-1"
    fusion = Fusion(
        word_weight=0.02, expected=0.555, steepness=8.95, midpoint=0.604, confidence=0.057, noise=0.017
    )
    is_slow = True

    def __init__(self, path: str = "") -> None:
        self._pieces = WordPiece(vocabulary()[:PIECES])  # the other entries belong to the static table
        self._session = _open(path or data_file("strong.onnx"))

    def embed_query(self, text: str) -> Vector:
        """Embed a query."""
        return self._vector([START, *query_ids(text, self._pieces), END])

    def embed_tools(self, documents: Sequence[Document]) -> list[Vector]:
        """Embed tools."""
        # One by one: quantization scales a batch by its largest number, so a vector would depend on the other
        # tools of its batch. On one thread, batches are not faster anyway.
        return [self._vector(tool_ids(document, self._pieces).ids) for document in documents]

    def _vector(self, text: Sequence[int]) -> Vector:
        ids = np.array([text], np.int64)
        ((vector,),) = self._session.run(["vectors"], {"ids": ids, "mask": np.ones_like(ids)})
        return vector.astype("<f4").tobytes()


def _open(path: str) -> OnnxSession:
    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # a search must not use every core
    options.log_severity_level = 3  # errors only
    runtime.disable_telemetry_events()
    return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
