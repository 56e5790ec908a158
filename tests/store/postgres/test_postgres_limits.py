"""Values that PostgreSQL cannot index or store harm no others."""

import random
from pathlib import Path
from typing import Any

import pytest

import remit.store.open_store
from remit import bootstrap
from remit.errors import StoreRefusedError
from remit.memory.results import SaveStatus
from remit.store.open_store import open_store
from support.databases import Locked
from support.memory_calls import decide, one, pattern, recalled, start
from support.postgres import STANDING_IN, Databases, needs_postgres
from support.sandbox import Sandbox

pytestmark = needs_postgres


@pytest.fixture(autouse=True)
def address(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database that every project opens."""
    from remit.store.postgres.postgres_database import PostgresDatabase

    made = databases.create()

    def opened(_place: str, *, patience: float = 5.0, admin: str | None = None) -> PostgresDatabase:  # noqa: ARG001
        return PostgresDatabase(made, patience=patience)

    monkeypatch.setattr(remit.store.open_store, "open_database", opened)
    return made


def chinese(count: int, seed: int = 0) -> str:
    """A text without spaces, which no compression makes short."""
    lots = random.Random(seed)  # noqa: S311 - the same text each time
    return "".join(chr(lots.randrange(0x4E00, 0x9FA5)) for _ in range(count))


def test_a_tool_with_a_very_long_word_is_found_by_it_and_others_stay_searchable(sandbox: Sandbox) -> None:
    shop, blog = sandbox.project("shop"), sandbox.project("blog")
    long = chinese(600)
    with sandbox.registry() as registry:
        described = {"translate": f"translate {long} {chinese(580, 1)}", "publish": "publish an article"}
        for project, name in ((shop, "translate"), (blog, "publish")):
            registry.usage.report_tool(name, registry.at(str(project)), description=described[name])

        def found(project: Path, query: str) -> list[str]:
            results = registry.search(query, registry.at(str(project)), min_score=0.0).results
            return [each.tool.name for each in results]

        assert found(blog, "publish an article") == ["publish"]
        assert found(shop, long) == ["translate"]


def test_memory_keeps_texts_without_spaces(sandbox: Sandbox) -> None:
    sandbox.project("shop")
    with start(sandbox.memory(), "shop", "blog") as memory:
        long = chinese(1950)
        saved = one(memory.save("save_pattern", {"pattern": pattern(long), "project_id": "shop"}))
        assert saved.status is SaveStatus.SAVED
        reason = chinese(15_000)
        assert decide(memory, "shop", "Use SQLite", reason).status is SaveStatus.SAVED
        assert decide(memory, "shop", "Use SQLite", reason).status is SaveStatus.DUPLICATE_SKIP
        assert decide(memory, "blog", "Use SQLite").status is SaveStatus.SAVED
        assert saved.artifact_id in recalled(memory, "shop")
        found = memory.memory_surface({"query": long, "project_id": "shop"})
        assert found.matches[0]["id"] == saved.artifact_id


@pytest.mark.parametrize(
    "values",
    [{"text": chinese(3000)}, {"text": "x", "at": 2**70}],
    ids=["too long for an index", "too large a number"],
)
def test_a_value_that_the_database_refuses_is_not_a_database_that_is_down(
    address: str, values: dict[str, Any]
) -> None:
    store = open_store(address)
    with pytest.raises(StoreRefusedError, match="does not accept a value"):
        store.database.rows("note_delivery", id=values["text"], at=values.get("at", 1))
    assert store.database.rows("note_delivery", id="short", at=1)
    store.close()


def test_a_write_to_memory_that_the_database_refuses_holds_up_no_other(
    sandbox: Sandbox, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    monkeypatch.setattr(bootstrap, "MEMORY_PATIENCE", 0.0)
    monkeypatch.setitem(STANDING_IN, str(sandbox.database), address)
    sandbox.project("shop")
    with start(sandbox.memory(), "shop", "blog") as memory:
        with Locked(sandbox.database):
            for project, reason in (("shop", chinese(3000)), ("blog", "It is fast.")):
                assert decide(memory, project, "Use SQLite", reason).status is SaveStatus.PENDING_RETRY
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("create index on remit.memory_nodes (body)")
        report = memory.run_hygiene({"project_id": "shop"})
        assert (report.unresolved_saves, "does not accept a value" in report.next_step) == (1, True)
        assert memory.run_hygiene({"project_id": "blog"}).unresolved_saves == 0
        assert len(recalled(memory, "blog", categories=["decision"])) == 1
        with pytest.raises(StoreRefusedError):
            decide(memory, "shop", "Use SQLite", chinese(3000))
        assert decide(memory, "blog", "Write tests").status is SaveStatus.SAVED
