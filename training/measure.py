"""Measures rankings on the sets that models are chosen on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lexical import Lexicon
from packed import Packed
from score import Table, parts
from text import Segments, WordPiece, tool_sequence

OUTSIDE = ("mongodb-mcp", "nestful", "api-bank")  # nothing of these is trained on in either mode
COLUMNS = ("name", "server", "body", "params", "details")

Measures = dict[str, float]


class Read(NamedTuple):
    """Tools and queries of a set as token ids, as one of the models reads them."""

    tools: list[tuple[list[int], list[int]]]
    queries: list[list[int]]


class DevSet(NamedTuple):
    """What the strong model and the static table read of a set, and how well its words match."""

    name: str
    strong: Read
    static: Read
    pairs: WordPiece
    gold: list[list[int]]
    words: NDArray[np.float32]


def dev_sets(data: Packed, vocabulary: Sequence[str], only: Sequence[str] = ()) -> list[DevSet]:
    """The sets to choose on, those outside of training first."""
    names = [meta["name"] for meta in data.meta["dev"] if not only or meta["name"] in only]
    names.sort(key=lambda name: (name not in OUTSIDE, name))
    return [_dev_set(data, WordPiece(vocabulary), name) for name in names]


def _dev_set(data: Packed, tokenize: WordPiece, name: str) -> DevSet:
    at = f"dev/{name}"
    columns = zip(*(data.lists(f"{at}/terms/{column}") for column in COLUMNS), strict=True)
    lexicon = Lexicon(list(columns))
    return DevSet(
        name=name,
        strong=_read(data, at),
        static=_read(data, f"static/{at}"),
        pairs=tokenize,
        gold=data.lists(f"{at}/gold"),
        words=np.stack([lexicon.scores(terms) for terms in data.lists(f"{at}/words")]),
    )


def _read(data: Packed, at: str) -> Read:
    rows = zip(*(data.lists(f"{at}/{field}") for field in Segments._fields), strict=True)
    return Read([tool_sequence(Segments(*row)) for row in rows], data.lists(f"{at}/query"))


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


def static_scores(table: Table, one: DevSet, part: float = 0) -> NDArray[np.float32]:
    """Each query's cosine with each tool, `part` of that being its best part's."""
    pairs = one.pairs.pairs
    tools = np.stack([table.tool([*ids, *pairs(ids)], [*marks, *marks]) for ids, marks in one.static.tools])

    def cosines(queries: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        return np.stack([table.query([*ids, *pairs(ids)]) for ids in queries]) @ tools.T

    scores = cosines(one.static.queries)
    for row, ids in zip(scores, one.static.queries if part else [], strict=False):
        if pieces := parts(ids):
            row += part * cosines(pieces).max(axis=0)
            row /= 1 + part
    return scores


def summary(results: dict[str, Measures]) -> dict[str, Measures]:
    """The results by set, with their mean, and the mean over the sets outside of training."""
    outside = [m for name, m in results.items() if name in OUTSIDE]
    return {**results, "mean": _mean(list(results.values())), "mean outside": _mean(outside)}


def _mean(rows: list[Measures]) -> Measures:
    return {key: round(float(np.mean([row[key] for row in rows])), 2) for key in rows[0]} if rows else {}
