"""Chooses what turns sums of words and meaning into scores: `calibrate.py DATA`.

For each provider, on the best tools of each query: how steeply, and around which sum, the likelihood that a
tool answers rises (logistic regression on the sets to choose on, each counting the same), how well that holds
on a set that was left out, and below which score results are noise: few right answers are lost to it, and
queries find nothing among tools that have nothing to do with them. `DATA` holds `train/` and `dev/`; the
package must be installed, with its weights.
"""

import argparse
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remit.search.documents import parse_query, query_parts
from remit.search.engine import open_engine
from remit.search.evaluation import EvaluationSet, mean, measure, read_evaluation_folder
from remit.search.ranking import Fusion, Hit
from remit.search.search_service import WORDS_ALONE
from remit.search.tool_filter import ToolCollection

DEPTH = 20  # tools of a query that are looked at
WIDE = 200  # and that are ranked again with other weights
MOST = 400  # queries of a set
LOST = 0.025  # of right answers, to what is taken for noise
LOST_ALONE = 0.01  # of them, because they are, and not the best
WEIGHTS = (0.01, 0.0155, 0.0225, 0.03, 0.035, 0.04, 0.05)
BINS = (0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.01)
NOISY = ("gorilla-apibench",)  # one answer of many that would do is known

# Queries and tools of other subjects: a database's, and everyday requests.
STRANGERS = (
    ("mongodb-mcp", "api-bank"),
    ("mongodb-mcp", "nestful"),
    ("api-bank", "mongodb-mcp"),
    ("nestful", "mongodb-mcp"),
    ("metatool", "mongodb-mcp"),
    ("seal-tools", "mongodb-mcp"),
)


class Judged(NamedTuple):
    """The best hits of a set's queries: their sums, the best BM25 of their query, and whether they answer."""

    sums: NDArray[np.float64]
    best: NDArray[np.float64]  # as it counts, beside the cosine
    is_right: NDArray[np.bool_]


def main() -> None:
    """Read the arguments, and print what each provider gets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--provider", action="append", choices=("static", "onnx", "words"))
    parser.add_argument("--train", action="store_true", help="fit on the sets trained on, too, to compare")
    given = parser.parse_args()
    dev = {place.name: _trial(place) for place in sorted((given.data / "dev").iterdir())}
    train = {
        place.name: _trial(place)
        for place in sorted((given.data / "train").iterdir())
        if given.train and (place / "queries.jsonl").exists() and place.name not in NOISY
    }
    chosen = {name: calibrate(name, dev, train) for name in given.provider or ("static", "onnx", "words")}
    print(json.dumps(chosen, indent=2))


def calibrate(
    provider: str, dev: dict[str, EvaluationSet], train: dict[str, EvaluationSet]
) -> dict[str, Any]:
    """Choose for one provider."""
    opened = {name: ToolCollection(trial.tools, open_engine(provider)) for name, trial in dev.items()}
    hits = {name: [found(opened[name], q.text, WIDE) for q in dev[name].questions] for name in dev}
    fusion = _fusion(opened["mongodb-mcp"])
    sweep = {weight: _ndcg(dev, hits, replace(fusion, word_weight=weight)) for weight in WEIGHTS}
    judged = {name: judge(dev[name], hits[name], fusion) for name in dev}

    def mean_lost(tried: Fusion) -> float:
        return float(np.mean([lost(dev[name], hits[name], tried) for name in dev]))

    fitted = replace(fit(list(judged.values()), fusion), confidence=0.0, noise=0.0)
    noise = lowest(LOST_ALONE, lambda score: mean_lost(replace(fitted, noise=score)))
    fitted = replace(fitted, noise=noise)
    confidence = lowest(LOST, lambda score: mean_lost(replace(fitted, confidence=score)))
    fitted = replace(fitted, confidence=confidence)
    seen = fit([_seen(provider, trial, fusion) for trial in train.values()], fusion) if train else None
    return {
        "ndcg@10 by word_weight": {str(weight): round(100 * value, 2) for weight, value in sweep.items()},
        "chosen": _constants(fitted),
        "fitted on train instead": None if seen is None else _constants(seen),
        "reliability, each dev set by a fit on the others": reliability(judged, fusion),
        "right answers lost": {name: round(lost(dev[name], hits[name], fitted), 3) for name in dev},
        "no good match for strangers": {
            f"{here} among {there}": round(_rejected(opened[there], dev[here], fitted), 3)
            for here, there in STRANGERS
        },
    }


def found(collection: ToolCollection, query: str, depth: int) -> Sequence[Hit]:
    """What the index finds for a query."""
    embedder = collection.embedder
    parts = query_parts(query) if embedder is not None and embedder.fusion.part_weight else []
    vectors = [] if embedder is None else [embedder.embed_query(text) for text in (query, *parts)]
    among = collection.index.select(range(len(collection.listed)))
    return collection.index.hits(parse_query(query), vectors, among, depth)


def judge(trial: EvaluationSet, hits: Sequence[Sequence[Hit]], fusion: Fusion) -> Judged:
    """Say of the best hits which are right."""
    rows = [
        (fusion.raw(hit), _best_words(row, fusion), hit.document_id in question.relevant)
        for question, row in zip(trial.questions, hits, strict=True)
        for hit in _best(row, fusion)[:DEPTH]
    ]
    sums, best, right = zip(*rows, strict=True)
    return Judged(np.array(sums), np.array(best), np.array(right))


def fit(sets: Sequence[Judged], fusion: Fusion) -> Fusion:
    """Logistic regression by Newton's method, each set counting the same."""
    sums, best, right = (np.concatenate(column).astype(float) for column in zip(*sets, strict=True))
    weights = np.concatenate([np.full(len(one.sums), 1 / len(one.sums)) for one in sets])
    design = np.stack([sums, best, np.ones_like(sums)], axis=1)
    at = np.zeros(3)
    for _ in range(50):
        likely = 1 / (1 + np.exp(-(design @ at)))
        slope = design.T @ (weights * (right - likely))
        bend = (design * (weights * likely * (1 - likely))[:, None]).T @ design
        at += np.linalg.solve(bend, slope)
    steep = float(at[0])
    return replace(fusion, steepness=steep, expected=float(-at[1]) / steep, midpoint=float(-at[2]) / steep)


