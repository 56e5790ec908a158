"""Documents for search: built in batches, whatever the database, and only the missing ones."""

import pytest

from remit.decision.projects import Workspace, identify
from remit.store.document_store import SqlDocuments
from remit.store.open_store import open_store
from remit.store.sql_store import SqlStore
from support.databases import run_sql
from support.postgres import Databases, needs_postgres

HERE = Workspace(dir="/work", checkout="/work", project=identify("/work"))
ELSEWHERE = Workspace(dir="/else", checkout="/else", project=identify("/else"))
MANY = 1_100  # more than two batches
NUMBERS = "(with recursive n(i) as (select 1 union all select i + 1 from n where i < 1100) select i from n) n"
DEFINITIONS = (  # the last two say the same
    "insert into definitions (digest, name, description, tokens) "
    "select 'd' || i, 'tool ' || (i - i / 1100), 'says ' || (i - i / 1100), 1 from "
)
TOOLS = (
    "insert into tools (client, kind, scope, source, authority, discovered_at, updated_at, "
    "name, definition_id, project_hash) select 'c', 'mcp_tool', "
)
DEFINED = TOOLS + "'global', 's', 3, 1, 1, digest, id, null from definitions"
BARE = TOOLS + "'local', 's', 3, 1, 1, 'bare ' || i, null, hash from projects, "
ONE_EACH = TOOLS + "'local', 's', 3, 1, 1, path, null, hash from projects"


def opened(place: str) -> tuple[SqlStore, SqlDocuments]:
    store = open_store(place)
    return store, SqlDocuments(store.database)


def add_project(store: SqlStore, workspace: Workspace, path: str) -> None:
    store.database.run("see_project", project=workspace.project.hash, path=path, at=1)


@pytest.mark.long
def test_each_tool_gets_its_document(store_place: str) -> None:
    store, documents = opened(store_place)
    add_project(store, HERE, "/work")
    for statement in (DEFINITIONS + NUMBERS, DEFINED, BARE + NUMBERS):
        run_sql(store, statement)
    documents.read(HERE)
    named = (
        "select count(*), count(distinct o.id) from {owners} x join documents o on o.id = x.document_id "
        "where o.document like '%' || x.name || '\"%'"
    )
    assert run_sql(store, named.format(owners="definitions")) == [(MANY, MANY - 1)]
    assert run_sql(store, named.format(owners="tools")) == [(MANY, MANY)]
    run_sql(store, "update definitions set document_id = null where id < 10")
    documents.read(HERE)
    assert run_sql(store, "select count(*) from definitions where document_id is null") == [(0,)]
    assert run_sql(store, "select count(*) from documents") == [(2 * MANY - 1,)]
    store.close()


def test_tools_of_another_project_are_left_to_it(store_place: str) -> None:
    store, documents = opened(store_place)
    add_project(store, HERE, "till")
    add_project(store, ELSEWHERE, "press")
    run_sql(store, ONE_EACH)
    documents.read(HERE)
    assert run_sql(store, "select name from tools where document_id is null") == [("press",)]
    store.close()


@needs_postgres
@pytest.mark.sqlite_only  # it names its store
def test_an_index_in_memory_counts_only_the_words_of_its_project_in_a_shared_store(
    databases: Databases,
) -> None:
    store, documents = opened(databases.create())
    add_project(store, HERE, "till")
    add_project(store, ELSEWHERE, "press")
    run_sql(store, ONE_EACH)
    for each in (HERE, ELSEWHERE):
        documents.read(each)
    assert [entry.columns.name for entry in documents.entries(HERE, None)] == ["till"]
    store.close()


@needs_postgres
@pytest.mark.sqlite_only  # it names its store
def test_the_planner_knows_of_many_new_tools_before_the_database_analyzes_them(databases: Databases) -> None:
    store, documents = opened(databases.create())
    add_project(store, HERE, "/work")
    for statement in (DEFINITIONS + NUMBERS, DEFINED):
        run_sql(store, statement)
    documents.read(HERE)
    known = "select relname from pg_class where relnamespace = 'remit'::regnamespace and reltuples >= 100"
    assert {"tools", "definitions", "documents"} <= {name for (name,) in run_sql(store, known)}
    store.close()
