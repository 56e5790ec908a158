"""Measures how well a search ranks the relevant tools of a query."""

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from remit.search.given_tools import GivenTool

DEPTH = 10


class EvaluationQuery(NamedTuple):
    """A query and the positions of its relevant tools."""

    text: str
    relevant: frozenset[int]


class EvaluationSet(NamedTuple):
    """Tools, and queries with known relevant tools."""

    tools: Sequence[GivenTool]
    questions: Sequence[EvaluationQuery]
    left_out: int = 0  # queries without a relevant tool


class RankingMetrics(NamedTuple):
    """The quality of a ranking, each metric between 0 and 1."""

    recall_at_1: float  # share of the relevant tools in first place
    recall_at_5: float
    recall_at_10: float
    ndcg_at_10: float  # 1 if no irrelevant tool ranks above a relevant one
    mrr: float  # reciprocal rank of the first relevant tool


def measure(found: Sequence[int], relevant: Collection[int]) -> RankingMetrics:
    """Compare a ranking, best first, with the relevant tools."""
    ranks = [rank for rank, place in enumerate(found, start=1) if place in relevant]
    ideal = sum(_gain(rank) for rank in range(1, min(len(relevant), DEPTH) + 1))
    return RankingMetrics(
        recall_at_1=_within(1, ranks) / len(relevant),
        recall_at_5=_within(5, ranks) / len(relevant),
        recall_at_10=_within(DEPTH, ranks) / len(relevant),
        ndcg_at_10=sum(_gain(rank) for rank in ranks if rank <= DEPTH) / ideal,
        mrr=1 / ranks[0] if ranks else 0.0,
    )


def mean(measures: Sequence[RankingMetrics]) -> RankingMetrics:
    """Average the metrics over all queries."""
    return RankingMetrics(*(math.fsum(column) / len(measures) for column in zip(*measures, strict=True)))


def percentile(samples: Sequence[float], share: float) -> float:
    """Return the value that this share of the samples does not exceed."""
    return sorted(samples)[max(math.ceil(share * len(samples)) - 1, 0)]


def _within(depth: int, ranks: Sequence[int]) -> int:
    return sum(rank <= depth for rank in ranks)


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 1)
