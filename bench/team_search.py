"""Measures search on PostgreSQL beside SQLite: how good it is, and how fast, for tools and for memory.

`team_search.py DATA [--artifacts N …]`: DATA holds `tool-retrieval/dev` and `real-mcp-tools`. PostgreSQL is
started from the package that the tests use, and row-level security is on, as always. The figures go to
`results/team_search.json`; what is not measured this time keeps its figures.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from memory_texts import Words
from remit.decision.projects import Workspace, identify
from remit.memory.artifacts import ArtifactKind, ArtifactStatus, Home, artifact
from remit.memory.memory_scopes import MemoryScope
from remit.search.binary_vector_index import NumpySignIndex
from remit.search.documents import build_document, indexed_columns, parse_query
from remit.search.engine import open_engine
from remit.search.evaluation import mean, measure
from remit.search.given_tools import GivenTool, as_listed
from remit.search.ports import Embedder
from remit.search.search_service import WORDS_ALONE, Searcher
from remit.store.memory_store import SqlMemory
from remit.store.open_store import open_store
from remit.store.sql_store import SqlStore
from search_figures import asked, latency, machine, many, quality
from search_sets import Set, dev_sets, real_sets, real_tools, thinned
from support.databases import run_sql
from support.postgres import Databases, postgres_databases

RESULTS = Path(__file__).parent / "results" / "team_search.json"
PROVIDERS = ("words", "static")
TOOLS = (1_000, 10_000)
PROJECTS = 20
QUERIES = 100
HERE = Workspace(dir="/work", checkout="/work", project=identify("/work"))

Place = Callable[[], str]  # makes a new database


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--artifacts", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--skip", choices=("quality", "tools"), nargs="*", default=[])
    given = parser.parse_args()
    content: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    content["machine"] = machine()
    with tempfile.TemporaryDirectory() as folder, postgres_databases() as databases:
        places = {"sqlite": new_files(Path(folder)), "postgres": databases.create}
        if "quality" not in given.skip:
            content["quality"] = qualities(given.data, places)
        if "tools" not in given.skip:
            content["tools"] = [timed_tools(given.data, size, places) for size in TOOLS]
        for count in given.artifacts:
            for projects in (1, PROJECTS):
                name = f"{count} artifacts, {projects} project{'s' if projects > 1 else ''}"
                content.setdefault("memory", {})[name] = timed_memory(count, projects, places, databases)
                save(content)
    save(content)
    print(json.dumps(content, indent=2))


def save(content: dict[str, Any]) -> None:
    RESULTS.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def new_files(folder: Path) -> Place:
    numbers = iter(range(1_000))
    return lambda: str(folder / f"{next(numbers)}" / "remit.db")


def qualities(data: Path, places: dict[str, Place]) -> dict[str, Any]:
    """Measure nDCG@10 of each set on each database, and the difference of their means in points."""
    rows: dict[str, Any] = {}
    for provider in PROVIDERS:
        sets = [*dev_sets(data), *real_sets(data)]
        found = {
            one.name: {name: judged(one, provider, make) for name, make in places.items()} for one in sets
        }
        apart = [abs(row["sqlite"]["ndcg@10"] - row["postgres"]["ndcg@10"]) for row in found.values()]
        scores = {
            name: 100 * sum(row[name]["ndcg@10"] for row in found.values()) / len(found) for name in places
        }
        rows[provider] = {
            "sets": found,
            "mean_ndcg@10": {name: round(score, 2) for name, score in scores.items()},
            "largest_difference_points": round(100 * max(apart), 2),
        }
    return rows


def judged(one: Set, provider: str, make: Place) -> dict[str, float]:
    """Ask every query of a set through the index in SQL."""
    with filled(one.trial.tools, provider, make) as (_, searcher):
        at = {item.tool.document_id: number for number, item in enumerate(searcher.listed)}
        answer = asked(searcher, [question.text for question in one.trial.questions])
        pairs = zip(answer["found"], one.trial.questions, strict=True)
        return quality(mean([measure([at[id] for id in ids], query.relevant) for ids, query in pairs]))


@contextmanager
def filled(tools: Sequence[GivenTool], provider: str, make: Place) -> Generator[tuple[SqlStore, Searcher]]:
    """Put tools into a new store, and open a searcher of its index in SQL."""
    store = open_store(make())
    database = store.database
    rows = [
        {
            "digest": str(at),
            "document": json.dumps(tool.document),
            **indexed_columns(tool.document)._asdict(),
        }
        for at, tool in enumerate(tools)
    ]
    with database.transaction():
        database.run("add_documents", documents=json.dumps(rows))
    known = dict(database.rows("known_documents", digests=json.dumps([row["digest"] for row in rows])))
    ids = [known[row["digest"]] for row in rows]
    run_sql(
        store,
        "insert into tools "
        "(client, kind, scope, source, authority, name, document_id, discovered_at, updated_at) "
        "select 'bench', 'mcp_tool', 'global', 'bench', 3, 't' || id, id, 0, 0 from documents",
    )
    engine = open_engine(provider)
    embedder: Embedder | None = None if engine.model is None else engine.embedder()
    if embedder is not None:
        vectors = embedder.embed_tools([tool.document for tool in tools])
        store.documents.can_compare()
        store.documents.add_vectors(embedder.model, dict(zip(ids, vectors, strict=True)))
    analyzed(store)
    listed = [
        item._replace(tool=item.tool._replace(document_id=id))
        for id, item in zip(ids, as_listed(tools), strict=True)
    ]
    index = store.documents.index(HERE, None if embedder is None else embedder.model)
    yield store, Searcher(listed, index, embedder)
    store.close()


def analyzed(store: SqlStore) -> None:
    """Gather the planner's statistics, as a running server does by itself."""
    if not store.database.has_full_text_index:
        connection: Any = cast("Any", store.database)._connection
        connection.execute("reset role")
        connection.execute("vacuum analyze")
        connection.execute("set role remit_runtime")


