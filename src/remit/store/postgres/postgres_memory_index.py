"""Searches memory in PostgreSQL: BM25 over the word index of a home, and pgvector.

As in SQLite, a search by meaning compares the signs of all vectors first, then the nearest 400 in full. An
HNSW index did not pay: see `docs/decisions/search-in-postgres.md`.
"""

from collections.abc import Mapping, Sequence
from itertools import islice

from remit.memory.artifacts import ArtifactKind, Home
from remit.search.documents import QueryTerms
from remit.search.ports import Vector
from remit.search.word_tokenizer import TextTerms, Tokenizer, text_terms
from remit.store.database import Database, Value
from remit.store.postgres.word_postings import add_missing, as_array, as_json, weighted
from remit.store.sqlite.sqlite_memory_index import DEEP, MANY, MOST_MATCHES, rarest, searched_project

_WEIGHTS = (3.0, 1.0)  # name, body
_OUTDATED = 50  # searches; counting the artifacts of a large place takes as long as searching them


class PostgresMemoryIndex:
    """Finds artifacts in the given homes."""

    def __init__(self, database: Database, many: int = MANY) -> None:
        self._database = database
        self._many = many
        self._tokenizer = Tokenizer()
        self._is_complete = False  # whether what others copied into the store is in the word index
        self._large: dict[str, tuple[int, int, int]] = {}  # statistics of large places, and searches since

    def add_words(self) -> None:
        """Add new and changed artifacts to the word index."""
        add_missing(self._database, "memory_without_terms", "memory_add_terms", self._terms)
        self._is_complete = True

    def scores(
        self,
        query_terms: QueryTerms,
        vector: Vector | None,
        homes: Sequence[Home],
        kinds: Sequence[ArtifactKind],
        depth: int,  # noqa: ARG002 - both arms go deeper
    ) -> tuple[dict[int, float], dict[int, float | None]]:
        """Find artifacts that share words with a query, best first, and those close to it in meaning."""
        if not self._is_complete:
            self.add_words()
        place = {"homes": as_array(home.id for home in homes), "project": searched_project(homes)}
        every = set(kinds) == set(ArtifactKind)
        found = {"kinds": None if every else as_json(kinds), "most": DEEP, **place}
        with self._database.transaction():  # names the scope once
            by_words = self._by_words(query_terms.words, place, found)
            if vector is None:
                return by_words, {}
            near = {"vector": vector, "found": as_array(by_words), **found}
            return by_words, dict(self._database.rows("memory_by_meaning", **near))

    def add_vectors(self, model: str, vectors: Mapping[int, Vector]) -> None:
        """Store vectors, unless the model has changed."""
        with self._database.transaction():
            if self._database.rows("memory_model") != [(model,)]:
                return
            for vector in islice(vectors.values(), 1):  # an endpoint may change a model under its name
                if self._database.rows("memory_vector_length") not in ([], [(len(vector),)]):
                    self.forget_vectors()
            whole = [{"node": id, "vector": vector} for id, vector in vectors.items()]
            self._database.run_each("memory_add_vector", whole)
            self._database.run_each("memory_mark_read", [{"node": id} for id in vectors])

    def _by_words(
        self, words: Sequence[str], place: Mapping[str, str], found: Mapping[str, Value]
    ) -> dict[int, float]:
        """Score artifacts by words, best first; in a large place, by its rarest words."""
        terms = self._tokenizer(" ".join(words))
        if not terms:
            return {}
        count, total = self._statistics(place)
        if count > self._many:
            limits = {"terms": as_json(terms), "most": MOST_MATCHES + 1}  # how many contain each term
            terms = rarest(terms, dict(self._database.rows("memory_term_counts", **limits, **place)))
        weights = {term: float(terms.count(term)) for term in terms}
        if not weights or not total:
            return {}
        sizes = {"count": count, "average": str(total / count)}
        return dict(self._database.rows("memory_by_words", **weighted(weights), **sizes, **found))

    def _statistics(self, place: Mapping[str, str]) -> tuple[int, int]:
        """Return the number of artifacts and of their terms; a large place keeps them for some searches."""
        key = place["homes"]
        count, total, searches = self._large.get(key, (0, 0, _OUTDATED))
        if searches >= _OUTDATED:
            (count, total), searches = self._database.rows("memory_statistics", **place)[0], 0
        if count > self._many:
            self._large[key] = count, total, searches + 1
        return count, total

    def forget_vectors(self) -> None:
        """Forget all vectors, which are made again."""
        for step in ("memory_forget_vectors", "memory_read_all_again"):
            self._database.run(step)

    def _terms(self, columns: tuple[str, ...]) -> TextTerms:
        return text_terms(zip(columns, _WEIGHTS, strict=True), self._tokenizer, has_pairs=False)
