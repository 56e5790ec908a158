"""Searches artifacts by words and by meaning, with the engine that searches tools."""

import time
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from remit.errors import EmbeddingError, StoreUnavailableError
from remit.memory.artifacts import ArtifactKind, Home
from remit.memory.results import FoundArtifact
from remit.search.documents import build_document, parse_query
from remit.search.ports import Embedder, Vector
from remit.search.search_service import BATCH, WORDS_ALONE

if TYPE_CHECKING:
    from remit.search.engine import SearchEngine
    from remit.store.memory_store import SqlMemory

READING = 1.0  # seconds that a search may spend on embedding new artifacts
_BATCHES = 4  # written to the store at once


class ArtifactSearch:
    """Finds artifacts in given homes."""

    def __init__(self, store: "SqlMemory", engine: "SearchEngine") -> None:
        self._store = store
        self._engine = engine
        self._opened: Embedder | None = None
        self._can_compare: bool | None = None
        self._asked: tuple[str, Vector] | None = None  # the last query, reused for each scope

    def search(
        self, query: str, homes: Sequence[Home], kinds: Sequence[ArtifactKind], limit: int
    ) -> list[FoundArtifact]:
        """Find the artifacts that match a query, best first."""
        embedder = self._embedder()
        vector = self._vector(embedder, query)
        hits = self._store.hits(parse_query(query), vector, homes, kinds, limit)
        fusion = self._engine.fusion or (
            WORDS_ALONE if vector is None or embedder is None else embedder.fusion
        )
        scores = fusion.scores(hits)
        # Without a shared word, a hit needs a good score; otherwise every query would match something.
        good = [hit for hit in hits if hit.words > 0 or scores[hit.document_id] >= fusion.noise]
        best = sorted(good, key=lambda hit: (-scores[hit.document_id], -hit.document_id))[:limit]
        kept = self._store.by_documents([hit.document_id for hit in best], homes)
        return [
            FoundArtifact(kept=kept[hit.document_id], score=scores[hit.document_id])
            for hit in best
            if hit.document_id in kept
        ]

    def read(self, seconds: float | None = READING) -> int:
        """Embed artifacts that have no vector yet, within a time limit, and return how many."""
        embedder, done = self._embedder(), 0
        if embedder is None:
            return 0
        deadline = None if seconds is None else time.monotonic() + seconds
        try:
            while deadline is None or time.monotonic() < deadline:
                unread = self._store.unread(embedder.model, BATCH * _BATCHES)
                with self._store.claimed(embedder.model, unread) as own:
                    if not own:  # none, or another node embeds them
                        break
                    self._store.add_vectors(embedder.model, self._vectors(embedder, own))
                    done += len(own)
        except (EmbeddingError, StoreUnavailableError):
            return done  # the rest is still found by words, and embedded later
        return done

    def _vectors(self, embedder: Embedder, unread: Mapping[int, tuple[str, str]]) -> dict[int, Vector]:
        found: dict[int, Vector] = {}
        items = iter(unread.items())
        while batch := list(islice(items, BATCH)):
            texts = [build_document(name, None, body) for _, (name, body) in batch]
            found |= zip((id for id, _ in batch), embedder.embed_tools(texts), strict=True)
        return found

    def _embedder(self) -> Embedder | None:
        """Open the model; None if there is no usable one."""
        if self._engine.model is None:
            return None
        if self._can_compare is None:
            self._can_compare = self._store.can_compare()
        if self._opened is None and self._can_compare:
            try:
                self._opened = self._engine.embedder()
            except EmbeddingError:
                return None
        return self._opened

    def _vector(self, embedder: Embedder | None, query: str) -> Vector | None:
        if embedder is None:
            return None
        if self._asked is None or self._asked[0] != query:
            try:
                self._asked = query, embedder.embed_query(query)
            except EmbeddingError:
                return None
        return self._asked[1]
