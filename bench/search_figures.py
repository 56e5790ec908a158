"""Asks searchers queries, makes many tools, and turns answers and times into figures."""

import os
import platform
import random
import time
from collections.abc import Sequence
from typing import Any

from remit.search.evaluation import RankingMetrics, percentile
from remit.search.given_tools import GivenTool
from remit.search.search_service import Searcher
from remit.text.words import split


def asked(searcher: Searcher, queries: Sequence[str]) -> dict[str, Any]:
    """Ask each query, after one that makes things ready."""
    searcher.search(queries[0], min_score=0)
    found: list[list[int]] = []
    times: list[float] = []
    for query in queries:
        start = time.perf_counter()
        results = searcher.search(query, limit=10, min_score=0).results
        times.append(1000 * (time.perf_counter() - start))
        found.append([item.tool.document_id or 0 for item in results])
    return {"found": found, "ms": times}


def quality(figures: RankingMetrics) -> dict[str, float]:
    return {
        "recall@1": round(figures.recall_at_1, 4),
        "recall@5": round(figures.recall_at_5, 4),
        "ndcg@10": round(figures.ndcg_at_10, 4),
    }


def latency(times: Sequence[float]) -> dict[str, float]:
    return {"p50_ms": round(percentile(times, 0.5), 3), "p95_ms": round(percentile(times, 0.95), 3)}


def many(tools: Sequence[GivenTool], size: int) -> list[GivenTool]:
    """Repeat tools, each time with a number in the name and a few more words in the description."""
    lots = random.Random(7)  # noqa: S311 - the same tools each time
    words = [word for tool in tools for word in tool.document.description.split()[:20]]
    made = list(tools[:size])
    while len(made) < size:
        tool = tools[len(made) % len(tools)]
        name = f"{tool.name}_{len(made) // len(tools)}"
        about = f"{tool.document.description} {' '.join(lots.choices(words, k=5))}"
        made.append(GivenTool(name, tool.server, tool.document._replace(name=split(name), description=about)))
    return made


def machine() -> dict[str, object]:
    """Say where this was measured, and what else ran there."""
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load_average": [round(value, 1) for value in os.getloadavg()],
        "python": platform.python_version(),
    }
