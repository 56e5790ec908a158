"""Searches memory in SQLite by words and by meaning: the signs of vectors first, then whole vectors."""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from remit.memory.artifacts import ArtifactKind, Home
from remit.search.documents import QueryTerms
from remit.search.ports import Vector
from remit.store.database import Database
from remit.store.sqlite.binary_vector_search import OpenSignIndex, SignSearch

MANY = 5_000  # artifacts; a larger project probably has most of them
MOST_MATCHES = 8_000  # matching artifacts; words that match more carry little information
DEEP = 400  # documents per arm: the best overall may be first in neither


class SqliteMemoryIndex:
    """Finds artifacts in the given homes."""

    def __init__(
        self, database: Database, open_sign_index: OpenSignIndex | None = None, many: int = MANY
    ) -> None:
        self._database = database
        self._codes = SignSearch(database, open_sign_index)
        self._many = many

    def add_words(self) -> None:
        """Do nothing: triggers index new texts."""

    def scores(
        self,
        query_terms: QueryTerms,
        vector: Vector | None,
        homes: Sequence[Home],
        kinds: Sequence[ArtifactKind],
        depth: int,
    ) -> tuple[dict[int, float], dict[int, float | None]]:
        """Find artifacts that share words with a query, best first, and those close to it in meaning."""
        size = self._size(homes)
        if not size:
            return {}, {}
        is_large = size > self._many
        words = self._rarest(query_terms.words) if is_large else query_terms.words
        by_words = self._by_words(words, homes, kinds, depth, is_large) if words else {}
        meanings = {} if vector is None else self._by_meaning(vector, by_words, homes, kinds, is_large)
        return by_words, meanings

    def add_vectors(self, model: str, vectors: Mapping[int, Vector]) -> None:
        """Store vectors, unless the model has changed."""
        with self._database.transaction():
            if self._database.rows("memory_model") != [(model,)]:
                return
            for vector in islice(vectors.values(), 1):  # an endpoint may change a model under its name
                if self._code_length() not in (None, len(signs(vector))):
                    self.forget_vectors()
            self._database.run("memory_next_round")
            marks = [{"node": id} for id in vectors]
            codes = [{"node": id, "code": signs(vector)} for id, vector in vectors.items()]
            whole = [{"node": id, "vector": vector} for id, vector in vectors.items()]
            self._database.run_each("memory_add_vector", whole)
            self._database.run_each("memory_add_code", codes)
            self._database.run_each("memory_mark_read", marks)

    def _by_words(
        self,
        words: Sequence[str],
        homes: Sequence[Home],
        kinds: Sequence[ArtifactKind],
        depth: int,
        is_large: bool,
    ) -> dict[int, float]:
        """Score artifacts by words, best first.

        Filtering by place costs as much as matching a word that occurs in all its artifacts. So for a large
        place, search everywhere first: if enough of the best results are in the place, they are its best.
        """
        phrases = " OR ".join(f'"{word}"' for word in words)
        if is_large:
            best = self._scored(f"{{name body}} : ({phrases})")
            inside = self._among(best, homes, kinds)
            if len(inside) >= depth:
                return {id: words for id, words in best.items() if id in inside}
        places = " OR ".join(_places(homes, kinds))
        return self._scored(f"place : ({places}) AND {{name body}} : ({phrases})")

    def _scored(self, match: str) -> dict[int, float]:
        return dict(self._database.rows("memory_by_words", match=match, most=DEEP))

    def _among(self, nodes: Iterable[int], homes: Sequence[Home], kinds: Sequence[ArtifactKind]) -> set[int]:
        """Return the artifacts that belong to the given homes and kinds."""
        inside = set(self._codes.among(nodes, homes, kinds))
        others = json.dumps([id for id in nodes if id not in inside])
        found = self._database.rows(
            "memory_among", nodes=others, homes=home_ids(homes), kinds=json.dumps(kinds)
        )
        return inside.union(id for (id,) in found)

    def _rarest(self, words: Sequence[str]) -> list[str]:
        """Return the rarest words."""
        counts = {word: self._database.rows("memory_word_count", match=f'"{word}"')[0][0] for word in words}
        return rarest(words, counts)

    def _by_meaning(
        self,
        vector: Vector,
        found: Iterable[int],
        homes: Sequence[Home],
        kinds: Sequence[ArtifactKind],
        is_large: bool,
    ) -> dict[int, float | None]:
        """Compare a query with the artifacts found by words and those with the nearest signs."""
        while True:
            near = self._codes.nearest(signs(vector), homes, kinds, DEEP, is_large=is_large)
            meanings = self._meanings(vector, dict.fromkeys((*found, *near)))
            gone = [id for id in near if id not in meanings]
            if not gone or not self._codes.drop(gone):
                return meanings

    def forget_vectors(self) -> None:
        """Forget all vectors and codes, which are made again."""
        for step in ("memory_forget_vectors", "memory_forget_codes", "memory_read_all_again"):
            self._database.run(step)

    def _code_length(self) -> int | None:
        found = self._database.rows("memory_code_length")
        return found[0][0] if found else None

    def _meanings(self, vector: Vector, nodes: Iterable[int]) -> dict[int, float | None]:
        return dict(self._database.rows("memory_meanings", vector=vector, nodes=json.dumps(list(nodes))))

    def _size(self, homes: Sequence[Home]) -> int:
        return self._database.rows("memory_size", homes=home_ids(homes), most=self._many + 1)[0][0]


def rarest(words: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """Return the rarest words: at least one, and more while few artifacts contain them."""
    kept: list[str] = []
    total = 0
    for word in sorted(words, key=lambda word: counts[word]):
        total += counts[word]
        if kept and total > MOST_MATCHES:
            break
        if counts[word]:
            kept.append(word)
    return kept


def signs(vector: Vector) -> bytes:
    """Pack the signs of a vector into bits."""
    numbers = struct.unpack(f"<{len(vector) // 4}f", vector)
    code = sum(1 << at for at, number in enumerate(numbers) if number > 0)
    return code.to_bytes((len(numbers) + 7) // 8, "little")


def _places(homes: Sequence[Home], kinds: Sequence[ArtifactKind]) -> list[str]:
    if set(kinds) == set(ArtifactKind):
        return [f'"h{home.id}"' for home in homes]
    return [f'"h{home.id}{kind}"' for home in homes for kind in kinds]


def home_ids(homes: Sequence[Home]) -> str:
    """Write the ids of homes as JSON."""
    return json.dumps([home.id for home in homes])


def searched_project(homes: Sequence[Home]) -> str:
    """Return the project whose homes are searched; global homes may be among them."""
    return next((home.project_id for home in homes if home.project_id), "")
