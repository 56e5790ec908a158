"""Filters given tools by a query or a conversation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from remit.search.conversation import WeightedText, weighted_texts
from remit.search.given import (
    GivenTool,
    as_listed,
    declared_tools,
    read_tool,
    type_name,
    with_declared,
)
from remit.search.models import Embedder, open_model, vectors_of
from remit.search.searcher import DEFAULT_LIMIT, MAX_LIMIT, Searcher, ToolIndex

AnyTool = TypeVar("AnyTool")
Patterns = tuple[str, ...]

_MOST_LISTS = 4  # tool lists that stay indexed
_MOST_CHOICES = 16  # combinations of patterns that stay selected, per list


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


class _Place(NamedTuple):
    """A tool and the position of the given object that is or holds it."""

    at: int
    tool: object


class ToolFilter(Generic[AnyTool]):
    """A list of tools that is indexed once and filtered many times."""

    def __init__(self, tools: Sequence[AnyTool], model: Embedder | None = None) -> None:
        """Index the tools with a model, by default the bundled one.

        Raises:
            EmbeddingError: embedding failed.
            TypeError: the format of a tool is not supported.
        """
        given: Any = tools
        if not isinstance(given, Iterable) or isinstance(given, str | Mapping):
            raise TypeError(f"`tools` must be a list of tools, not `{type_name(tools)}`")
        self._tools = list(tools)
        self._places = list(_places(self._tools))
        self._indexed = _indexed(tuple(map(_read, self._places)), model)

    def __call__(
        self,
        query_or_messages: str | Iterable[object],
        top_k: int = DEFAULT_LIMIT,
        min_score: float | None = 0.0,
        always_include: str | Iterable[str] = (),
        exclude: str | Iterable[str] = (),
    ) -> list[AnyTool]:
        """Filter the tools like `filter_tools`."""
        check_top_k(top_k)
        always, others = self._indexed.choice(_patterns(always_include), _patterns(exclude))
        texts = weighted_texts(query_or_messages)
        if self._places and not texts and not always:
            raise ValueError(
                "there is no text from a user or an agent to choose tools by; "
                "pass a query, or name tools in `always_include`"
            )
        best = _best(others, texts, min_score)[: max(top_k - len(always), 0)]
        chosen: dict[int, list[object]] = {}
        for place in (self._places[at] for at in (*always, *best)):
            chosen.setdefault(place.at, []).append(place.tool)
        return [self._chosen(at, inner) for at, inner in chosen.items()]

    def _chosen(self, at: int, inner: Sequence[object]) -> AnyTool:
        tool = self._tools[at]
        return tool if inner[0] is tool else with_declared(tool, inner)


def _places(tools: Sequence[object]) -> Iterator[_Place]:
    for at, tool in enumerate(tools):
        declared = declared_tools(tool)
        for inner in [tool] if declared is None else declared:
            yield _Place(at, inner)


def _read(place: _Place) -> GivenTool:
    try:
        return read_tool(place.tool)
    except TypeError as error:
        raise TypeError(f"tools[{place.at}]: {error}") from None


class _IndexedTools:
    """An indexed list of tools, addressed by position."""

    def __init__(self, tools: Sequence[GivenTool], model: Embedder | None) -> None:
        self._listed = as_listed(tools)
        documents = {str(at): tool.document for at, tool in enumerate(tools)}
        kept = vectors_of([*documents.values()], model, {}) if model is not None and model.is_slow else None
        self._index = ToolIndex(documents, model, kept)
        self._names = [{item.tool.name, tool.name} for item, tool in zip(self._listed, tools, strict=True)]
        self.choice = lru_cache(_MOST_CHOICES)(self._choice)

    def _choice(self, always_include: Patterns, exclude: Patterns) -> tuple[Sequence[int], Searcher]:
        """Apply the patterns before searching, so excluded tools take no place in the results."""
        left = [at for at, names in enumerate(self._names) if not _match(names, exclude)]
        always = [at for at in left if _match(self._names[at], always_include)]
        others = [self._listed[at] for at in left if at not in set(always)]
        return always, Searcher(self._index, others)


@lru_cache(_MOST_LISTS)
def _indexed(tools: tuple[GivenTool, ...], model: Embedder | None) -> _IndexedTools:
    return _IndexedTools(tools, model or _bundled_model())


@cache
def _bundled_model() -> Embedder | None:
    return open_model()


def _best(searcher: Searcher, texts: Sequence[WeightedText], min_score: float | None) -> list[int]:
    """Return the positions of the found tools, best first, ranking each by its best message."""
    scores: dict[int, float] = {}
    for text, weight in texts:
        least = None if min_score is None else min_score / weight
        for item in searcher.search(text, limit=MAX_LIMIT, min_score=least).results:
            at = int(item.tool.client)
            scores[at] = max(scores.get(at, 0.0), weight * item.score)
    return sorted(scores, key=lambda at: (-scores[at], at))


def _patterns(given: str | Iterable[str]) -> Patterns:
    return (given,) if isinstance(given, str) else tuple(given)


def _match(names: Iterable[str], patterns: Patterns) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
