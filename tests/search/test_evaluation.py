"""How rankings are measured."""

import math

import pytest

from remit.search.evaluation import RankingMetrics, mean, measure, percentile


def test_one_answer_that_comes_first_is_perfect() -> None:
    assert measure([4, 1, 2], {4}) == RankingMetrics(1, 1, 1, 1, 1)


def test_nothing_that_answers_is_nothing() -> None:
    assert measure([1, 2, 3], {4}) == RankingMetrics(0, 0, 0, 0, 0)
    assert measure([], {4}) == RankingMetrics(0, 0, 0, 0, 0)


def test_recall_is_a_share_of_each_querys_answers() -> None:
    found = measure([9, 1, 8, 2, 7, 3, 6], {1, 2, 3, 4})
    assert (found.recall_at_1, found.recall_at_5, found.recall_at_10) == (0, 0.5, 0.75)
    assert found.mrr == 1 / 2


def test_an_answer_counts_less_the_lower_it_stands() -> None:
    ideal = 1 + 1 / math.log2(3)
    assert measure([1, 9, 2], {1, 2}).ndcg_at_10 == pytest.approx((1 + 1 / math.log2(4)) / ideal)
    assert measure([1, 2, 9], {1, 2}).ndcg_at_10 == 1


def test_what_stands_below_the_tenth_place_counts_for_the_first_answer_alone() -> None:
    found = measure([*range(100, 111), 1], {1})
    assert found == RankingMetrics(0, 0, 0, 0, 1 / 12)


def test_more_than_ten_answers_can_still_be_ranked_perfectly() -> None:
    assert measure(list(range(10)), set(range(20))).ndcg_at_10 == 1


def test_every_query_counts_the_same() -> None:
    assert mean([RankingMetrics(1, 1, 1, 1, 1), RankingMetrics(0, 0, 0.5, 0.5, 0.25)]) == RankingMetrics(
        0.5, 0.5, 0.75, 0.75, 0.625
    )


def test_a_percentile_is_one_of_the_samples() -> None:
    samples = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [percentile(samples, share) for share in (0, 0.5, 0.95, 1)] == [1, 3, 5, 5]
