"""Combines shared words and similarity of meaning into one score per tool and query.

BM25 is not normalized, because its size shows how much of the query matched. The score is between 0 and 1
and comparable across queries: roughly the probability that the tool is the intended one. A tool that the
query names comes first, whatever else the query contains.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from remit.decision.decide import Decision, ToolDecision
from remit.decision.kinds import Kind, ToolStatus
from remit.decision.tool_lookup import closest_to_being_visible
from remit.decision.tools import Tool
from remit.search.documents import query_parts
from remit.search.name_matches import NameMatch, label_words, own_words, telling_words

RRF_K = 60

_CERTAINTY = {NameMatch.EXACT: 1.0, NameMatch.SAME_WORDS: 0.99, NameMatch.ONE_LETTER: 0.98}
_UNNAMED = 0.96  # highest score of a tool that the query does not name
_LESS_LIKELY = {ToolStatus.STALE: 0.5, ToolStatus.DEMOTED: 0.7}
_MOST_OF_SERVER = 3  # tools of a server that the query names, after its row
_AMONG_TOOLS = 0.02  # by how much the tools of a server that the query names differ
_BUILT_IN = 0.8  # agents know built-ins without a search


ServerKey = tuple[str, str | None, str | None]  # client, server, plugin


class Hit(NamedTuple):
    """A document found by an index."""

    document_id: int
    words: float  # BM25; 0 if no word matches
    meaning: float | None  # cosine; None if the document has no vector
    part: float | None = None  # best cosine among the query's parts, if it has several


class RankedTool(NamedTuple):
    """A found tool with its decision and score."""

    tool: Tool
    decision: Decision
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults:
    """The results of a search, best first."""

    query: str
    results: Sequence[RankedTool]
    nearest: Sequence[str] = ()  # the closest names, if no result is good enough
    note: str | None = None  # why search used words alone, if it did
    is_failure: bool = False  # whether it did because embedding the query failed
    hits: Mapping[int, Hit] = field(default_factory=dict[int, Hit])  # of the results, by document

    def hit(self, item: RankedTool) -> Hit | None:
        """Return what the index found of a result; None if only its name was found."""
        return None if item.tool.document_id is None else self.hits.get(item.tool.document_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """Combines a model's cosine with BM25 into one score; calibrated on evaluation sets."""

    word_weight: float = 0.02  # weight of BM25, relative to the cosine
    part_weight: float = 0.0  # weight of the best part's cosine, relative to the whole query
    lone_word_weight: float = 0.1  # weight of BM25 for documents without a vector
    expected: float = 0.53  # share of the best BM25 to subtract: long queries match more words by chance
    steepness: float = 8.27
    midpoint: float = 0.666  # the remaining sum at which a tool is as likely as not
    confidence: float = 0.052  # if the best result scores lower, all results are noise
    noise: float = 0.016  # a result that scores lower is always noise
    far_below: float = 0.08  # share of the best score; what scores lower is far below it

    def by_words(self, hit: Hit) -> float:
        """Return the weighted BM25 score."""
        return hit.words * (self.lone_word_weight if hit.meaning is None else self.word_weight)

    def by_meaning(self, hit: Hit) -> float:
        """Combine the cosines of the query and of its best part."""
        if hit.part is None:
            return hit.meaning or 0.0
        return ((hit.meaning or 0.0) + self.part_weight * hit.part) / (1 + self.part_weight)

    def raw(self, hit: Hit) -> float:
        """Add the scores by words and by meaning."""
        return self.by_meaning(hit) + self.by_words(hit)

    def scores(self, hits: Iterable[Hit]) -> dict[int, float]:
        """Return the probability of each document, between 0 and 1."""
        found = list(hits)
        by_words = [self.by_words(hit) for hit in found]
        even = self.midpoint + self.expected * max(by_words, default=0.0)
        return {
            hit.document_id: _likelihood(self.steepness * (self.by_meaning(hit) + words - even))
            for hit, words in zip(found, by_words, strict=True)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFusion:
    """Combines the ranks by words and by meaning with reciprocal rank fusion."""

    k: int = RRF_K
    confidence: float = 0.0  # ranks do not show how good the best result is
    noise: float = 0.0
    far_below: float = 0.0

    def scores(self, hits: Iterable[Hit]) -> dict[int, float]:
        """Return the score of each document, between 0 and 1; 1 means first by words and by meaning."""
        found = list(hits)
        scores = {hit.document_id: 0.0 for hit in found}
        by_words = sorted((-hit.words, hit.document_id) for hit in found if hit.words > 0)
        by_meaning = sorted((-hit.meaning, hit.document_id) for hit in found if hit.meaning is not None)
        for ranked in (by_words, by_meaning):
            for rank, (_, document) in enumerate(ranked, start=1):
                scores[document] += (self.k + 1) / (self.k + rank) / 2
        return scores


def _likelihood(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def rank(
    query: str,
    found: Iterable[ToolDecision],
    scores: Mapping[int, float],
    matches: Mapping[str, NameMatch],
) -> list[RankedTool]:
    """Rank tools, best first, with each name once.

    `scores` maps document ids to scores; `matches` maps the names in the query to the kind of match.
    """
    ranked = [_ranked(item, scores, matches) for item in _each_once(found)]
    return _servers_and_tools(query, ranked, matches)


def _ranked(item: ToolDecision, scores: Mapping[int, float], matches: Mapping[str, NameMatch]) -> RankedTool:
    tool, decision = item
    score = scores.get(tool.document_id or 0, 0.0)
    if (match := matches.get(tool.name)) is not None:
        # Among equal matches, the closer meaning comes first.
        return RankedTool(
            tool, decision, _CERTAINTY[match] - 0.01 * (1 - score) * (match is not NameMatch.EXACT)
        )
    score *= _UNNAMED * _LESS_LIKELY.get(tool.status, 1.0)
    return RankedTool(tool, decision, score * (_BUILT_IN if tool.kind is Kind.BUILTIN else 1.0))


def _best_first(item: RankedTool) -> tuple[float, bool, float, int, str, str]:
    tool, decision, score = item
    likely = _LESS_LIKELY.get(tool.status, 1.0)  # breaks ties between equal scores
    return -score, not decision.is_available, -likely, -tool.usage_count, tool.name, tool.client


def _each_once(found: Iterable[ToolDecision]) -> list[ToolDecision]:
    """For each name, keep the row that is closest to being visible."""
    best: dict[tuple[str, str], ToolDecision] = {}
    for item in found:
        key = (item.tool.client, item.tool.name)
        known = best.get(key)
        if known is None or closest_to_being_visible(item) < closest_to_being_visible(known):
            best[key] = item
    return list(best.values())


def worth_showing(
    query: str, ranked: Sequence[RankedTool], fusion: Fusion | RankFusion
) -> Sequence[RankedTool]:
    """Drop noise and what scores far below the best result.

    If even the best is uncertain, all results are noise. If a query asks for several things, each has a best
    result of its own, so only noise is dropped.
    """
    best = ranked[0].score if ranked else 0.0
    least = fusion.noise if best >= fusion.confidence else fusion.confidence
    if not query_parts(query):
        least = max(least, fusion.far_below * best)
    return [item for item in ranked if item.score >= least]


def _servers_and_tools(
    query: str, ranked: Sequence[RankedTool], matches: Mapping[str, NameMatch]
) -> list[RankedTool]:
    """Keep the row of a server that the query means, with its best tools; of others, the tools or the row."""
    servers = {_home(it.tool): it for it in ranked if it.tool.kind is Kind.MCP_SERVER}
    tools = [item.tool for item in ranked if item.tool.kind is Kind.MCP_TOOL]
    words = set(telling_words(query))
    may_be_part = not any(words & own_words(tool) for tool in tools)  # of a server's name
    meant = {
        home: row.score
        for home, row in servers.items()
        if row.tool.name in matches or (may_be_part and _has_in_label(row.tool, words))
    }
    dropped = {_home(tool) for tool in tools} - meant.keys()
    kept = (
        _lifted(item, meant.get(_home(item.tool), 0.0))
        for item in ranked
        if item.tool.kind is not Kind.MCP_SERVER or _home(item.tool) not in dropped
    )
    found: list[RankedTool] = []
    counts = Counter[ServerKey]()
    for item in sorted(kept, key=_best_first):
        home = _home(item.tool)
        is_one_of_many = item.tool.kind is Kind.MCP_TOOL and home in meant and item.tool.name not in matches
        counts[home] += is_one_of_many
        if not is_one_of_many or counts[home] <= _MOST_OF_SERVER:
            found.append(item)
    return found


def _lifted(item: RankedTool, score: float) -> RankedTool:
    """Give a tool about the score of its server, which the query means; the best tool stays the best."""
    if item.tool.kind is not Kind.MCP_TOOL:
        return item
    lifted = score * (1 - _AMONG_TOOLS * (1 - item.score)) * _LESS_LIKELY.get(item.tool.status, 1.0)
    return item._replace(score=max(item.score, lifted))


def tools_by_server(listed: Iterable[ToolDecision]) -> dict[ServerKey, list[ToolDecision]]:
    """Group tools by their server."""
    found: dict[ServerKey, list[ToolDecision]] = {}
    for item in listed:
        if item.tool.kind is Kind.MCP_TOOL:
            found.setdefault(_home(item.tool), []).append(item)
    return found


def tools_of_meant(
    query: str,
    found: Iterable[ToolDecision],
    matches: Mapping[str, NameMatch],
    known: Mapping[ServerKey, Sequence[ToolDecision]],
) -> list[ToolDecision]:
    """List the tools of the servers that a query may mean, whatever words these tools have."""
    words = set(telling_words(query))
    rows = (item.tool for item in found if item.tool.kind is Kind.MCP_SERVER)
    homes = {_home(row) for row in rows if row.name in matches or _has_in_label(row, words)}
    return [item for home in homes for item in known.get(home, ())]


def _has_in_label(server: Tool, words: set[str]) -> bool:
    """Tell whether the name of a server has all words of a query."""
    return bool(words) and words <= set(label_words(server))


def _home(tool: Tool) -> ServerKey:
    return tool.client, tool.server, tool.plugin
