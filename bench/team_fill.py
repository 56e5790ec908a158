"""Fills stores for many projects by SQL: rows that the store made itself, copied to other projects."""

import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import apsw
import psycopg

from memory_texts import Words
from remit.memory.artifacts import ArtifactKind, ArtifactStatus, Home, artifact
from remit.memory.memory_scopes import MemoryScope
from remit.search.documents import build_document, parse_query
from remit.search.engine import open_engine
from remit.search.ports import Embedder
from remit.store.memory_store import SqlMemory
from remit.store.open_store import open_store
from search_figures import latency
from support.postgres import Databases

OF_A_PROJECT = 1_000  # artifacts
QUERIES = 60
_FIRST = 1_000_000  # ids of copies begin here
_COPIED = (  # a copy has the ids of its original plus the shift
    "insert into memory_nodes (id, key, kind, project, home, home_kind, name, body, subject, fingerprint,"
    " content, status, dated_at, created_at, updated_at) overriding system value"
    " select id + {shift}, key || '-' || {shift}, kind, project || '-' || {shift}, home + {shift},"
    " home_kind, name, body, subject, fingerprint, content, status, dated_at, created_at, updated_at"
    " from template_nodes",
    "insert into memory_texts select node_id + {shift}, home + {shift}, size from template_texts",
    "insert into memory_terms"
    " select home + {shift}, term, node_id + {shift}, weight, size from template_terms",
    "insert into memory_vectors (node_id, home, kind, vector)"
    " select node_id + {shift}, home + {shift}, kind, vector from template_vectors",
)
_TEMPLATES = (
    "create table template_nodes as select * from memory_nodes where project <> '' order by id",
    "create table template_texts as select * from memory_texts",
    "create table template_terms as select * from memory_terms",
    "create table template_vectors as select node_id, home, kind, vector from memory_vectors",
)


def spread_over_projects(database: Path, count: int, projects: int) -> None:
    """Declare tools for other projects, until there are so many: copies of those that the store has."""
    connection: Any = apsw.Connection(str(database))
    known: list[str] = [
        name
        for _, name, *_ in connection.execute("pragma table_info(tools)")
        if name not in ("id", "server_id")
    ]
    ((have, server),) = connection.execute(
        "select count(*), min(server_id) from tools where kind = 'mcp_tool'"
    ).fetchall()
    each = max(1, (count - have) // projects)
    columns = ", ".join(known)
    values = {"scope": "'local'", "project_hash": "printf('%016x', :project)"}
    taken = ", ".join(values.get(name, name) for name in known)
    with connection:
        for project in range(1, projects + 1):
            at = {"project": project, "server": server, "each": each, "skip": project * each % have}
            connection.execute(
                "insert into projects (hash, path, seen_at) "
                "values (printf('%016x', :project), '/elsewhere/' || :project, 0)",
                at,
            )
            connection.execute(
                f"insert into tools ({columns}) select {taken} from tools where id = :server",  # noqa: S608
                at,
            )
            connection.execute(
                f"insert into tools (server_id, {columns}) select last_insert_rowid(), {taken} from ("  # noqa: S608
                "select * from tools where kind = 'mcp_tool' and server_id = :server "
                "limit :each offset :skip)",
                at,
            )
    connection.close()


def memory_growth(databases: Databases, most: int) -> Generator[dict[str, Any]]:
    """Time searches of one project's memory, while the memory of all projects grows tenfold at a time."""
    address = databases.create_empty()
    store = open_store(address)
    embedder = open_engine("static").embedder()
    memory = SqlMemory(store.database)
    home = _remember(memory, embedder)
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("set search_path = remit, public")
        owner.execute("set session_replication_role = replica")  # the copies are indexed already
        for statement in _TEMPLATES:
            owner.execute(statement.encode())
        projects, wanted = 1, 10 * OF_A_PROJECT
        while wanted <= most:
            start = time.perf_counter()
            while projects < wanted // OF_A_PROJECT:
                for statement in _COPIED:
                    owner.execute(statement.format(shift=_FIRST * projects).encode())
                projects += 1
            owner.execute("vacuum analyze")
            filled = time.perf_counter() - start
            row: dict[str, Any] = {"artifacts": wanted, "projects": projects, "fill_s": round(filled, 1)}
            yield row | _searched(memory, home, embedder)
            wanted *= 10
    store.close()
    databases.drop(address)


def _remember(memory: SqlMemory, embedder: Embedder) -> Home:
    words = Words()
    memory.can_compare()
    with memory.transaction():
        home = memory.create_project("project", 1)
        for number in range(OF_A_PROJECT):
            said = {"topic": words.text(3), "content": words.text(30)}
            made = artifact(ArtifactKind.CONTEXT, MemoryScope.PROJECT, said)
            memory.add(f"context-{number}", made, home, ArtifactStatus.LIVE, number)
    unread = memory.unread(embedder.model, OF_A_PROJECT)
    texts = [build_document(name, None, body) for name, body in unread.values()]
    memory.add_vectors(embedder.model, dict(zip(unread, embedder.embed_tools(texts), strict=True)))
    assert memory.hits(parse_query(words.text(5)), None, [home], list(ArtifactKind), 10) is not None
    return home


def _searched(memory: SqlMemory, home: Home, embedder: Embedder) -> dict[str, Any]:
    words, figures = Words(), dict[str, Any]()
    for name in ("words", "words and meaning"):
        taken: list[float] = []
        for _ in range(QUERIES):
            query = words.text(5)
            start = time.perf_counter()
            vector = None if name == "words" else embedder.embed_query(query)
            assert memory.hits(parse_query(query), vector, [home], list(ArtifactKind), 10)
            taken.append(1000 * (time.perf_counter() - start))
        figures[name] = latency(taken)
    return figures
