"""Measures search: how well it ranks, whether it finds every rare word, and how fast it is.

A folder holds sets, which are folders with `tools.jsonl` and `queries.jsonl`, or lists of real tools: JSON
files with `tools`, as servers return them.
"""

import argparse
import json
import math
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from remit.decision import Decision, Kind, Scope, Tool, ToolDecision, Verdict, tool_name
from remit.search import Document, Embedder, Searcher, ToolIndex, build_document, open_model, vectors_of
from remit.text import as_list, as_object, split

DEPTH = 10
MOST_QUERIES = 300  # of a set; every n-th of more
KEYWORDS = 1_000
SIZES = (1_000, 10_000)
FEWEST_WORDS = 4  # of a sentence
SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
VISIBLE = Decision(Verdict.VISIBLE, None, "given")
LOTS = random.Random(7)  # noqa: S311 - the same each time

Item = TypeVar("Item")


class Entry(NamedTuple):
    """A tool and its searchable text."""

    name: str
    server: str
    document: Document


Query = tuple[str, frozenset[int]]  # with the positions of the tools that answer it


class Set(NamedTuple):
    """Tools, and queries with known answers."""

    name: str
    tools: Sequence[Entry]
    queries: Sequence[Query]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--model", default="static")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    model = open_model(given.model)
    sets = [one for folder in given.folders for one in folder_sets(folder)]
    real = [tool for folder in given.folders for tool in real_tools(folder)]
    measures = {one.name: measured(one, model) for one in sets}
    figures: dict[str, Any] = {"model": given.model, "sets": measures}
    if sets:
        figures["mean_ndcg@10"] = round(sum(row["ndcg@10"] for row in measures.values()) / len(sets), 2)
    if real:
        figures["real_tools"] = {one.name: measured(one, model) for one in real_sets(real)}
        figures["rare_words"] = rare_words(real, model)
        queries = thinned([query for one in sets for query, _ in one.queries] or [tool.name for tool in real])
        sizes = SIZES if model is None or not model.is_slow else SIZES[:1]
        figures["speed"] = [timed(many(real, size), queries, model) for size in sizes]
    text = json.dumps(figures, indent=2)
    print(text if given.json else re.sub(r'[{}",]', "", text))


def folder_sets(folder: Path) -> Iterator[Set]:
    """Read each set below a folder, without the queries that no tool of it answers."""
    for file in sorted(folder.rglob("queries.jsonl")):
        rows = [json.loads(line) for line in (file.parent / "tools.jsonl").read_text("utf-8").splitlines()]
        at = {row["id"]: place for place, row in enumerate(rows)}
        asked = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        queries = [(row["text"], frozenset(at[id] for id in row["relevant"] if id in at)) for row in asked]
        tools = [entry(row, row.get("server_name") or row.get("server") or "", "parameters") for row in rows]
        yield Set(file.parent.name, tools, thinned([query for query in queries if query[1]]))


def real_tools(folder: Path) -> Iterator[Entry]:
    """Read what real servers list."""
    for file in sorted(folder.rglob("*.json")):
        tools = as_object(json.loads(file.read_text("utf-8"))).get("tools")
        yield from (entry(row, file.stem, "inputSchema") for row in as_list(tools))


def entry(row: Mapping[str, Any], server: str, schema: str) -> Entry:
    """Read a tool; its parameters are a JSON schema, a mapping by name, or lists of named parameters."""
    fields = as_object(row.get(schema))
    params = as_object(fields.get("properties")) or fields
    lists = row.get(schema), params.get("required"), params.get("optional")
    if listed := [param for values in lists for param in as_list(values)]:
        params = {str(param["name"]): param for param in map(as_object, listed) if "name" in param}
    about = {name: as_object(param).get("description") or "" for name, param in params.items()}
    document = build_document(row["name"], server, row.get("description"), about, row.get("title"))
    return Entry(row["name"], server, document)


def real_sets(tools: Sequence[Entry]) -> list[Set]:
    """Ask for real tools by their names, and by their first sentences without the words of the name."""
    alike: defaultdict[str, set[int]] = defaultdict(set)
    for at, tool in enumerate(tools):
        alike[tool.document.description].add(at)
    names: list[Query] = [(tool.name, frozenset((at,))) for at, tool in enumerate(tools)]
    asked = ((without_name(tool), alike[tool.document.description]) for tool in tools)
    sentences = [(text, frozenset(same)) for text, same in asked if len(text.split()) >= FEWEST_WORDS]
    return [Set("names", tools, names), Set("first sentences", tools, thinned(sentences))]


