"""The models that embed tools and queries, so texts of similar meaning have similar vectors."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from remit.errors import EmbeddingError
from remit.search.documents import Document, document_key

if TYPE_CHECKING:
    from remit.search.ranking import Fusion

Vector = bytes  # little-endian 32-bit floats, normalized, so the dot product of two is their cosine
STATIC, ONNX, NONE = "static", "onnx", "none"  # every other mode is the URL of an endpoint
_MAX_KEY = 10_000  # characters


class Embedder(Protocol):
    """Embeds tools and queries."""

    @property
    def model(self) -> str: ...  # identifies weights and tokenization; other models' vectors never compare

    @property
    def fusion(self) -> "Fusion": ...  # how to combine cosines with word scores

    @property
    def is_slow(self) -> bool: ...  # too slow to embed tools while a search waits

    def embed_tools(self, documents: Sequence[Document]) -> Sequence[Vector]: ...

    def embed_query(self, text: str) -> Vector: ...


def open_model(mode: str = STATIC, model: str = "", key_file: str | None = None) -> Embedder | None:
    """Open a model: the bundled table, a transformer, or an endpoint by its URL; None for `none`.

    `model` is an endpoint's name of it, or the file of the transformer; `key_file` has an endpoint's key.

    Raises:
        EmbeddingError: the model is missing or damaged, or its key would not be sent safely.
    """
    if mode == NONE:
        return None
    if mode not in (STATIC, ONNX):
        from remit.search.endpoint import EndpointEmbedder

        return EndpointEmbedder(mode, model, None if key_file is None else _read_key(key_file))
    try:
        if mode == STATIC:
            from remit.search.static import StaticEmbedder

            return StaticEmbedder()
        from remit.search.onnx import OnnxEmbedder

        return OnnxEmbedder(model)
    except ModuleNotFoundError as error:
        raise EmbeddingError(
            f"the embeddings `{mode}` need `{error.name}`, which is not installed",
            hint='run `pip install "remit[onnx]"`, or set `embeddings = "static"`',
        ) from error
    except Exception as error:  # onnxruntime's errors have no narrower base class
        raise EmbeddingError(
            f"the model of the embeddings `{mode}` cannot be read ({type(error).__name__})",
            hint='install Remit again, or set `embeddings = "none"` to search by words',
        ) from error


def vectors_of(
    documents: Sequence[Document], model: Embedder, kept: Mapping[str, Vector]
) -> dict[str, Vector]:
    """Return the vectors of documents by `document_key`, embedding those that are not kept.

    Raises:
        EmbeddingError: embedding failed.
    """
    keyed = {document_key(document): document for document in documents}
    new = {key: document for key, document in keyed.items() if key not in kept}
    embedded = dict(zip(new, model.embed_tools(list(new.values())), strict=True))
    return {key: embedded.get(key) or kept[key] for key in keyed}


def _read_key(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                raise EmbeddingError(
                    "`embeddings_key_file` names a file that others can read", hint=f"run `chmod 600 {path}`"
                )
            return file.read(_MAX_KEY).strip()
    except OSError as error:
        raise EmbeddingError(
            f"`embeddings_key_file` cannot be read: {error.strerror}",
            hint="write the endpoint's key alone into that file",
        ) from None
