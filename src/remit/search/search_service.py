"""Finds tools by the words and the meaning of a query."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from remit.decision.scopes import Scope
from remit.errors import EmbeddingError
from remit.search.cancellation import Cancellation
from remit.search.documents import both_ends, parse_query, query_parts
from remit.search.name_matches import NameMatches
from remit.search.ranking import (
    Fusion,
    Hit,
    RankedTool,
    RankFusion,
    SearchResults,
    rank,
    tools_by_server,
    tools_of_meant,
    worth_showing,
)
from remit.settings import DEFAULT_LIMIT, MAX_LIMIT

if TYPE_CHECKING:
    from remit.decision.decide import ToolDecision
    from remit.decision.projects import Workspace
    from remit.search.documents import Document
    from remit.search.engine import SearchEngine
    from remit.search.ports import Embedder, Index, Selection, Vector
    from remit.store.document_store import SqlDocuments

BATCH = 64  # texts per batch
READING = 0.25  # seconds that opening a searcher may spend on embedding new tools
_SMALL_BATCH = 8  # texts per batch where time is short
BY_WORDS_ALONE = "found by words alone"
NO_VECTORS = f"{BY_WORDS_ALONE}: no tool here has a vector of this model yet"
WORDS_ALONE = Fusion(expected=0.48, steepness=3.1, midpoint=0.83, confidence=0.0, noise=0.0)
_DEPTH = 2  # multiple of the limit that the index returns for ranking
_NEAREST = 3
_LONGEST_QUERY = 10_000  # characters; the middle of a longer one is ignored

OnProgress = Callable[[int, int], None]  # how many are done, of how many


@dataclass
class Searcher:
    """Searches a fixed set of tools, many times."""

    listed: Sequence[ToolDecision]
    index: Index
    embedder: Embedder | None
    note: str | None = None  # why there is no embedder
    missing: int = 0  # tools that are not embedded yet
    fusion: Fusion | RankFusion | None = None  # None: use the embedder's own
    _selections: dict[tuple[Scope | None, bool], _Selected] = field(
        default_factory=dict[tuple[Scope | None, bool], "_Selected"]
    )

    def search(
        self,
        query: str,
        *,
        scope: Scope | None = None,
        limit: int = DEFAULT_LIMIT,
        include_hidden: bool = False,
        min_score: float | None = None,
    ) -> SearchResults:
        """Find the tools for a query; without `min_score`, return every result that is `worth_showing`.

        Raises:
            ValueError: the limit is not between 1 and 50.
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise ValueError(f"the limit must be a number from 1 to {MAX_LIMIT}")
        asked = both_ends(query, _LONGEST_QUERY)
        selected = self._select(scope, include_hidden)
        vectors, note, is_failure = self._embedded(asked)
        hits = self.index.hits(parse_query(asked), vectors, selected.among, _DEPTH * limit)
        if vectors and hits and all(hit.meaning is None for hit in hits):
            vectors, note = [], NO_VECTORS
        ranked = self._ranked(asked, hits, self._fusion(vectors), selected)
        if min_score is None:
            good = worth_showing(asked, ranked, self._fusion(vectors))
        else:
            good = [item for item in ranked if item.score >= min_score]
        is_asked = bool(asked.strip())  # an empty query has no nearest tools
        nearest = [item.tool.name for item in ranked[:_NEAREST]] if is_asked and not good else []
        shown = {item.tool.document_id for item in good[:limit]}
        return SearchResults(
            query=query,
            results=good[:limit],
            nearest=nearest,
            note=note,
            is_failure=is_failure,
            hits={hit.document_id: hit for hit in hits if hit.document_id in shown},
        )

    def close(self) -> None:
        """Drop this searcher's selections from the index."""
        for selected in self._selections.values():
            self.index.drop(selected.among)
        self._selections.clear()

    def _ranked(
        self, query: str, hits: Sequence[Hit], fusion: Fusion | RankFusion, selected: _Selected
    ) -> list[RankedTool]:
        matches = selected.names.find(query)
        found = [item for hit in hits for item in selected.by_document.get(hit.document_id, ())]
        found += [item for name in matches for item in selected.by_name[name]]
        found += tools_of_meant(query, found, matches, selected.by_server)
        return rank(query, found, fusion.scores(hits), matches)

    def _embedded(self, query: str) -> tuple[list[Vector], str | None, bool]:
        """Embed a query and its parts; return the vectors, a note, and whether embedding failed."""
        if self.embedder is None:
            return [], self.note, False
        if not self.index.has_vectors:
            return [], NO_VECTORS, False
        parts = query_parts(query) if self.embedder.fusion.part_weight else []
        try:
            vectors = [self.embedder.embed_query(text) for text in (query, *parts)]
        except EmbeddingError as failure:
            return [], f"{BY_WORDS_ALONE}: {failure}", True
        return vectors, _partial(self.missing), False

    def _fusion(self, vectors: Sequence[Vector]) -> Fusion | RankFusion:
        if self.fusion is not None:
            return self.fusion
        return self.embedder.fusion if vectors and self.embedder is not None else WORDS_ALONE

    def _select(self, scope: Scope | None, include_hidden: bool) -> _Selected:
        key = (scope, include_hidden)
        if key not in self._selections:
            chosen = [
                item
                for item in self.listed
                if (include_hidden or item.decision.is_available) and scope in (None, item.tool.scope)
            ]
            self._selections[key] = _Selected(chosen, self.index)
        return self._selections[key]


