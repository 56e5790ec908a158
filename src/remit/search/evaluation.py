"""Evaluation: how well a search ranks the tools that are known to answer its queries."""

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from remit.search.given_tools import GivenTool

DEPTH = 10


class EvaluationQuery(NamedTuple):
    """A query, and the places of the tools that answer it."""

    text: str
    relevant: frozenset[int]


class EvaluationSet(NamedTuple):
    """Tools, and queries whose answers among them are known."""

    tools: Sequence[GivenTool]
    questions: Sequence[EvaluationQuery]
    left_out: int = 0  # queries that none of the tools answers


class RankingMetrics(NamedTuple):
    """How good a ranking is: each a fraction of 1."""

    recall_at_1: float  # of the tools that answer, how many are first; at most one is
    recall_at_5: float
    recall_at_10: float
    ndcg_at_10: float  # how near to the top they are; 1 when nothing else is before them
    mrr: float  # one divided by the rank of the first


def measure(found: Sequence[int], relevant: Collection[int]) -> RankingMetrics:
    """Measure one ranking, the best first, against the tools that answer."""
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
    """Average over queries, each of which counts the same."""
    return RankingMetrics(*(math.fsum(column) / len(measures) for column in zip(*measures, strict=True)))


def percentile(samples: Sequence[float], share: float) -> float:
    """The value that this share of the samples does not exceed."""
    return sorted(samples)[max(math.ceil(share * len(samples)) - 1, 0)]


def _within(depth: int, ranks: Sequence[int]) -> int:
    return sum(rank <= depth for rank in ranks)


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 1)
