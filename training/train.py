"""Trains the search models: `train.py BUILD OUT`, with BUILD from `prepare.py`.

OUT gets `static.npz` (the table that is shipped), `teacher.npz.*` (the strong model in half precision,
in parts) and `metrics.json` (what each stage reaches on the sets to choose on). All of it is written as
soon as there is a first version, and again when there is a better one.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from items import Items
from measure import OUTSIDE, DevSet, dev_sets, measure, static_scores, summary
from minilm import MiniLM
from packed import Packed
from score import PART_WEIGHT, STRONG_WORD_WEIGHT, WORD_WEIGHT, Table
from static import Distillation, Static, StaticPlan, Taught, distil, mean, narrowed, start, tune
from teacher import TeacherPlan, Wrong, encode, train_teacher
from text import QUERY_LENGTH, TOOL_LENGTH, query_sequence
from weights import Weights, average, read_weights, write_weights

LIMITS = {"full": 500.0, "sel": 400.0}  # seconds after which no further teacher or table is begun


@dataclass(frozen=True)
class Given:
    """What the command line asks for."""

    build: Path
    out: Path
    mode: str
    seed: int
    teachers: int
    tables: int
    blend: float
    width: int
    distil_steps: int
    limit: float | None
    tiny: bool


class Run:
    """One training run: its data, its clock, and what it has measured so far."""

    def __init__(self, given: Given) -> None:
        self.given, self.begun = given, time.monotonic()
        self.limit = given.limit or LIMITS[given.mode]
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.teacher_plan, self.static_plan = plans(given)
        data = Packed(given.build / "data.npz")
        vocabulary = (given.build / "vocab.txt").read_text("utf-8").splitlines()
        self.dev = dev_sets(data, vocabulary, OUTSIDE[:1] if given.tiny else ())
        self.items = Items(data, given.mode, self.device, few=24 if given.tiny else 0)
        self.metrics: dict[str, Any] = {"given": {k: str(v) for k, v in asdict(given).items()}, "stages": {}}
        self.metrics |= {"teacher plan": asdict(self.teacher_plan), "static plan": asdict(self.static_plan)}
        self.metrics |= {"device": self._device_name(), "torch": torch.__version__, "seconds": {}}
        self.say(
            f"{given.mode}: {len(self.items.twin)} tools, {len(self.items.golds)} queries, "
            f"{len(self.items.weak)} weak pairs on {self._device_name()}"
        )

    def _device_name(self) -> str:
        return torch.cuda.get_device_name() if self.device.type == "cuda" else "cpu"

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.begun

    def say(self, text: str) -> None:
        """Print a line with the time."""
        print(f"[{self.elapsed():6.1f} s] {text}", flush=True)

    def note(self, stage: str, results: dict[str, dict[str, dict[str, float]]]) -> None:
        """Keep and print what a stage reaches, and write all figures so far."""
        self.metrics["stages"][stage] = results
        self.metrics["seconds"][stage] = round(self.elapsed(), 1)
        for kind, result in results.items():
            line = ", ".join(f"{name} {m['ndcg@10']:.1f}" for name, m in result.items() if m)
            self.say(f"{stage}, {kind}: nDCG@10 {line}")
        (self.given.out / "metrics.json").write_text(json.dumps(self.metrics, indent=1) + "\n")

    def time_for(self, cost: float) -> bool:
        """Whether something of this cost can still be begun."""
        return self.elapsed() + cost <= self.limit


def plans(given: Given) -> tuple[TeacherPlan, StaticPlan]:
    """How both models are trained; the tiny ones only show that everything runs."""
    teacher = TeacherPlan()
    static = replace(StaticPlan(), width=given.width, distil_steps=given.distil_steps)
    if given.tiny:
        teacher = replace(teacher, epochs=1, batch=16, weak=0.05)
        static = replace(static, distil_steps=4, distil_batch=16, epochs=1, batch=128, kept_batch=16)
    return teacher, static


def teacher_results(run: Run, model: MiniLM) -> dict[str, Any]:
    """What the strong model reaches, alone and with the words."""
    alone, fused = {}, {}
    for one in run.dev:
        queries = run.items.padded([query_sequence(ids) for ids in one.strong.queries], QUERY_LENGTH)
        tools = run.items.padded([ids for ids, _ in one.strong.tools], TOOL_LENGTH)
        scores = (encode(model, queries) @ encode(model, tools).T).cpu().numpy()
        alone[one.name] = measure(scores, one.gold)
        fused[one.name] = measure(scores + STRONG_WORD_WEIGHT * one.words, one.gold)
    return {"alone": summary(alone), "fused": summary(fused)}


def static_results(dev: list[DevSet], table: Table, thorough: bool = False) -> dict[str, Any]:
    """What a table reaches, alone and with the words; thoroughly: with other weights of both, too."""
    scores = {one.name: static_scores(table, one) for one in dev}
    results = {"alone": _fused(dev, scores, 0.0), "fused": _fused(dev, scores, WORD_WEIGHT)}
    if thorough:
        results |= {f"words {w}": _fused(dev, scores, w) for w in (0.015, 0.02, 0.03, 0.035)}
        by_part = {one.name: static_scores(table, one, part=PART_WEIGHT) for one in dev}
        results["by part"] = _fused(dev, by_part, WORD_WEIGHT)
    return results


def _fused(dev: list[DevSet], scores: dict[str, np.ndarray], weight: float) -> dict[str, Any]:
    return summary({one.name: measure(scores[one.name] + weight * one.words, one.gold) for one in dev})


def make_teacher(run: Run, base: Weights) -> MiniLM:
    """Train teachers while there is time, and make one of them all."""
    model = MiniLM().load(base).to(run.device)
    run.note("base", teacher_results(run, model))
    wrong = Wrong(run.items, model)
    run.say("wrong tools mined")
    made: list[Weights] = []
    cost = 0.0
    for number in range(run.given.teachers):
        # A table must still follow; it takes about three times as long as a teacher.
        if made and not run.time_for(4 * cost):
            run.say(f"no time for teacher {number + 1}")
            break
        begun = run.elapsed()
        seed = run.given.seed + 1000 * number
        made.append(train_teacher(run.items, base, wrong, run.teacher_plan, seed, run.say).weights())
        cost = run.elapsed() - begun
        run.note(f"teacher {number + 1}", teacher_results(run, MiniLM().load(made[-1]).to(run.device)))
    mixed = average(made, [1 / len(made)] * len(made))
    for blend in sorted({0.7, 0.85, 1.0, run.given.blend}):
        model.load(average([base, mixed], [1 - blend, blend]))
        run.note(f"teachers' mean, {blend} of it", teacher_results(run, model))
    model.load(average([base, mixed], [1 - run.given.blend, run.given.blend]))
    write_weights(run.given.out, "teacher", model.weights())
    return model.eval()


def make_table(run: Run, teacher: MiniLM) -> None:
    """Train tables from one start while there is time, and write their mean."""
    first = start(run.items, teacher, run.static_plan.width)
    run.note("table at the start", static_results(run.dev, first.table()))
    taught = Taught(run.items, teacher)
    run.say("queries and tools encoded by the teacher")
    made: list[Static] = []
    cost = 0.0
    for number in range(run.given.tables):
        if made and not run.time_for(cost + 10):
            run.say(f"no time for table {number + 1}")
            break
        begun = run.elapsed()
        made.append(train_table(run, teacher, taught, first, number))
        cost = run.elapsed() - begun
        write_table(run, mean(made), f"mean of {len(made)} tables")


def train_table(run: Run, teacher: MiniLM, taught: Taught, first: Static, number: int) -> Static:
    """Distil and tune one table."""
    seed = run.given.seed + 1000 * number
    torch.manual_seed(seed)
    student, source = mean([first]), Distillation(run.items, teacher, seed)
    distil(student, source, run.static_plan, run.say)
    if number == 0:
        write_table(run, student, "table 1 distilled")
    tune(student, run.items, source, taught, run.static_plan, seed, run.say)
    run.note(f"table {number + 1} tuned", static_results(run.dev, student.table()))
    return student


def write_table(run: Run, student: Static, stage: str) -> None:
    """Measure a table as it is shipped, and write it."""
    table = narrowed(student, run.items, 256).table()
    table.save(run.given.out / "static.npz")
    run.metrics["fields"] = [round(float(f), 3) for f in table.fields]
    run.note(f"{stage}, as written", static_results(run.dev, table, thorough=True))


def main() -> None:
    """Train a teacher, then a table from it."""
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    torch.backends.cuda.matmul.allow_tf32 = True
    run = Run(given)
    words = {one.name: measure(one.words, one.gold) for one in run.dev}
    run.note("words", {"alone": summary(words)})
    teacher = make_teacher(run, read_weights(given.build, "minilm"))
    make_table(run, teacher)
    run.say("done")


def arguments() -> Given:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--mode", choices=("full", "sel"), default="full", help="sel: without the sets of dev"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--teachers", type=int, default=4, help="how many to average")
    parser.add_argument("--tables", type=int, default=2, help="how many to average")
    parser.add_argument(
        "--blend", type=float, default=1.0, help="the teacher's share in its mean with the base"
    )
    parser.add_argument(
        "--width", type=int, default=256, help="of the table in training; it is written in 256"
    )
    parser.add_argument("--distil-steps", type=int, default=1000)
    parser.add_argument(
        "--limit", type=float, help="seconds after which no further teacher or table is begun"
    )
    parser.add_argument("--tiny", action="store_true", help="a few steps on a few items, to see that it runs")
    return Given(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