def timed_tools(data: Path, size: int, places: dict[str, Place]) -> dict[str, Any]:
    """Time searches among many tools: in SQL, as a command searches, and in memory, as a gateway does."""
    tools = many(real_tools(data)[0], size)
    queries = thinned([query.text for one in dev_sets(data) for query in one.trial.questions], QUERIES)
    row: dict[str, Any] = {"tools": size}
    for provider in PROVIDERS:
        for name, make in places.items():
            with filled(tools, provider, make) as (store, searcher):
                start = time.perf_counter()
                searcher.search(queries[0])
                analyzed(store)
                first = time.perf_counter() - start  # on PostgreSQL with indexing the words, and a vacuum
                in_sql = latency(asked(searcher, queries)["ms"])
                start = time.perf_counter()
                engine, embedder = open_engine(provider), searcher.embedder
                entries = store.documents.entries(HERE, engine.model)
                read = time.perf_counter() - start
                searcher.index = engine.in_memory(
                    entries, WORDS_ALONE if embedder is None else embedder.fusion
                )
                searcher._selections.clear()  # pyright: ignore
                row[f"{provider}, {name}"] = {
                    "in_sql": {"first_s": round(first, 2), **in_sql},
                    "in_memory": {"entries_s": round(read, 2), **latency(asked(searcher, queries)["ms"])},
                }
    return row


def timed_memory(
    count: int, projects: int, places: dict[str, Place], databases: Databases
) -> dict[str, dict[str, float]]:
    """Time searches of a project's artifacts, by words and by meaning."""
    rows: dict[str, dict[str, float]] = {}
    embedder = open_engine("static").embedder()
    for name, make in places.items():
        place = make()
        store = open_store(place)
        start = time.perf_counter()
        home = remember(store, count, projects, embedder)
        loaded = time.perf_counter() - start
        analyzed(store)
        words, kinds, memory = Words(), list(ArtifactKind), SqlMemory(store.database, NumpySignIndex)
        memory.can_compare()
        queries = [words.text(5) for _ in range(QUERIES)]
        for with_meaning in (False, True):
            taken: list[float] = []
            for query in queries:
                start = time.perf_counter()
                vector = embedder.embed_query(query) if with_meaning else None
                assert memory.hits(parse_query(query), vector, [home], kinds, 10) is not None
                taken.append(1000 * (time.perf_counter() - start))
            rows[f"{name}, {'words and meaning' if with_meaning else 'words'}"] = latency(taken)
        rows[f"{name}, load"] = {"seconds": round(loaded, 1)}
        store.close()
        if name == "postgres":
            databases.drop(place)
    return rows


def remember(store: SqlStore, count: int, projects: int, embedder: Embedder) -> Home:
    """Save artifacts of several projects, with vectors; return the home of the first."""
    words, memory = Words(), SqlMemory(store.database)
    memory.can_compare()
    with memory.transaction():
        homes = [memory.create_project(f"project-{number}", 1) for number in range(projects)]
    step = 5_000
    for first in range(0, count, step):
        with memory.transaction():
            for number in range(first, min(first + step, count)):
                said = {"topic": words.text(3), "content": words.text(30)}
                made = artifact(ArtifactKind.CONTEXT, MemoryScope.PROJECT, said)
                memory.add(f"context-{number}", made, homes[number % projects], ArtifactStatus.LIVE, number)
        unread = memory.unread(embedder.model, step)
        texts = [build_document(name, None, body) for name, body in unread.values()]
        memory.add_vectors(embedder.model, dict(zip(unread, embedder.embed_tools(texts), strict=True)))
    return homes[0]


if __name__ == "__main__":
    main()
