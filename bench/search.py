"""Measures search: how good and how fast it is beside others, and how fast with how many tools.

`search.py DATA PEERS`: DATA holds `tool-retrieval/dev` and `real-mcp-tools`, PEERS is an environment with the
other searches. The figures go to `results/search.json`, their plot to the documentation. Without PEERS, only
the quality of Remit and of plain FTS5 is measured again; times and the figures of the others stay.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from remit.errors import EmbeddingError
from remit.search.engine import open_engine
from remit.search.evaluation import EvaluationSet, mean, measure
from remit.search.search_service import WORDS_ALONE, Searcher
from remit.search.tool_filter import ToolCollection
from search_figures import asked, latency, machine, many, quality
from search_fts5 import fts5
from search_sets import Set, dev_sets, real_sets, real_tools, thinned
from search_waiting import waiting

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "search.json"
PLOT = HERE.parent / "docs" / "images" / "search.png"
OURS = {"words": "Remit, words alone", "static": "Remit (static)", "onnx": "Remit (onnx)"}
ANSWERS = "answers.json"
SIZES = (100, 1_000, 10_000, 100_000)
ENOUGH = 1_000  # tools, for a model that takes milliseconds for each
QUERIES = 300  # to time
WAITED_FOR = 200  # tools


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("peers", type=Path, nargs="?")
    parser.add_argument("--keep", action="store_true", help="take what the others answered last time")
    given = parser.parse_args()
    data, peers = given.data, given.peers
    sets = [*dev_sets(data), *real_sets(data)]
    if peers is None:
        answers: dict[str, Any] = {one.name: {"FTS5 BM25": ask_fts5(one)} for one in sets}
    else:
        if not given.keep:
            ask_peers(sets, peers)
        answers = json.loads((peers / ANSWERS).read_text("utf-8"))
    for name, label in OURS.items():
        for one in sets:
            if (found := ask_ours(one.trial, name)) is not None:
                answers[one.name][label] = found
    content: dict[str, Any] = {
        "sets": {one.name: judged(one, answers[one.name]) for one in sets},
        "first_by_exact_name": {name: first_by_name(data, name) for name in OURS},
        "results_far_below_the_best": {name: shown(sets, name) for name in ("words", "static")},
        "first_search_beside_a_slow_endpoint": waiting(served_tools(data)[:WAITED_FOR]),
    }
    if peers is None:
        content = with_figures_of(json.loads(RESULTS.read_text("utf-8")), content)
    else:
        content |= {
            "machine": machine(),
            "by_size": {name: [timed(data, name, size) for size in SIZES] for name in OURS},
        }
    content["mean_of_dev_sets"] = means([content["sets"][one.name] for one in dev_sets(data)])
    RESULTS.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    print(json.dumps(content, indent=2))
    if peers is not None:
        PLOT.parent.mkdir(exist_ok=True)
        subprocess.run([peers / "bin" / "python", HERE / "search_plot.py", RESULTS, PLOT], check=True)


def with_figures_of(last: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Keep the last times and the others' figures, and replace the quality of what was measured now."""
    for name, systems in now["sets"].items():
        before = last["sets"].get(name, {})
        counts = {"tools": systems["tools"], "queries": systems["queries"]}
        now["sets"][name] = (
            before
            | counts
            | {
                system: before.get(system, {}) | only_quality(systems[system])
                for system in systems
                if isinstance(systems[system], dict)
            }
        )
    return last | now


def only_quality(figures: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if not name.endswith("_ms")}


def ask_fts5(one: Set) -> dict[str, Any]:
    """Let plain FTS5 answer, in this process."""
    search = fts5(one.texts)
    return {"found": [search(query.text)[:10] for query in one.trial.questions], "ms": [0.0]}


def served_tools(data: Path) -> list[dict[str, Any]]:
    """List real tools as one server would, each name once."""
    each = {text["name"]: text for text in real_tools(data)[1]}
    return [
        {"name": name, "description": text["description"], "inputSchema": {"type": "object"}}
        for name, text in each.items()
    ]


