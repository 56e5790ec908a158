"""Fits logistic regression by dual coordinate descent, in seconds; needs numba.

The method is that of Yu, Huang and Lin, "Dual coordinate descent methods for logistic regression" (2011).
"""

import numba
import numpy as np
from numpy.typing import NDArray

ROUNDS = (8, 5, 5)  # passes over the examples, in each round
HARD, EASY = (
    4.0,
    0.4,
)  # after a round: the weight of harmless sentences near an attack, of attacks without signs
BIAS = 3.0  # of the constant feature, large enough to be hardly regularized
EDGE = 1e-10

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@numba.njit(cache=True)
def descend(starts, columns, signs, costs, weights, duals, order, passes):
    """Improve the weights in place, one example after another."""
    size = len(weights) - 1
    for _ in range(passes):
        np.random.shuffle(order)
        for at in order:
            begin, end, cost = starts[at], starts[at + 1], costs[at]
            margin = weights[size] * BIAS
            for each in range(begin, end):
                margin += weights[columns[each]]
            margin, norm = margin * signs[at], end - begin + BIAS * BIAS
            low, high, side = duals[at], cost - duals[at], 1.0
            if 0.5 * norm * (high - low) + margin < 0:
                low, side = high, -1.0
            new = 0.1 * low if cost - low < 0.5 * cost else low
            new = max(min(new, cost * (1 - EDGE)), cost * EDGE)
            for _ in range(100):
                slope = norm * (new - low) + side * margin + np.log(new / (cost - new))
                if abs(slope) < 1e-2:
                    break
                step = new - slope / (norm + cost / (cost - new) / new)
                new = max(min(step if step > 0 else 0.1 * new, cost * (1 - EDGE)), cost * EDGE)
            change = side * (new - low) * signs[at]
            duals[at] = new if side > 0 else cost - new
            for each in range(begin, end):
                weights[columns[each]] += change
            weights[size] += change * BIAS


@numba.njit(cache=True)
def summed(starts, columns, factors, size):
    """The weights that belong to the duals of examples."""
    weights = np.zeros(size + 1)
    for at in range(len(starts) - 1):
        for each in range(starts[at], starts[at + 1]):
            weights[columns[each]] += factors[at]
        weights[size] += factors[at] * BIAS
    return weights


@numba.njit(cache=True)
def scored(starts, columns, weights):
    """The score of each example."""
    found = np.full(len(starts) - 1, weights[-1] * BIAS)
    for at in range(len(found)):
        for each in range(starts[at], starts[at + 1]):
            found[at] += weights[columns[each]]
    return found


@numba.njit(cache=True)
def seed(value):
    """Seed the random numbers of the compiled functions."""
    np.random.seed(value)


def fitted(
    starts: Ints, columns: Ints, labels: Floats, costs: Floats, size: int, start: int
) -> tuple[Floats, float]:
    """Weights and bias, fitted in rounds that put weight on harmless sentences that are hard to tell."""
    seed(start)
    signs, order = 2 * labels - 1, np.arange(len(labels))
    duals = np.minimum(0.001 * costs, 1e-8)
    weights = summed(starts, columns, signs * duals, size)
    for number, passes in enumerate(ROUNDS):
        if number:
            score = scored(starts, columns, weights)
            factor = np.where((labels == 0) & (score > -1), HARD, 1.0)
            factor *= np.where((labels == 1) & (score < -2), EASY, 1.0)
            costs, duals = costs * factor, duals * factor
            weights = summed(starts, columns, signs * duals, size)
        descend(starts, columns, signs, costs, weights, duals, order, passes)
    return weights[:-1], float(weights[-1]) * BIAS