def without_name(tool: Entry) -> str:
    """Return the first sentence of a description without the words of the name."""
    words = {word.lower() for word in split(tool.name).split()}
    first = SENTENCE_END.split(tool.document.description, maxsplit=1)[0]
    return " ".join(word for word in first.split() if split(word).lower() not in words)


def thinned(items: Sequence[Item]) -> Sequence[Item]:
    """Keep every n-th, so that there are not too many."""
    return items[:: -(-len(items) // MOST_QUERIES)] if items else items


def searcher(tools: Sequence[Entry], model: Embedder | None) -> Searcher:
    """Index tools; the definition of each is its position."""
    documents = {str(at): tool.document for at, tool in enumerate(tools)}
    kept = vectors_of([*documents.values()], model, {}) if model is not None and model.is_slow else None
    index = ToolIndex(documents, model, kept)
    listed = [
        Tool(
            str(at),
            Kind.MCP_TOOL,
            Scope.GLOBAL,
            None,
            None,
            None,
            server,
            tool_name(server, name),
            definition=str(at),
        )
        for at, (name, server, _) in enumerate(tools)
    ]
    return Searcher(index, [ToolDecision(tool, VISIBLE) for tool in listed])


def measured(one: Set, model: Embedder | None) -> dict[str, float]:
    """Measure how high the relevant tools of a set are ranked, and how long that takes."""
    opened, gains, firsts, times = searcher(one.tools, model), 0.0, 0, list[float]()
    for query, relevant in one.queries:
        results, took = asked(opened, query)
        ranks = [rank for rank, at in enumerate(results) if at in relevant]
        ideal = sum(1 / math.log2(rank + 2) for rank in range(min(len(relevant), DEPTH)))
        gains += sum(1 / math.log2(rank + 2) for rank in ranks) / ideal
        firsts += 0 in ranks
        times.append(took)
    count = len(one.queries)
    shares = {"ndcg@10": round(100 * gains / count, 2), "first": round(100 * firsts / count, 2)}
    return {"tools": len(one.tools), "queries": count, **shares, **latency(times)}


def asked(opened: Searcher, query: str) -> tuple[list[int], float]:
    """Return the positions of the best tools for a query, and the milliseconds that took."""
    start = time.perf_counter()
    results = opened.search(query, limit=DEPTH, min_score=0).results
    return [int(item.tool.client) for item in results], 1000 * (time.perf_counter() - start)


def latency(times: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile."""
    ordered = sorted(times)
    return {f"p{share}_ms": round(ordered[len(ordered) * share // 100], 3) for share in (50, 95)}


def rare_words(tools: Sequence[Entry], model: Embedder | None) -> dict[str, int]:
    """Count rare words of which a search finds no tool that contains them."""
    words: defaultdict[str, set[int]] = defaultdict(set)
    for at, (name, _, document) in enumerate(tools):
        text = f"{name} {document.description} {' '.join(document.params)} {document.details}"
        for word in re.findall(r"[^\W_]{4,}", text.lower()):
            words[word].add(at)
    rare = [word for word, places in sorted(words.items()) if len(places) * 10 <= len(tools)]
    asked = LOTS.sample(rare, min(KEYWORDS, len(rare)))
    opened = searcher(tools, model)
    missed = [
        word
        for word in asked
        if words[word].isdisjoint(int(item.tool.client) for item in opened.search(word).results)
    ]
    return {"words": len(asked), "missed": len(missed)}


def many(tools: Sequence[Entry], size: int) -> list[Entry]:
    """Repeat tools, each time with a number in the name and a few more words in the description."""
    words = [word for tool in tools for word in tool.document.description.split()[:20]]
    made = list(tools[:size])
    while len(made) < size:
        name, server, document = tools[len(made) % len(tools)]
        name = f"{name}_{len(made) // len(tools)}"
        about = f"{document.description} {' '.join(LOTS.choices(words, k=5))}"
        made.append(Entry(name, server, document._replace(name=split(name), description=about)))
    return made


def timed(tools: Sequence[Entry], queries: Sequence[str], model: Embedder | None) -> dict[str, float]:
    """Time the first search, which indexes the tools, and later ones."""
    start = time.perf_counter()
    opened = searcher(tools, model)
    opened.search(queries[0])
    ready = round(time.perf_counter() - start, 2)
    return {"tools": len(tools), "ready_s": ready, **latency([asked(opened, query)[1] for query in queries])}


if __name__ == "__main__":
    main()
