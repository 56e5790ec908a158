"""Stores the search documents and vectors of tools, and searches them in SQLite."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from remit.decision.tools import Definition
from remit.search.documents import (
    PAIR_WEIGHT,
    QUOTE_WEIGHT,
    Columns,
    Document,
    QueryTerms,
    definition_document,
    indexed_columns,
)
from remit.search.ports import Index, IndexEntry, Vector
from remit.search.ranking import Hit
from remit.store.database import Database, scope_parameters
from remit.store.row_values import DEFINITION_COLUMNS

if TYPE_CHECKING:
    from remit.decision.projects import Workspace

LEAST_DEPTH = 100  # per arm: the best tool overall may be first in neither
MOST_MATCHES = 2000  # matching documents; words that match more carry little information
_BATCH = 500  # documents to build in one transaction
_SELECTIONS = count(1)


class SqlDocuments:
    """Stores what search reads: documents and vectors."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, workspace: Workspace) -> None:
        """Build the missing documents of a workspace's tools, in batches: others may write in between."""
        seen = scope_parameters(workspace)
        for unread, adopt in (
            ("definitions_without_document", "set_definition_documents"),
            ("tools_without_document", "set_tool_documents"),
        ):
            after = 0
            while self._database.rows(unread, after=after, most=1, **seen):
                with self._database.transaction():
                    found = self._database.rows(unread, after=after, most=_BATCH, **seen)
                    self._add({id: _definition(row) for id, *row in found}, adopt, seen)
                after = max((id for id, *_ in found), default=after)
                if len(found) == _BATCH:
                    self._database.rows("refresh_statistics")

    def _add(self, definitions: Mapping[int, Definition], adopt: str, seen: Mapping[str, str]) -> None:
        """Add the documents of definitions, and store which is whose."""
        rows = {id: _row(definition_document(each)) for id, each in definitions.items()}
        by_digest = {row["digest"]: row for row in rows.values()}
        self._database.run("add_documents", documents=json.dumps(list(by_digest.values())))
        ids = dict(self._database.rows("known_documents", digests=json.dumps(list(by_digest))))
        owners = [{"id": id, "document": ids[row["digest"]]} for id, row in rows.items()]
        self._database.run(adopt, owners=json.dumps(owners), **seen)

    def add_words(self) -> None:
        """Add the documents to the word index that have no terms in it; SQLite does so by itself."""
        if not self._database.has_full_text_index:
            from remit.store.postgres.postgres_document_index import add_terms  # it imports this

            add_terms(self._database)

    def without_vector(self, workspace: Workspace, model: str) -> dict[int, Document]:
        """Return the documents of a workspace that have no vector of a model."""
        found = self._database.rows("documents_without_vector", model=model, **scope_parameters(workspace))
        return {id: _document(text) for id, text in found}

    @contextmanager
    def claimed(self, model: str, documents: Mapping[int, Document]) -> Generator[Mapping[int, Document]]:
        """Claim documents to embed, except those that another node embeds or has embedded."""
        with self._database.claimed(f"embed {model}", documents) as own:
            given = json.dumps(list(own))
            embedded = {
                id for (id,) in self._database.rows("embedded_documents", model=model, documents=given)
            }
            yield {id: each for id, each in documents.items() if id in own and id not in embedded}

    def add_vectors(self, model: str, vectors: Mapping[int, Vector]) -> None:
        """Store vectors, except of documents that no longer exist."""
        with self._database.transaction():
            for vector in islice(vectors.values(), 1):  # all have the same length, unless the model changed
                self._database.run("forget_other_vectors", model=model, length=len(vector))
            self._database.run_each(
                "add_vector",
                [{"model": model, "document": id, "vector": vector} for id, vector in vectors.items()],
            )

    def can_compare(self) -> bool:
        """Return whether vectors can be compared here."""
        return self._database.can_compare()

    def index(self, workspace: Workspace, model: str | None) -> Index:
        """Open an index of a workspace's tools; with a model, call `can_compare` first."""
        if self._database.has_full_text_index:
            return SqlIndex(self._database, workspace, model)
        from remit.store.postgres.postgres_document_index import PostgresDocumentIndex  # it imports this

        return PostgresDocumentIndex(self._database, workspace, model)

    def entries(self, workspace: Workspace, model: str | None) -> list[IndexEntry]:
        """List the documents for an in-memory index: with those that the statistics of words count, too.

        SQLite's word index counts all projects; a store that many share counts those of the workspace.
        """
        found = self._database.rows("indexed_documents", model=model, **scope_parameters(workspace))
        return [IndexEntry(row[0], Columns(*row[1:6]), row[6]) for row in found]


