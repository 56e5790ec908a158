"""Indexes a collection of given tools for search."""

from collections import OrderedDict
from collections.abc import Sequence

from remit.decision.decide import ToolDecision
from remit.search.documents import Document, indexed_columns
from remit.search.engine import SearchEngine
from remit.search.given_tools import GivenTool, as_listed
from remit.search.ports import Embedder, Index, IndexEntry, Vector
from remit.search.search_service import WORDS_ALONE, Searcher

MOST_VECTORS = 20_000  # 1 KB each with the bundled model


class VectorCache:
    """A cache of vectors by the content of tools; evicts the least recently used."""

    def __init__(self, most: int = MOST_VECTORS) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, Document], Vector] = OrderedDict()

    def of(self, documents: Sequence[Document], embedder: Embedder) -> list[Vector]:
        """Return the vectors of tools, embedding only those not in the cache.

        Raises:
            EmbeddingError: embedding failed.
        """
        keys = [(embedder.model, document) for document in documents]
        new = list(dict.fromkeys(key for key in keys if key not in self._kept))
        made = dict(zip(new, embedder.embed_tools([document for _, document in new]), strict=True))
        vectors = [made.get(key) or self._kept[key] for key in keys]
        for key, vector in zip(keys, vectors, strict=True):
            self._kept[key] = vector
            self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return vectors


class ToolCollection:
    """A searchable collection of tools; a result's `document_id` is the position of its tool."""

    def __init__(
        self, tools: Sequence[GivenTool], engine: SearchEngine, vectors: VectorCache | None = None
    ) -> None:
        """Index tools.

        Raises:
            EmbeddingError: embedding failed.
        """
        self.listed = as_listed(tools)
        self.embedder = None if engine.model is None else engine.embedder()
        self._fusion = engine.fusion
        self.index = self._open(tools, engine, vectors or VectorCache(len(tools)))

    def searcher(self, among: Sequence[ToolDecision] | None = None) -> Searcher:
        """Open a searcher over all tools, or over the given ones."""
        return Searcher(
            self.listed if among is None else among, self.index, self.embedder, fusion=self._fusion
        )

    def _open(self, tools: Sequence[GivenTool], engine: SearchEngine, vectors: VectorCache) -> Index:
        documents = [tool.document for tool in tools]
        known: Sequence[Vector | None] = [None] * len(tools)
        if self.embedder is not None:
            known = vectors.of(documents, self.embedder)
        entries = (
            IndexEntry(at, indexed_columns(document), vector)
            for at, (document, vector) in enumerate(zip(documents, known, strict=True))
        )
        return engine.in_memory(entries, WORDS_ALONE if self.embedder is None else self.embedder.fusion)
