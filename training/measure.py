"""Measures rankings on the sets that models are chosen on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lexical import Lexicon
from packed import Packed
from score import NAME_WEIGHT, Table, parts
from text import Segments, tool_sequence

OUTSIDE = ("mongodb-mcp", "nestful", "api-bank")  # nothing of these is trained on in either mode
COLUMNS = ("name", "server", "body", "params")

Measures = dict[str, float]


class DevSet(NamedTuple):
    """Tools and queries as token ids, and how well their words match."""

    name: str
    tools: list[tuple[list[int], list[int]]]
    names: list[list[int]]
    queries: list[list[int]]
    gold: list[list[int]]
    words: NDArray[np.float32]


def dev_sets(data: Packed, only: Sequence[str] = ()) -> list[DevSet]:
    """The sets to choose on, those outside of training first."""
    names = [meta["name"] for meta in data.meta["dev"] if not only or meta["name"] in only]
    return [_dev_set(data, name) for name in sorted(names, key=lambda n: (n not in OUTSIDE, n))]


def _dev_set(data: Packed, name: str) -> DevSet:
    at = f"dev/{name}"
    rows = list(zip(*(data.lists(f"{at}/{field}") for field in Segments._fields), strict=True))
    columns = zip(*(data.lists(f"{at}/terms/{column}") for column in COLUMNS), strict=True)
    lexicon = Lexicon(list(columns))
    return DevSet(
        name=name,
        tools=[tool_sequence(Segments(*row)) for row in rows],
        names=[row[0] for row in rows],
        queries=data.lists(f"{at}/query"),
        gold=data.lists(f"{at}/gold"),
        words=np.stack([lexicon.scores(terms) for terms in data.lists(f"{at}/words")]),
    )


def measure(scores: NDArray[np.float32], gold: Sequence[Sequence[int]]) -> Measures:
    """nDCG@10 and the recall at 1 and 5, in per cent, averaged over the queries."""
    top = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    rows = [_measure_one(row, set(relevant)) for row, relevant in zip(top.tolist(), gold, strict=True)]
    means = 100 * np.mean(rows, axis=0)
    return dict(zip(("ndcg@10", "r@1", "r@5"), (round(float(m), 2) for m in means), strict=True))


def _measure_one(top: list[int], relevant: set[int]) -> tuple[float, float, float]:
    hits = np.array([i in relevant for i in top], float)
    discounts = 1 / np.log2(np.arange(2, 12))
    best = discounts[: len(relevant)].sum()
    return (
        float((hits * discounts[: len(hits)]).sum() / best),
        hits[:1].sum() / len(relevant),
        hits[:5].sum() / len(relevant),
    )


def static_scores(
    table: Table, one: DevSet, name_weight: float = NAME_WEIGHT, part: float = 0
) -> NDArray[np.float32]:
    """Each query's product with each tool, plus `part` times that of the query's best part."""
    pairs = zip(one.tools, one.names, strict=True)
    tools = np.stack([table.tool(ids, marks, name, name_weight) for (ids, marks), name in pairs])
    scores = np.stack([table.query(ids) for ids in one.queries]) @ tools.T
    for row, ids in zip(scores, one.queries if part else [], strict=False):
        if pieces := parts(ids):
            row += part * (np.stack([table.query(piece) for piece in pieces]) @ tools.T).max(axis=0)
        else:
            row *= 1 + part
    return scores


def summary(results: dict[str, Measures]) -> dict[str, Measures]:
    """The results by set, with their mean, and the mean over the sets outside of training."""
    outside = [m for name, m in results.items() if name in OUTSIDE]
    return {**results, "mean": _mean(list(results.values())), "mean outside": _mean(outside)}


def _mean(rows: list[Measures]) -> Measures:
    return {key: round(float(np.mean([row[key] for row in rows])), 2) for key in rows[0]} if rows else {}