class SqlIndex:
    """An index in SQLite; selections never contain tools outside the workspace's scope."""

    def __init__(self, database: Database, workspace: Workspace, model: str | None) -> None:
        self._database = database
        self._model = model
        self._workspace = workspace
        self._database.run("prepare_selections")

    @property
    def has_vectors(self) -> bool:
        """Whether any document has a vector of the model."""
        return bool(self._database.rows("first_vector", model=self._model))

    def select(self, documents: Iterable[int]) -> int:
        """Select documents to search, limited to the workspace's scope."""
        among, given = next(_SELECTIONS), json.dumps(list(documents))
        self._database.run(
            "select_documents", among=among, documents=given, **scope_parameters(self._workspace)
        )
        return among

    def drop(self, among: int) -> None:
        """Drop a selection."""
        self._database.run("drop_selection", among=among)

    def hits(self, query_terms: QueryTerms, vectors: Sequence[Vector], among: int, depth: int) -> list[Hit]:
        """Find documents that share words with a query or are close to it in meaning."""
        deep = max(depth, LEAST_DEPTH)
        by_words = self._by_words(query_terms, among)
        meanings = self._by_meaning(vectors[0], among, deep) if vectors else {}
        return joined_hits(by_words, meanings, vectors, deep, self._meanings)

    def _by_words(self, query_terms: QueryTerms, among: int) -> dict[int, float]:
        """Score documents by words, adjacent words at half weight, and quotations more; best first."""
        found = self._matching(query_terms.words, among)
        for id, score in self._matching(query_terms.pairs, among).items():
            found[id] = found.get(id, 0.0) + PAIR_WEIGHT * score
        for id in self._containing(query_terms.quote, among) & found.keys():
            found[id] *= QUOTE_WEIGHT
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def _matching(self, phrases: Sequence[str], among: int) -> dict[int, float]:
        if not phrases:
            return {}
        match = " OR ".join(f'"{phrase}"' for phrase in phrases)
        return dict(self._database.rows("documents_by_words", match=match, among=among, most=MOST_MATCHES))

    def _containing(self, words: Sequence[str], among: int) -> set[int]:
        if not words:
            return set()
        match = " ".join(f'"{word}"' for word in words)  # unlike AND, ignores words without letters
        return {id for (id,) in self._database.rows("documents_containing", match=match, among=among)}

    def _by_meaning(self, vector: Vector, among: int, depth: int) -> dict[int, float]:
        query = {"model": self._model, "vector": vector, "among": among, "most": depth}
        return dict(self._database.rows("documents_by_meaning", **query))

    def _meanings(self, vector: Vector, documents: Sequence[int]) -> dict[int, float]:
        query = {"model": self._model, "vector": vector, "documents": json.dumps(documents)}
        return dict(self._database.rows("meanings_of_documents", **query))


def joined_hits(
    by_words: Mapping[int, float],
    by_meaning: Mapping[int, float],
    vectors: Sequence[Vector],
    depth: int,
    compare: Callable[[Vector, Sequence[int]], Mapping[int, float]],
) -> list[Hit]:
    """Join what was found by words and by meaning, comparing the rest of both with a query and its parts."""
    best = list(dict.fromkeys((*list(by_words)[:depth], *by_meaning)))
    meanings = dict(by_meaning)
    if vectors:
        meanings |= compare(vectors[0], [id for id in best if id not in meanings])
    parts = [compare(part, best) for part in vectors[1:]]
    return [
        Hit(
            id,
            by_words.get(id, 0.0),
            meanings.get(id),
            max((part.get(id, 0.0) for part in parts), default=None),
        )
        for id in best
    ]


def _definition(row: Sequence[Any]) -> Definition:
    """Read the columns of `definitions_without_document`, or the first two."""
    return Definition(**dict(zip(DEFINITION_COLUMNS, row, strict=False)))


def _row(document: Document) -> dict[str, str]:
    text = json.dumps(document, ensure_ascii=False)
    digest = sha256(text.encode()).hexdigest()
    return {"digest": digest, "document": text, **indexed_columns(document)._asdict()}


def _document(text: str) -> Document:
    name, server, description, params, *others = json.loads(text)
    return Document(name, server, description, tuple(params), *others)
