"""Indexes given tools, and filters them by a query or a conversation."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from remit.decision.decide import ToolDecision
from remit.search.conversation import WeightedText, weighted_texts
from remit.search.documents import Document, indexed_columns
from remit.search.engine import SearchEngine, open_engine
from remit.search.given_tools import (
    GivenTool,
    as_listed,
    declared_tools,
    read_tool,
    type_name,
    with_declared,
)
from remit.search.ports import Embedder, Index, IndexEntry, Vector
from remit.search.search_service import WORDS_ALONE, Searcher
from remit.settings import DEFAULT_LIMIT, MAX_LIMIT

MOST_VECTORS = 20_000  # 1 KB each with the bundled model
AnyTool = TypeVar("AnyTool")
Patterns = tuple[str, ...]

_MOST_LISTS = 4  # tool lists that stay indexed
_MOST_CHOICES = 16  # combinations of patterns cached per list


class VectorCache:
    """A cache of vectors by the content of tools; evicts the least recently used."""

    def __init__(self, most: int = MOST_VECTORS) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, Document], Vector] = OrderedDict()

    def of(self, documents: Sequence[Document], embedder: Embedder) -> list[Vector]:
        """Return the vectors of tools, embedding only those not in the cache.

        Raises:
            EmbeddingError: embedding failed.
        """
        keys = [(embedder.model, document) for document in documents]
        new = list(dict.fromkeys(key for key in keys if key not in self._kept))
        made = dict(zip(new, embedder.embed_tools([document for _, document in new]), strict=True))
        vectors = [made.get(key) or self._kept[key] for key in keys]
        for key, vector in zip(keys, vectors, strict=True):
            self._kept[key] = vector
            self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return vectors


class ToolCollection:
    """A searchable collection of tools; a result's `document_id` is the position of its tool."""

    def __init__(
        self, tools: Sequence[GivenTool], engine: SearchEngine, vectors: VectorCache | None = None
    ) -> None:
        """Index tools.

        Raises:
            EmbeddingError: embedding failed.
        """
        self.listed = as_listed(tools)
        self.embedder = None if engine.model is None else engine.embedder()
        self._fusion = engine.fusion
        self.index = self._open(tools, engine, vectors or VectorCache(len(tools)))

    def searcher(self, among: Sequence[ToolDecision] | None = None) -> Searcher:
        """Open a searcher over all tools, or over the given ones."""
        return Searcher(
            self.listed if among is None else among, self.index, self.embedder, fusion=self._fusion
        )

    def _open(self, tools: Sequence[GivenTool], engine: SearchEngine, vectors: VectorCache) -> Index:
        documents = [tool.document for tool in tools]
        known: Sequence[Vector | None] = [None] * len(tools)
        if self.embedder is not None:
            known = vectors.of(documents, self.embedder)
        entries = (
            IndexEntry(at, indexed_columns(document), vector)
            for at, (document, vector) in enumerate(zip(documents, known, strict=True))
        )
        return engine.in_memory(entries, WORDS_ALONE if self.embedder is None else self.embedder.fusion)


def filter_tools(
    tools: Sequence[AnyTool],
    query_or_messages: str | Iterable[object],
    top_k: int = DEFAULT_LIMIT,
    min_score: float | None = 0.0,
    always_include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
) -> list[AnyTool]:
    """Return the given tools that match a query or the last messages of a conversation.

    The tools in `always_include` come first, in their original order, then the best of the others until
    there are `top_k`. Both lists take names and patterns such as `git_*`; `exclude` beats `always_include`.
    A score is between 0 and 1, roughly the probability that a tool is meant; a `min_score` of `None` drops
    noise. A Google tool that declares several functions comes back as a copy with the chosen ones.

    Raises:
        EmbeddingError: embedding failed.
        TypeError: the format of a tool or message is not supported, or `top_k` is not a whole number.
        ValueError: `top_k` is not between 1 and 50, or there is no text to choose by.
    """
    check_top_k(top_k)
    return ToolFilter(tools)(query_or_messages, top_k, min_score, always_include, exclude)


def check_top_k(top_k: object) -> None:
    """Check how many tools to return.

    Raises:
        TypeError: it is not a whole number.
        ValueError: it is not between 1 and 50.
    """
    if not isinstance(top_k, int) or isinstance(top_k, bool):
        raise TypeError(f"`top_k` must be a whole number from 1 to {MAX_LIMIT}, not `{type_name(top_k)}`")
    if not 1 <= top_k <= MAX_LIMIT:
        raise ValueError(f"`top_k` must be between 1 and {MAX_LIMIT}, not {top_k}")


