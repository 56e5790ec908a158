"""Measures written tables on the sets to choose on: `evaluate.py BUILD STATIC...`, with numpy alone."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from measure import OUTSIDE, DevSet, Measures, dev_sets, measure, static_scores, summary
from packed import Packed
from score import NAME_WEIGHT, PART_WEIGHT, WORD_WEIGHT, Table

STEPS: dict[str, tuple[float, ...]] = {
    "words": (0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.045, 0.05),
    "name": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7),
    "part": (0.0, 0.2, 0.35, 0.5),
}
FACTORS = (0.7, 0.85, 1.18, 1.4)


class Weights(NamedTuple):
    """What is added to the cosine, and how the fields of a tool are weighed."""

    words: float = WORD_WEIGHT
    name: float = NAME_WEIGHT
    part: float = PART_WEIGHT
    fields: tuple[float, ...] = (1.0,) * 5


def results(
    dev: list[DevSet], table: Table, weights: Weights, with_words: bool = True
) -> dict[str, Measures]:
    """What a table reaches on each set, and on average."""
    table = table._replace(
        fields=table.fields * np.array(weights.fields, np.float32), name=np.float32(weights.name)
    )
    words = weights.words if with_words else 0.0
    measured: dict[str, Measures] = {}
    for one in dev:
        scores = static_scores(table, one, weights.part)
        measured[one.name] = measure(scores + np.float32(words) * one.words, one.gold)
    return summary(measured)


def tuned(reached: Callable[[Weights], float], rounds: int = 2) -> Weights:
    """The weights after moving each in turn to where most is reached."""
    best, top = Weights(), reached(Weights())
    for _ in range(rounds):
        for choice in _choices(best):
            if (now := reached(choice(best))) > top + 0.01:
                best, top = choice(best), now
                print(f"{top:.2f} with {best}", flush=True)
    return best


def _choices(weights: Weights) -> list[Callable[[Weights], Weights]]:
    """One change each, made to whatever the weights are by then."""
    plain = [_with(name, value) for name, values in STEPS.items() for value in values]
    return plain + [_times(field, factor) for field in range(len(weights.fields)) for factor in FACTORS]


def _with(name: str, value: float) -> Callable[[Weights], Weights]:
    return lambda weights: weights._replace(**{name: value})


def _times(field: int, factor: float) -> Callable[[Weights], Weights]:
    def change(weights: Weights) -> Weights:
        fields = [f * factor if i == field else f for i, f in enumerate(weights.fields)]
        return weights._replace(fields=tuple(fields))

    return change


def show(title: str, rows: dict[str, Measures]) -> None:
    """Print a Markdown table."""
    print(f"\n| {title} | nDCG@10 | R@1 | R@5 |\n| --- | --- | --- | --- |")
    for name, row in rows.items():
        if row:
            print(f"| {name} | " + " | ".join(f"{value:.1f}" for value in row.values()) + " |")


def main() -> None:
    """Print what the words, each table, and both together reach."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("static", type=Path, nargs="+")
    parser.add_argument("--words", type=float, default=WORD_WEIGHT)
    parser.add_argument("--name", type=float, default=NAME_WEIGHT)
    parser.add_argument("--part", type=float, default=PART_WEIGHT, help="weight of a query's best part")
    parser.add_argument("--sets", nargs="*", default=(), help="only these sets")
    parser.add_argument(
        "--tune", action="store_true", help="look for better weights on the sets outside of training"
    )
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    given = parser.parse_args()
    vocabulary = (given.build / "vocab.txt").read_text("utf-8").splitlines()
    dev = dev_sets(Packed(given.build / "data.npz"), vocabulary, given.sets)
    figures: dict[str, Any] = {"words": summary({one.name: measure(one.words, one.gold) for one in dev})}
    show("words alone", figures["words"])
    for path in given.static:
        figures[str(path)] = evaluate(
            dev, Table.load(path), Weights(given.words, given.name, given.part), given.tune
        )
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


def evaluate(dev: list[DevSet], table: Table, weights: Weights, tune: bool) -> dict[str, Any]:
    """Measure and print one table, before and after looking for better weights."""
    figures = {
        "static": results(dev, table, weights, with_words=False),
        "fused": results(dev, table, weights),
    }
    if tune:
        outside = [one for one in dev if one.name in OUTSIDE]
        better = tuned(lambda w: results(outside, table, w)["mean outside"]["ndcg@10"])
        figures["tuned"] = results(dev, table, better)
    for title, rows in figures.items():
        show(title, rows)
    return figures


if __name__ == "__main__":
    main()
