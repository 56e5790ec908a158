"""Finds tools by name, by the words and by the meaning of a query."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from remit.decision import Definition, Scope, Tool, ToolDecision, holds_text, without_text
from remit.errors import EmbeddingError
from remit.search.documents import (
    Document,
    both_ends,
    document_key,
    indexed_columns,
    parse_query,
    query_parts,
    query_words,
    reworded,
    tool_document,
)
from remit.search.index import Index
from remit.search.models import Embedder, Vector
from remit.search.ranking import (
    WORDS_ALONE,
    Fusion,
    Hit,
    Names,
    RankedTool,
    builtins_last,
    meant_servers,
    rank,
    successors_of,
    tools_by_server,
    worth_showing,
)

DEFAULT_LIMIT, MAX_LIMIT = 20, 50  # results
BY_WORDS_ALONE = "found by words alone"
NO_MODEL = f"{BY_WORDS_ALONE}: no model is set"
NO_VECTORS = f"{BY_WORDS_ALONE}: no tool here has a vector of this model yet"
_DEPTH = 2  # multiple of the limit that the index returns for ranking
_NEAREST = 3
_LONGEST_QUERY = 10_000  # characters; the middle of a longer one is ignored


class SearchResults(NamedTuple):
    """The results of a search, best first."""

    query: str
    results: Sequence[RankedTool]
    nearest: Sequence[str] = ()  # the closest names, if no result is good enough
    note: str | None = None  # why search used words alone, if it did


def text_key(tool: Tool) -> str:
    """Return what tells the text of a tool from others: of a held definition, only the name."""
    readable = without_text(tool) if holds_text(tool) else tool
    return readable.definition or "\n".join((tool.name, tool.server or "", readable.description or ""))


def tool_documents(tools: Iterable[Tool], definitions: Mapping[str, Definition]) -> dict[str, Document]:
    """Build the documents of tools by `text_key`; `definitions` maps digests to definitions."""
    documents: dict[str, Document] = {}
    for tool in tools:
        readable = without_text(tool) if holds_text(tool) else tool
        if (key := text_key(tool)) not in documents:
            documents[key] = tool_document(readable, definitions.get(readable.definition or ""))
    return documents


class ToolIndex:
    """The documents of tools, indexed once for many searchers."""

    def __init__(
        self,
        documents: Mapping[str, Document],
        model: Embedder | None,
        kept: Mapping[str, Vector] | None = None,
    ) -> None:
        """Index documents; `kept` has the vectors of a slow model by `document_key`."""
        self.model = model
        self._rows = {key: row for row, key in enumerate(documents)}
        vectors: Sequence[Vector | None] | None = None
        if model is not None and not model.is_slow:
            vectors = model.embed_tools(list(documents.values()))
        elif kept:
            vectors = [kept.get(document_key(document)) for document in documents.values()]
        self.index = Index([indexed_columns(document) for document in documents.values()], vectors)
        self.missing = sum(vector is None for vector in vectors or ()) if kept else 0

    def row(self, tool: Tool) -> int:
        """Return the position of a tool's document; -1 if it was not indexed."""
        return self._rows.get(text_key(tool), -1)


class Searcher:
    """Searches a fixed set of tools, many times."""

    def __init__(self, index: ToolIndex, listed: Sequence[ToolDecision]) -> None:
        self._index = index
        self._listed = listed
        self._selections: dict[tuple[Scope | None, bool], _Selected] = {}

    def search(
        self,
        query: str,
        *,
        scope: Scope | None = None,
        include_hidden: bool = False,
        limit: int = DEFAULT_LIMIT,
        min_score: float | None = None,
    ) -> SearchResults:
        """Find the tools for a query; without `min_score`, return every result that is `worth_showing`.

        Raises:
            ValueError: the limit is not between 1 and 50.
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise ValueError(f"the limit must be a number from 1 to {MAX_LIMIT}")
        asked = reworded(both_ends(query, _LONGEST_QUERY))
        selected = self._select(scope, include_hidden)
        vectors, fusion, note = self._embedded(asked)
        hits = self._index.index.hits(parse_query(asked), vectors, fusion, _DEPTH * limit, selected.rows)
        if vectors and hits and all(hit.meaning is None for hit in hits):
            fusion, note = WORDS_ALONE, NO_VECTORS
        ranked = self._ranked(asked, hits, fusion, selected)
        if min_score is None:
            good = worth_showing(asked, ranked, fusion)
        else:
            good = [item for item in ranked if item.score >= min_score]
        is_asked = bool(asked.strip())  # an empty query has no nearest tools
        nearest = [item.tool.name for item in ranked[:_NEAREST]] if is_asked and not good else []
        return SearchResults(query, builtins_last(good)[:limit], nearest, note)

    def _ranked(
        self, query: str, hits: Sequence[Hit], fusion: Fusion, selected: "_Selected"
    ) -> list[RankedTool]:
        words = query_words(query)
        is_said = len(words) == 1 and self._index.index.contains(words[0])
        matches = selected.names.find(query, may_be_typo=not is_said)
        by_row = {hit.document: hit for hit in hits}
        found = [(item, hit) for hit in hits for item in selected.by_row[hit.document]]
        rows = (item.tool for item, _ in found)
        named = [item for name in matches for item in selected.by_name[name]]
        servers = meant_servers(query, (*rows, *(item.tool for item in named)), matches)
        named += [item for server in servers for item in selected.by_server.get(server, ())]
        found += [(item, by_row.get(self._index.row(item.tool))) for item in named]
        return rank(query, found, fusion.scores(hits), matches, selected.successors)

    def _embedded(self, query: str) -> tuple[list[Vector], Fusion, str | None]:
        """Embed a query and its parts; return the vectors, how to use them, and why there are none."""
        model = self._index.model
        if model is None:
            return [], WORDS_ALONE, NO_MODEL
        if not self._index.index.has_vectors:
            return [], WORDS_ALONE, NO_VECTORS
        parts = query_parts(query) if model.fusion.part_weight else []
        try:
            vectors = [model.embed_query(text) for text in (query, *parts)]
        except EmbeddingError as error:
            return [], WORDS_ALONE, f"{BY_WORDS_ALONE}: {error}"
        return vectors, model.fusion, _partial(self._index.missing)

    def _select(self, scope: Scope | None, include_hidden: bool) -> "_Selected":
        key = (scope, include_hidden)
        if key not in self._selections:
            chosen = [
                item
                for item in self._listed
                if (include_hidden or item.decision.is_available) and scope in (None, item.tool.scope)
            ]
            self._selections[key] = _Selected(chosen, self._index)
        return self._selections[key]


def _partial(missing: int) -> str | None:
    """Return a note if some tools have no vector yet."""
    if not missing:
        return None
    what = "1 tool is" if missing == 1 else f"{missing} tools are"
    return f"{what} {BY_WORDS_ALONE} until embedded"


class _Selected:
    """A selection of tools, by document, name and server."""

    def __init__(self, listed: Sequence[ToolDecision], index: ToolIndex) -> None:
        self.by_row: dict[int, list[ToolDecision]] = {}
        self.by_name: dict[str, list[ToolDecision]] = {}
        for item in listed:
            self.by_name.setdefault(item.tool.name, []).append(item)
            if (row := index.row(item.tool)) >= 0:
                self.by_row.setdefault(row, []).append(item)
        self.by_server = tools_by_server(listed)
        self.successors = successors_of(listed)
        self.names = Names([item.tool for item in listed])
        # None: all documents, which is faster
        self.rows = None if len(self.by_row) == len(index.index) else sorted(self.by_row)