def reliability(judged: dict[str, Judged], fusion: Fusion) -> list[dict[str, float]]:
    """How often tools of a score are right, for scores that were fitted on other sets."""
    pairs: list[tuple[NDArray[np.float64], Judged]] = []
    for name, one in judged.items():
        other = fit([each for key, each in judged.items() if key != name], fusion)
        pairs.append((_likely(one, other), one))
    rows: list[dict[str, float]] = []
    for low, high in pairwise(BINS):
        inside = [
            (scores[m], one.is_right[m])
            for scores, one in pairs
            if (m := (scores >= low) & (scores < high)).any()
        ]
        if inside:
            rows.append(
                {
                    "from": low,
                    "tools": sum(len(scores) for scores, _ in inside),
                    "said": round(float(np.mean([scores.mean() for scores, _ in inside])), 3),
                    "right": round(float(np.mean([right.mean() for _, right in inside])), 3),
                }
            )
    return rows


def lowest(share: float, lost: Callable[[float], float]) -> float:
    """The highest score below which no more than this share is lost."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if lost(middle) <= share else (low, middle)
    return low


def lost(trial: EvaluationSet, hits: Sequence[Sequence[Hit]], fusion: Fusion) -> float:
    """Of the queries with an answer among ten, how many lose it because all or it is taken for noise."""
    kept, known = 0, 0
    for question, row in zip(trial.questions, hits, strict=True):
        scored = _scored(row, fusion)
        right = [score for hit, score in scored[:10] if hit.document_id in question.relevant]
        known += bool(right)
        kept += bool(right) and max(right) >= fusion.noise and scored[0][1] >= fusion.confidence
    return 1 - kept / known


def _seen(provider: str, trial: EvaluationSet, fusion: Fusion) -> Judged:
    collection = ToolCollection(trial.tools, open_engine(provider))
    return judge(trial, [found(collection, q.text, DEPTH) for q in trial.questions], fusion)


def _rejected(collection: ToolCollection, trial: EvaluationSet, fusion: Fusion) -> float:
    """How many queries find nothing that is good enough."""
    scores = [fusion.scores(found(collection, question.text, DEPTH)) for question in trial.questions]
    return float(np.mean([max(row.values(), default=0.0) < fusion.confidence for row in scores]))


def _scored(row: Sequence[Hit], fusion: Fusion) -> list[tuple[Hit, float]]:
    scores = fusion.scores(row)
    return [(hit, scores[hit.document_id]) for hit in _best(row, fusion)]


def _best(row: Sequence[Hit], fusion: Fusion) -> list[Hit]:
    return sorted(row, key=lambda hit: (-fusion.raw(hit), hit.document_id))


def _ndcg(dev: dict[str, EvaluationSet], hits: dict[str, list[Sequence[Hit]]], fusion: Fusion) -> float:
    means = [
        mean(
            [
                measure([hit.document_id for hit in _best(row, fusion)[:10]], question.relevant)
                for question, row in zip(trial.questions, hits[name], strict=True)
            ]
        ).ndcg_at_10
        for name, trial in dev.items()
    ]
    return math.fsum(means) / len(means)


def _likely(one: Judged, fusion: Fusion) -> NDArray[np.float64]:
    odds = fusion.steepness * (one.sums - fusion.expected * one.best - fusion.midpoint)
    return 1 / (1 + np.exp(-odds))


def _best_words(row: Sequence[Hit], fusion: Fusion) -> float:
    return max(map(fusion.by_words, row), default=0.0)


def _fusion(collection: ToolCollection) -> Fusion:
    return WORDS_ALONE if collection.embedder is None else collection.embedder.fusion


def _constants(fusion: Fusion) -> dict[str, float]:
    return {name: round(value, 3) for name, value in asdict(fusion).items()}


def _trial(place: Path) -> EvaluationSet:
    trial = read_evaluation_folder(str(place))
    step = -(-len(trial.questions) // MOST)
    return trial._replace(questions=trial.questions[::step])


if __name__ == "__main__":
    main()
