"""The interfaces of search: embedders and indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from remit.search.documents import Columns, Document, QueryTerms
    from remit.search.ranking import Fusion, Hit


Vector = bytes  # little-endian 32-bit floats, normalized, so the dot product of two is their cosine


class Embedder(Protocol):
    """Embeds tools and queries, so texts of similar meaning have similar vectors."""

    model: str  # identifies weights and tokenization; vectors of different models are never compared
    fusion: Fusion  # how to combine cosines with word scores

    def embed_tools(self, documents: Sequence[Document]) -> Sequence[Vector]: ...

    def embed_query(self, text: str) -> Vector: ...

    def close(self) -> None: ...  # may be called from another thread; interrupts a request under way


Selection = Any  # documents to search, in a form private to the index


class IndexEntry(NamedTuple):
    """A document to index."""

    document_id: int
    columns: Columns
    vector: Vector | None


class Index(Protocol):
    """Finds tools that share words with a query or are close to it in meaning."""

    @property
    def has_vectors(self) -> bool: ...

    def select(self, documents: Iterable[int]) -> Selection: ...

    def drop(self, among: Selection) -> None: ...

    def hits(
        self, query_terms: QueryTerms, vectors: Sequence[Vector], among: Selection, depth: int
    ) -> Sequence[Hit]: ...