def _partial(missing: int) -> str | None:
    """Return a note if some tools are not embedded yet."""
    if not missing:
        return None
    what = "1 tool is" if missing == 1 else f"{missing} tools are"
    return f"{what} {BY_WORDS_ALONE} until embedded"


class SearchService:
    """Indexes the tools of workspaces and opens searchers for them."""

    def __init__(self, documents: SqlDocuments, engine: SearchEngine) -> None:
        self._documents = documents
        self._engine = engine

    def read(self, workspace: Workspace, *, is_hurried: bool) -> tuple[str | None, int]:
        """Index the tools of a workspace, as far as that is quick.

        Returns the reason if only words can be used, and the number of tools that are not embedded yet.
        """
        self._documents.read(workspace)
        model = self._engine.model
        if is_hurried or model is None:
            return None, 0
        missing = self._documents.without_vector(workspace, model)
        if self._engine.is_remote:
            return None, len(missing)
        try:
            return None, len(missing) - self._embed(model, missing, seconds=READING)
        except EmbeddingError as failure:
            return f"{BY_WORDS_ALONE}: {failure}", 0

    def searcher(
        self,
        listed: Sequence[ToolDecision],
        workspace: Workspace,
        note: str | None,
        *,
        in_memory: bool,
        missing: int = 0,
    ) -> Searcher:
        """Open a searcher; with a note, it uses words alone."""
        embedder, note = self._embedder(in_memory=in_memory) if note is None else (None, note)
        model = None if embedder is None else embedder.model
        if in_memory:
            if embedder is not None:
                embedder.embed_tools([])  # loads numpy, which speeds up queries
            index = self._engine.in_memory(
                self._documents.entries(workspace, model),
                WORDS_ALONE if embedder is None else embedder.fusion,
            )
        else:
            index = self._documents.index(workspace, model)
        return Searcher(listed, index, embedder, note, missing, self._engine.fusion)

    def index(
        self,
        workspace: Workspace,
        on_progress: OnProgress = lambda _done, _total: None,
        cancellation: Cancellation | None = None,
    ) -> int:
        """Embed the tools of a workspace that have no vector, and return how many were embedded.

        Raises:
            EmbeddingError: embedding failed.
        """
        self._documents.read(workspace)
        self._documents.add_words()
        model = self._engine.model
        if model is None:
            return 0
        missing = self._documents.without_vector(workspace, model)
        return self._embed(model, missing, on_progress, cancellation)

    def _embed(
        self,
        model: str,
        missing: Mapping[int, Document],
        on_progress: OnProgress = lambda _done, _total: None,
        cancellation: Cancellation | None = None,
        *,
        seconds: float | None = None,
    ) -> int:
        """Embed documents in batches, and return how many were embedded.

        Each batch is stored at once, so nothing is embedded again after an interruption. What another node
        embeds is left to it. With `seconds`, no batch is started later than that.
        """
        if not missing:
            return 0
        embedder, stop, done = self._engine.embedder(), cancellation or Cancellation(), 0
        deadline = math.inf if seconds is None else time.monotonic() + seconds  # without loading the model
        size = BATCH if seconds is None else _SMALL_BATCH
        with stop.interrupting(embedder.close):
            for at in range(0, len(missing), size):
                if stop.is_set or time.monotonic() >= deadline:
                    break
                on_progress(at, len(missing))
                batch = dict(islice(missing.items(), at, at + size))
                try:
                    with self._documents.claimed(model, batch) as own:
                        done += self._add_vectors(model, own, embedder)
                except EmbeddingError:
                    if stop.is_set:
                        break
                    raise
        return done

    def _add_vectors(self, model: str, documents: Mapping[int, Document], embedder: Embedder) -> int:
        if documents:
            vectors = embedder.embed_tools(list(documents.values()))
            self._documents.add_vectors(model, dict(zip(documents, vectors, strict=True)))
        return len(documents)

    def _embedder(self, *, in_memory: bool) -> tuple[Embedder | None, str | None]:
        """Open the embedder, or return why there is none."""
        if self._engine.model is None:
            return None, f"{BY_WORDS_ALONE}: no model is set"
        if not in_memory and not self._documents.can_compare():
            return None, f"{BY_WORDS_ALONE}: sqlite-vec cannot be loaded here"
        try:
            return self._engine.query_embedder(), None
        except EmbeddingError as failure:
            return None, f"{BY_WORDS_ALONE}: {failure}"


class _Selected:
    """A selection of a view's tools, by document and by name."""

    def __init__(self, listed: Sequence[ToolDecision], index: Index) -> None:
        self.by_document: dict[int, list[ToolDecision]] = {}
        self.by_name: dict[str, list[ToolDecision]] = {}
        for item in listed:
            self.by_name.setdefault(item.tool.name, []).append(item)
            if item.tool.document_id is not None:
                self.by_document.setdefault(item.tool.document_id, []).append(item)
        self.by_server = tools_by_server(listed)
        self.names = NameMatches([item.tool for item in listed])
        self.among: Selection = index.select(self.by_document)