class ToolFilter(Generic[AnyTool]):
    """A list of tools that is indexed once and filtered many times."""

    def __init__(self, tools: Sequence[AnyTool]) -> None:
        """Index the tools.

        Raises:
            EmbeddingError: embedding failed.
            TypeError: the format of a tool is not supported.
        """
        self._tools = list(_checked(tools))
        self._places = list(_places(self._tools))
        self._filtered = _CACHE.filtered([_read(place) for place in self._places])

    def __call__(
        self,
        query_or_messages: str | Iterable[object],
        top_k: int = DEFAULT_LIMIT,
        min_score: float | None = 0.0,
        always_include: str | Iterable[str] = (),
        exclude: str | Iterable[str] = (),
    ) -> list[AnyTool]:
        """Filter the tools like `filter_tools`."""
        chosen = self._filtered.choose(
            query_or_messages, top_k, min_score, _patterns(always_include), _patterns(exclude)
        )
        declared: dict[int, list[object]] = {}
        for place in (self._places[at] for at in chosen):
            declared.setdefault(place.at, []).append(place.tool)
        return [self._chosen(at, tools) for at, tools in declared.items()]

    def _chosen(self, at: int, chosen: Sequence[object]) -> AnyTool:
        tool = self._tools[at]
        return tool if chosen[0] is tool else with_declared(tool, chosen)


class _Place(NamedTuple):
    """A tool and the position of the given object that is or holds it."""

    at: int
    tool: object


def _places(tools: Sequence[object]) -> Iterator[_Place]:
    for at, tool in enumerate(tools):
        declared = declared_tools(tool)
        for inner in [tool] if declared is None else declared:
            yield _Place(at, inner)


def _checked(tools: Iterable[AnyTool]) -> Iterable[AnyTool]:
    given: Any = tools
    if not isinstance(given, Iterable) or isinstance(given, str | Mapping):
        raise TypeError(f"`tools` must be a list of tools, not `{type_name(tools)}`")
    return tools


def _read(place: _Place) -> GivenTool:
    try:
        return read_tool(place.tool)
    except TypeError as error:
        raise TypeError(f"tools[{place.at}]: {error}") from None


class _Choice(NamedTuple):
    """The tools of a list that remain after applying the patterns."""

    always: Sequence[int]
    others: Searcher


class _FilteredTools:
    """An indexed list of tools, addressed by position."""

    def __init__(self, tools: Sequence[GivenTool], engine: SearchEngine, vectors: VectorCache) -> None:
        self._collection = ToolCollection(tools, engine, vectors)
        self._names = [
            {item.tool.name, tool.name} for item, tool in zip(self._collection.listed, tools, strict=True)
        ]
        self._choices: OrderedDict[tuple[Patterns, Patterns], _Choice] = OrderedDict()

    def choose(
        self,
        query_or_messages: str | Iterable[object],
        top_k: int,
        min_score: float | None,
        always_include: Patterns,
        exclude: Patterns,
    ) -> list[int]:
        """Return the positions of the chosen tools."""
        check_top_k(top_k)
        always, others = self._choice(always_include, exclude)
        texts = weighted_texts(query_or_messages)
        if self._names and not texts and not always:
            raise ValueError(
                "there is no text from a user or an agent to choose tools by; "
                "pass a query, or name tools in `always_include`"
            )
        found = _found(others, texts, min_score)
        return [*always, *found[: max(top_k - len(always), 0)]]

    def _choice(self, always_include: Patterns, exclude: Patterns) -> _Choice:
        """Apply the patterns before searching, so excluded tools take no place in the results."""
        key = (always_include, exclude)
        if key not in self._choices:
            left = [at for at, names in enumerate(self._names) if not _match(names, exclude)]
            always = [at for at in left if _match(self._names[at], always_include)]
            others = [self._collection.listed[at] for at in left if at not in set(always)]
            self._choices[key] = _Choice(always, self._collection.searcher(others))
            _drop_oldest(self._choices, _MOST_CHOICES)
        return self._choices[key]


class _FilterCache:
    """The state between calls: the model, vectors by content, and the most recent lists."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._engine: SearchEngine | None = None
        self._vectors = VectorCache()
        self._lists: OrderedDict[tuple[GivenTool, ...], _FilteredTools] = OrderedDict()

    def filtered(self, tools: Sequence[GivenTool]) -> _FilteredTools:
        """Return the indexed tools, indexing them if needed."""
        key = tuple(tools)
        with self._lock:
            if self._engine is None:
                self._engine = open_engine()
            if key not in self._lists:
                self._lists[key] = _FilteredTools(tools, self._engine, self._vectors)
                _drop_oldest(self._lists, _MOST_LISTS)
            self._lists.move_to_end(key)
            return self._lists[key]


_CACHE = _FilterCache()


def _found(searcher: Searcher, texts: Sequence[WeightedText], min_score: float | None) -> list[int]:
    """Return the positions of the found tools, best first, ranking each by its best message."""
    scores: dict[int, float] = {}
    for text, weight in texts:
        least = None if min_score is None else min_score / weight
        for tool, _, score in searcher.search(text, limit=MAX_LIMIT, min_score=least).results:
            place = tool.document_id or 0
            scores[place] = max(scores.get(place, 0.0), weight * score)
    return sorted(scores, key=lambda place: (-scores[place], place))


def _patterns(given: str | Iterable[str]) -> Patterns:
    return (given,) if isinstance(given, str) else tuple(given)


def _match(names: Iterable[str], patterns: Patterns) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _drop_oldest(kept: OrderedDict[Any, Any], most: int) -> None:
    while len(kept) > most:
        kept.popitem(last=False)
