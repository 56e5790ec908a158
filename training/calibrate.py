"""Chooses what turns sums of words and meaning into scores: `calibrate.py DATA`.

For each provider, on the best tools of each query: how steeply, and around which sum, the likelihood that a tool
answers rises (logistic regression on the sets to choose on, each counting the same), how well that holds on a
set that was left out, and below which score results are noise: few right answers lie there, and most of what
queries find among tools that have nothing to do with them. `DATA` holds `train/` and `dev/`; the package must be
installed, with its weights.
"""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remit.adapters.search.folder import read
from remit.bootstrap import open_engine
from remit.collection import Collection
from remit.core.documents import query_words
from remit.core.evaluation import Trial, mean, measure
from remit.core.ranking import Fusion, Hit
from remit.search import WORDS_ALONE

DEPTH = 20  # tools of a query that are looked at
WIDE = 200  # and that are ranked again with other weights
MOST = 400  # queries of a set
LOST = 0.025  # of right answers, below the confidence
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
    """The best hits of a set's queries: their sums, and whether they answer."""

    sums: NDArray[np.float64]
    is_right: NDArray[np.bool_]


def main() -> None:
    """Read the arguments, and print what each provider gets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--provider", action="append", choices=("static", "onnx", "words"))
    given = parser.parse_args()
    dev = {place.name: _trial(place) for place in sorted((given.data / "dev").iterdir())}
    train = {
        place.name: _trial(place)
        for place in sorted((given.data / "train").iterdir())
        if (place / "queries.jsonl").exists() and place.name not in NOISY
    }
    chosen = {name: calibrate(name, dev, train) for name in given.provider or ("static", "onnx", "words")}
    print(json.dumps(chosen, indent=2))


def calibrate(provider: str, dev: dict[str, Trial], train: dict[str, Trial]) -> dict[str, Any]:
    """Choose for one provider."""
    opened = {name: Collection(trial.tools, open_engine(provider)) for name, trial in dev.items()}
    hits = {name: [found(opened[name], q.text, WIDE) for q in dev[name].questions] for name in dev}
    fusion = _fusion(opened["mongodb-mcp"])
    sweep = {weight: _ndcg(dev, hits, replace(fusion, word_weight=weight)) for weight in WEIGHTS}
    judged = {name: judge(dev[name], hits[name], fusion) for name in dev}
    fitted = fit(list(judged.values()), fusion)
    seen = {name: _seen(provider, trial, fusion) for name, trial in train.items()}
    strangers = [_strange(opened[there], dev[here], fitted) for here, there in STRANGERS]
    least = confidence(dev, hits, fitted)
    return {
        "word_weight": fusion.word_weight,
        "ndcg@10 by word_weight": {str(weight): round(100 * value, 2) for weight, value in sweep.items()},
        "steepness": round(fitted.steepness, 2),
        "midpoint": round(fitted.midpoint, 3),
        "confidence": round(least, 3),
        "fitted on train instead": _constants(fit(list(seen.values()), fusion)),
        "reliability, each dev set by a fit on the others": reliability(judged, fusion),
        "right answers lost, by set": {n: round(_lost(dev[n], hits[n], fitted, least), 3) for n in dev},
        "no good match for strangers": {
            f"{here} among {there}": round(float(np.mean(np.array(tops) < least)), 3)
            for (here, there), tops in zip(STRANGERS, strangers, strict=True)
        },
        "no good match for its own": {
            n: round(float(np.mean([_top(rows, fitted) < least for rows in hits[n]])), 3) for n in dev
        },
    }


def found(collection: Collection, query: str, depth: int) -> Sequence[Hit]:
    """What the index finds for a query."""
    vector = None if collection.embedder is None else collection.embedder.embed_query(query)
    among = collection.index.select(range(len(collection.listed)))
    return collection.index.hits(query_words(query), vector, among, depth)


def judge(trial: Trial, hits: Sequence[Sequence[Hit]], fusion: Fusion) -> Judged:
    """Say of the best hits which are right."""
    rows = [
        (fusion.raw(hit), hit.document_id in question.relevant)
        for question, row in zip(trial.questions, hits, strict=True)
        for hit in _best(row, fusion)[:DEPTH]
    ]
    return Judged(np.array([raw for raw, _ in rows]), np.array([right for _, right in rows]))


def fit(sets: Sequence[Judged], fusion: Fusion) -> Fusion:
    """Logistic regression by Newton's method, each set counting the same."""
    sums = np.concatenate([one.sums for one in sets])
    right = np.concatenate([one.is_right for one in sets]).astype(float)
    weights = np.concatenate([np.full(len(one.sums), 1 / len(one.sums)) for one in sets])
    design = np.stack([sums, np.ones_like(sums)], axis=1)
    at = np.zeros(2)
    for _ in range(50):
        likely = 1 / (1 + np.exp(-(design @ at)))
        slope = design.T @ (weights * (right - likely))
        bend = (design * (weights * likely * (1 - likely))[:, None]).T @ design
        at += np.linalg.solve(bend, slope)
    return replace(fusion, steepness=float(at[0]), midpoint=float(-at[1] / at[0]))


