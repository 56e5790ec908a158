"""Stores the search documents and vectors of tools, and searches them in SQLite."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import count, islice
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from remit.decision.projects import Workspace

LEAST_DEPTH = 100  # per arm: the best tool overall may be first in neither
MOST_MATCHES = 2000  # matching documents; words that match more carry little information
_SELECTIONS = count(1)


class SqlDocuments:
    """Stores what search reads: documents and vectors."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, workspace: Workspace) -> None:
        """Build the missing documents of a workspace's tools."""
        seen = scope_parameters(workspace)
        if self._database.rows("definitions_without_document") or self._database.rows(
            "tools_without_document", **seen
        ):
            with self._database.transaction():
                _read(self._database, workspace)

    def without_vector(self, workspace: Workspace, model: str) -> dict[int, Document]:
        """Return the documents of a workspace that have no vector of a model."""
        found = self._database.rows("documents_without_vector", model=model, **scope_parameters(workspace))
        return {id: _document(text) for id, text in found}

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

    def entries(self, model: str | None) -> list[IndexEntry]:
        """List the documents of all projects for an in-memory index."""
        found = self._database.rows("indexed_documents", model=model)
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


def _read(database: Database, workspace: Workspace) -> None:
    """Build the missing documents of definitions, and of tools without a definition."""
    for id, name, server, tool, title, description, input_schema in database.rows(
        "definitions_without_document"
    ):
        definition = Definition(
            name=name,
            server=server,
            tool=tool,
            title=title,
            description=description,
            input_schema=input_schema,
        )
        database.run("set_definition_document", id=id, document=_add(database, definition))
    for id, name, server in database.rows("tools_without_document", **scope_parameters(workspace)):
        database.run(
            "set_tool_document", id=id, document=_add(database, Definition(name=name, server=server))
        )


def _add(database: Database, definition: Definition) -> int:
    read = definition_document(definition)
    text = json.dumps(read, ensure_ascii=False)
    digest = sha256(text.encode()).hexdigest()
    return database.rows("add_document", digest=digest, document=text, **indexed_columns(read)._asdict())[0][
        0
    ]


def _document(text: str) -> Document:
    name, server, description, params, *others = json.loads(text)
    return Document(name, server, description, tuple(params), *others)
