"""Finds artifacts by words and by meaning."""

import time
from collections.abc import Collection

from remit.decision import Workspace
from remit.errors import EmbeddingError, StoreUnavailableError
from remit.search import WORDS_ALONE, Embedder, Hit, Vector, build_document, parse_query
from remit.store import Artifact, Store

EMBEDDING_SECONDS = 1.0  # that a search may spend on new artifacts
_BATCH = 64  # artifacts embedded and stored at once


class ArtifactSearch:
    """Finds the artifacts of a repository's memory; those without a vector yet by words alone."""

    def __init__(self, store: Store, model: Embedder | None, workspace: Workspace) -> None:
        self._artifacts = store.artifacts
        self._workspace = workspace
        self._model = model if model is not None and store.database.enable_vectors() else None

    def find(
        self, query: str, places: Collection[int], kinds: Collection[str], limit: int
    ) -> list[tuple[Artifact, float]]:
        """Find the artifacts that answer a query, best first, with their scores."""
        text = _as_prose(query)
        vector = self._vector(text)
        model = self._model if vector is not None else None
        name = None if model is None else model.model
        found = self._artifacts.hits(parse_query(text).words, vector, name, places, kinds, self._workspace)
        hits = [Hit(hit.id, hit.words, hit.meaning) for hit in found]
        fusion = WORDS_ALONE if model is None else model.fusion
        scores = fusion.scores(hits)
        # Without a common word, only a good score counts, or every artifact would match something.
        good = [hit.document for hit in hits if hit.words > 0 or scores[hit.document] >= fusion.noise]
        best = sorted(good, key=lambda id: (-scores[id], -id))[:limit]
        artifacts = self._artifacts.by_id(best, self._workspace)
        return [(artifacts[id], scores[id]) for id in best if id in artifacts]

    def embed(self, seconds: float = EMBEDDING_SECONDS) -> None:
        """Embed artifacts that have no vector yet, until the time is up."""
        if self._model is None:
            return
        deadline = time.monotonic() + seconds
        try:
            while unread := self._artifacts.unread(self._model.model, _BATCH):
                documents = [build_document(_as_prose(name), None, body) for name, body in unread.values()]
                vectors = self._model.embed_tools(documents)
                self._artifacts.add_vectors(self._model.model, dict(zip(unread, vectors, strict=True)))
                if time.monotonic() >= deadline:
                    return
        except (EmbeddingError, StoreUnavailableError):
            return  # the rest is found by words, and embedded by a later search

    def _vector(self, text: str) -> Vector | None:
        try:
            return None if self._model is None else self._model.embed_query(text)
        except EmbeddingError:
            return None


def _as_prose(text: str) -> str:
    """Keep words such as `SQLite` whole, which would be split like the name of a tool."""
    return text.lower()
