"""The shapes of what search is made of: embedders, indexes and the engine that opens them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from remit.search.documents import Columns, Document, QueryTerms
    from remit.search.ranking import Fusion, Hit, RankFusion


Vector = bytes  # numbers of 32 bits, little-endian, of length one: its cosine with another is their product


class Embedder(Protocol):
    """Turns tools and queries into vectors, so that those of like meaning are near each other."""

    model: str  # names the weights and how texts are read: vectors of two models are never compared
    fusion: Fusion  # how much its cosine says, beside the words

    def embed_tools(self, documents: Sequence[Document]) -> Sequence[Vector]: ...

    def embed_query(self, text: str) -> Vector: ...


Selection = Any  # documents to search among, in the form that an index wants them


class IndexEntry(NamedTuple):
    """A document as an index takes it in."""

    document_id: int
    columns: Columns
    vector: Vector | None


class Index(Protocol):
    """Finds the tools that share words with a query, or are near it in meaning."""

    def select(self, documents: Iterable[int]) -> Selection: ...

    def drop(self, among: Selection) -> None: ...

    def hits(
        self, sought: QueryTerms, vectors: Sequence[Vector], among: Selection, depth: int
    ) -> Sequence[Hit]: ...


class Engine(Protocol):
    """What search is made of; opened only by those who search."""

    @property
    def model(self) -> str | None: ...  # None: nothing is compared by meaning

    @property
    def fusion(self) -> RankFusion | None: ...  # None: the model's own

    def embedder(self) -> Embedder: ...

    def in_memory(self, entries: Iterable[IndexEntry], fusion: Fusion) -> Index: ...