def shown(sets: Sequence[Set], provider: str) -> dict[str, Any]:
    """Compare what is shown with what was shown before results far below the best were dropped."""
    rows: dict[str, Any] = {}
    for one in sets:
        searcher = ToolCollection(one.trial.tools, open_engine(provider)).searcher()
        now = [cut(searcher, query.text) for query in one.trial.questions]
        searcher.fusion = replace(
            searcher.embedder.fusion if searcher.embedder else WORDS_ALONE, far_below=0.0
        )
        before = [cut(searcher, query.text) for query in one.trial.questions]
        rows[one.name] = {
            "recall@10": {"before": recalled(one, before), "now": recalled(one, now)},
            "results": {"before": average(before), "now": average(now)},
        }
    return rows


def cut(searcher: Searcher, query: str) -> list[int]:
    return [item.tool.document_id or 0 for item in searcher.search(query).results]


def recalled(one: Set, answers: Sequence[list[int]]) -> float:
    pairs = zip(answers, one.trial.questions, strict=True)
    return round(mean([measure(found, question.relevant) for found, question in pairs]).recall_at_10, 4)


def average(answers: Sequence[list[int]]) -> float:
    return round(sum(map(len, answers)) / len(answers), 2)


def ask_peers(sets: Sequence[Set], peers: Path) -> None:
    """Let the other searches answer, in their own environment."""
    asked, answered = peers / "sets.json", peers / ANSWERS
    content = {
        one.name: {"tools": one.texts, "queries": [q.text for q in one.trial.questions]} for one in sets
    }
    asked.write_text(json.dumps(content), "utf-8")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    command = [peers / "bin" / "python", HERE / "search_peers.py", asked, answered]
    subprocess.run(command, env=environment, check=True)


def ask_ours(trial: EvaluationSet, provider: str) -> dict[str, Any] | None:
    """Let Remit answer; None where a provider is not installed."""
    try:
        searcher = ToolCollection(trial.tools, open_engine(provider)).searcher()
    except EmbeddingError as failure:
        print(f"not measured: {provider}: {failure}", file=sys.stderr)
        return None
    return asked(searcher, [question.text for question in trial.questions])


def judged(one: Set, answers: dict[str, Any]) -> dict[str, Any]:
    """Hold what each system found to what answers the queries."""
    systems: dict[str, Any] = {"tools": len(one.trial.tools), "queries": len(one.trial.questions)}
    for name, answer in answers.items():
        pairs = zip(answer["found"], one.trial.questions, strict=True)
        figures = mean([measure(found, question.relevant) for found, question in pairs])
        systems[name] = {**quality(figures), **latency(answer["ms"])}
    return systems


def means(sets: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Average over sets, each of which counts the same."""
    systems = [name for name, figures in sets[0].items() if isinstance(figures, dict)]
    return {
        system: {key: round(sum(one[system][key] for one in sets) / len(sets), 4) for key in sets[0][system]}
        for system in systems
    }


def first_by_name(data: Path, provider: str) -> dict[str, int] | None:
    """Ask for each real tool by its exact name; count how often one of that name comes first."""
    tools, _ = real_tools(data)
    try:
        searcher = ToolCollection(tools, open_engine(provider)).searcher()
    except EmbeddingError:
        return None
    tops = [searcher.search(tool.name, limit=1).results for tool in tools]
    right = sum(
        bool(top) and tools[top[0].tool.document_id or 0].name == tool.name
        for top, tool in zip(tops, tools, strict=True)
    )
    return {"tools": len(tools), "first": right}


def timed(data: Path, provider: str, size: int) -> dict[str, Any] | None:
    """Time searches among many tools: real ones, repeated with other names and other words."""
    if provider == "onnx" and size > ENOUGH:
        return None
    tools = many(real_tools(data)[0], size)
    start = time.perf_counter()
    try:
        searcher = ToolCollection(tools, open_engine(provider)).searcher()
    except EmbeddingError:
        return None
    queries = thinned([q.text for one in dev_sets(data) for q in one.trial.questions], QUERIES)
    searcher.search(queries[0])
    built = time.perf_counter() - start
    return {"tools": size, "ready_s": round(built, 2), **latency(asked(searcher, queries)["ms"])}


if __name__ == "__main__":
    main()
