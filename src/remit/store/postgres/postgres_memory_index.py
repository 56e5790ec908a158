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
from remit.store.database import Database
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
        place = _Place(self._database, homes, kinds)
        with self._database.transaction():  # names the scope once
            by_words = self._by_words(query_terms.words, place)
            meanings = {} if vector is None else place.nearest(vector, by_words)
        return by_words, meanings

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

    def _by_words(self, words: Sequence[str], place: "_Place") -> dict[int, float]:
        """Score artifacts by words, best first; in a large place, by its rarest words."""
        terms = self._tokenizer(" ".join(words))
        if not terms:
            return {}
        count, total = self._statistics(place)
        if count > self._many:
            terms = rarest(terms, place.term_counts(terms, MOST_MATCHES + 1))
        weights = {term: float(terms.count(term)) for term in terms}
        return place.by_words(weights, count, total / count) if weights and total else {}

    def _statistics(self, place: "_Place") -> tuple[int, int]:
        """Return the number of artifacts and of their terms; a large place keeps them for some searches."""
        count, total, searches = self._large.get(place.key, (0, 0, _OUTDATED))
        if searches >= _OUTDATED:
            (count, total), searches = place.statistics(), 0
        if count > self._many:
            self._large[place.key] = count, total, searches + 1
        return count, total

    def forget_vectors(self) -> None:
        """Forget all vectors, which are made again."""
        for step in ("memory_forget_vectors", "memory_read_all_again"):
            self._database.run(step)

    def _terms(self, columns: tuple[str, ...]) -> TextTerms:
        return text_terms(zip(columns, _WEIGHTS, strict=True), self._tokenizer, has_pairs=False)


class _Place:
    """Homes and kinds to search, in the scope of their project."""

    def __init__(self, database: Database, homes: Sequence[Home], kinds: Sequence[ArtifactKind]) -> None:
        self._database = database
        self._homes = {
            "homes": as_array(home.id for home in homes),
            "project": searched_project(homes),
        }
        self._kinds = None if set(kinds) == set(ArtifactKind) else as_json(kinds)

    @property
    def key(self) -> str:
        """The homes, which identify the statistics."""
        return self._homes["homes"]

    def statistics(self) -> tuple[int, int]:
        """Return the number of artifacts, and of their terms."""
        return self._database.rows("memory_statistics", **self._homes)[0]

    def term_counts(self, terms: Sequence[str], most: int) -> dict[str, int]:
        """Return how many artifacts contain each term, as far as that is below a limit."""
        return dict(self._database.rows("memory_term_counts", terms=as_json(terms), most=most, **self._homes))

    def by_words(self, weights: Mapping[str, float], count: int, average: float) -> dict[int, float]:
        """Score artifacts by terms, best first."""
        found = self._database.rows(
            "memory_by_words",
            **weighted(weights),
            count=count,
            average=str(average),
            kinds=self._kinds,
            most=DEEP,
            **self._homes,
        )
        return dict(found)

    def nearest(self, vector: Vector, found: Mapping[int, float]) -> dict[int, float | None]:
        """Return the cosines of the nearest artifacts, and of those found by words."""
        values = {"vector": vector, "found": as_array(found), "kinds": self._kinds, "most": DEEP}
        return dict(self._database.rows("memory_by_meaning", **values, **self._homes))