def reliability(judged: dict[str, Judged], fusion: Fusion) -> list[dict[str, float]]:
    """How often tools of a score are right, for scores that were fitted on other sets."""
    pairs: list[tuple[NDArray[np.float64], Judged]] = []
    for name, one in judged.items():
        other = fit([each for key, each in judged.items() if key != name], fusion)
        pairs.append((_likely(one.sums, other), one))
    rows: list[dict[str, float]] = []
    for low, high in zip(BINS, BINS[1:], strict=False):
        inside = [(scores[m], one.is_right[m]) for scores, one in pairs if (m := (scores >= low) & (scores < high)).any()]
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


def confidence(dev: dict[str, Trial], hits: dict[str, list[Sequence[Hit]]], fusion: Fusion) -> float:
    """The score below which only this share of right answers lies, on the average of the sets."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        lost = float(np.mean([_lost(dev[name], hits[name], fusion, middle) for name in dev]))
        low, high = (middle, high) if lost <= LOST else (low, middle)
    return low


def _lost(trial: Trial, hits: Sequence[Sequence[Hit]], fusion: Fusion, least: float) -> float:
    """Of the queries that find an answer among ten, how many find none that is good enough."""
    tops = [
        max((score for hit, score in _scored(row, fusion)[:10] if hit.document_id in q.relevant), default=None)
        for q, row in zip(trial.questions, hits, strict=True)
    ]
    known = [top for top in tops if top is not None]
    return sum(top < least for top in known) / len(known)


def _seen(provider: str, trial: Trial, fusion: Fusion) -> Judged:
    collection = Collection(trial.tools, open_engine(provider))
    return judge(trial, [found(collection, q.text, DEPTH) for q in trial.questions], fusion)


def _strange(collection: Collection, trial: Trial, fusion: Fusion) -> list[float]:
    return [_top(found(collection, question.text, DEPTH), fusion) for question in trial.questions]


def _top(row: Sequence[Hit], fusion: Fusion) -> float:
    return max((score for _, score in _scored(row, fusion)), default=0.0)


def _scored(row: Sequence[Hit], fusion: Fusion) -> list[tuple[Hit, float]]:
    scores = fusion.scores(row)
    return [(hit, scores[hit.document_id]) for hit in _best(row, fusion)]


def _best(row: Sequence[Hit], fusion: Fusion) -> list[Hit]:
    return sorted(row, key=lambda hit: (-fusion.raw(hit), hit.document_id))


def _ndcg(dev: dict[str, Trial], hits: dict[str, list[Sequence[Hit]]], fusion: Fusion) -> float:
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


def _likely(sums: NDArray[np.float64], fusion: Fusion) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-fusion.steepness * (sums - fusion.midpoint)))


def _fusion(collection: Collection) -> Fusion:
    return WORDS_ALONE if collection.embedder is None else collection.embedder.fusion


def _constants(fusion: Fusion) -> dict[str, float]:
    return {"steepness": round(fusion.steepness, 2), "midpoint": round(fusion.midpoint, 3)}


def _trial(place: Path) -> Trial:
    trial = read(str(place))
    step = -(-len(trial.questions) // MOST)
    return trial._replace(questions=trial.questions[::step])


if __name__ == "__main__":
    main()
