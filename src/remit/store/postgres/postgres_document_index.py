"""Searches tools in PostgreSQL: BM25 over a word index, and cosines by pgvector.

A search compares every vector of the workspace: for 10,000 tools that takes less time than the words.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from remit.search.documents import COLUMN_WEIGHTS, QUOTE_WEIGHT, QueryTerms
from remit.search.ports import Vector
from remit.search.ranking import Hit
from remit.search.word_tokenizer import TextTerms, Tokenizer, query_weights, text_terms
from remit.store.database import Database, scope_parameters
from remit.store.document_store import LEAST_DEPTH, MOST_MATCHES, joined_hits
from remit.store.postgres.word_postings import add_missing, as_array, as_json, weighted

if TYPE_CHECKING:
    from remit.decision.projects import Workspace


_WAIT = 0.5  # seconds that a search may spend on new documents; without terms, they are found by meaning


def add_terms(database: Database, *, seconds: float | None = None) -> None:
    """Add the terms of new documents; with `seconds`, no batch is started later than that."""
    tokenizer = Tokenizer()

    def terms(columns: tuple[str, ...]) -> TextTerms:
        return text_terms(zip(columns, COLUMN_WEIGHTS, strict=True), tokenizer)

    add_missing(database, "documents_without_terms", "add_document_terms", terms, seconds=seconds)


class _Known(NamedTuple):
    """The documents of a workspace, whose statistics count: those of other projects tell nothing here."""

    sizes: Mapping[int, int]
    ids: str
    average: float


class PostgresDocumentIndex:
    """An index in PostgreSQL; selections never contain tools outside the workspace's scope."""

    def __init__(self, database: Database, workspace: "Workspace", model: str | None) -> None:
        self._database = database
        self._model = model
        self._scope = scope_parameters(workspace)
        self._tokenizer = Tokenizer()

    @property
    def has_vectors(self) -> bool:
        """Whether any document has a vector of the model."""
        return bool(self._database.rows("first_vector", model=self._model))

    def select(self, documents: Iterable[int]) -> list[int]:
        """Select documents to search, limited to the workspace's scope."""
        return sorted(self._known.sizes.keys() & set(documents))

    def drop(self, among: list[int]) -> None:
        """Drop a selection; there is nothing to clean up here."""

    def hits(
        self, query_terms: QueryTerms, vectors: Sequence[Vector], among: list[int], depth: int
    ) -> list[Hit]:
        """Find documents that share words with a query or are close to it in meaning."""
        by_words = self._by_words(query_terms, among) if among else {}
        deep = max(depth, LEAST_DEPTH)
        meanings = self._by_meaning(vectors[0], among, deep) if vectors and among else {}
        return joined_hits(by_words, meanings, vectors, deep, self._meanings)

    @cached_property
    def _known(self) -> _Known:
        """The documents of the workspace, after those without terms got them, as far as that is quick."""
        add_terms(self._database, seconds=_WAIT)
        found = self._database.rows("documents_in_scope", **self._scope)
        sizes: dict[int, int] = {id: size or 0 for id, size in found}
        return _Known(sizes, as_array(sizes), max(sum(sizes.values()) / max(len(sizes), 1), 1e-9))

    def _by_words(self, query_terms: QueryTerms, among: Sequence[int]) -> dict[int, float]:
        """Score documents by words, adjacent words at half weight, and quotations more; best first."""
        weights = query_weights(query_terms, self._tokenizer)
        if not weights:
            return {}
        quote = dict.fromkeys(self._tokenizer(" ".join(query_terms.quote)))
        known = self._known
        found = self._database.rows(
            "documents_by_words",
            **weighted(weights),
            quote=as_json(quote),
            known=known.ids,
            among=None if len(among) == len(known.sizes) else as_array(among),
            count=len(known.sizes),
            average=str(known.average),
            most=MOST_MATCHES,
            **self._scope,
        )
        scores = {id: words for id, words, _ in found}
        searched = sum(term in weights for term in quote)
        near = [id for id, _, quoted in found if quote and quoted == searched]
        for id in self._containing([term for term in quote if term not in weights], near):
            scores[id] *= QUOTE_WEIGHT
        return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))

    def _containing(self, terms: Sequence[str], documents: Sequence[int]) -> Sequence[int]:
        """List the documents that also contain the terms of a quotation that the search left out."""
        if not terms or not documents:
            return documents
        found = self._database.rows(
            "documents_containing", terms=as_json(terms), documents=as_array(documents), **self._scope
        )
        return [id for (id,) in found]

    def _by_meaning(self, vector: Vector, among: Sequence[int], depth: int) -> dict[int, float]:
        return self._compared("documents_by_meaning", vector, among, most=depth)

    def _meanings(self, vector: Vector, documents: Sequence[int]) -> dict[int, float]:
        return self._compared("meanings_of_documents", vector, documents)

    def _compared(
        self, query: str, vector: Vector, documents: Sequence[int], **limit: int
    ) -> dict[int, float]:
        values = {"model": self._model, "vector": vector, "documents": as_array(documents)}
        return dict(self._database.rows(query, **values, **limit, **self._scope))
