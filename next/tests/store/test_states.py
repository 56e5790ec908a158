"""Compiled configuration and the values of states."""

from collections.abc import Callable

from remit.decision import Workspace
from remit.store import CompiledConfiguration, Observation, SqliteDatabase, Store, StoredFile
from support.builders import BLOG, SHOP
from support.stores import memory_store

TREE = Workspace("/trees/shop", "/trees/shop", SHOP.project)
FILE = StoredFile("/code/shop/remit.toml", SHOP.project.hash, "1", '{"block": ["x"]}')
USERS = StoredFile("/home/remit.toml", None, "1", "{}")
HOUR = 3_600_000


def test_a_configuration_and_its_files_are_kept_for_their_workspace() -> None:
    store = memory_store()
    compiled = CompiledConfiguration({FILE.source: "1"}, '{"rules": []}')
    store.states.keep([FILE, USERS], compiled, SHOP, 1)
    assert store.states.configuration(SHOP) == compiled
    assert store.states.configuration(TREE) is None
    sources = [FILE.source, USERS.source]
    assert store.states.files(sources, TREE) == {FILE.source: FILE, USERS.source: USERS}
    assert store.states.files(sources, BLOG) == {USERS.source: USERS}


def test_of_a_store_that_others_write_a_process_reads_only_its_own_configuration() -> None:
    database = SqliteDatabase(":memory:")
    compiled = CompiledConfiguration({}, '{"run": "this"}')
    Store(database).states.keep([FILE], compiled, SHOP, 1)
    database.is_shared = True
    store = Store(database)
    assert store.states.configuration(SHOP) is None
    assert store.states.files([FILE.source], SHOP) == {}
    store.states.keep([FILE], compiled, SHOP, 2)
    assert store.states.configuration(SHOP) == compiled
    assert store.states.files([FILE.source], SHOP) == {FILE.source: FILE}


def test_states_belong_to_the_project_and_observations_to_the_workspace() -> None:
    store = memory_store()
    store.states.advance(["a", "b"], [], "mcp__git__log", SHOP, 1)
    store.states.advance([], ["b"], "", TREE, 2)
    store.states.push({"count": 3, "gone": 1}, {"count": 9, "gone": 9}, SHOP, 3)
    store.states.push({"gone": None}, {}, SHOP, 4)
    observation = Observation("mark", None, "took too long", 7, 5, 10)
    store.states.keep_observation("slow", observation, SHOP)
    known = store.states.known(SHOP)
    assert known.workflow == {"a": (1, "mcp__git__log")}
    assert known.pushed == {"count": (3, 3, 9)}
    assert known.observed == {"slow": observation}
    assert store.states.known(TREE)._replace(observed={}) == known._replace(observed={})
    assert store.states.known(TREE).observed == {}
    assert store.states.known(BLOG) == ({}, {}, {})


def test_one_process_detects_at_a_time_and_a_claim_from_the_future_does_not_count() -> None:
    store = memory_store()
    claim = store.states.claim
    assert claim("x", "m", SHOP, at=0, until=100)
    assert not claim("x", "m", SHOP, at=99, until=199)
    assert claim("x", "other", SHOP, at=99, until=199)
    assert claim("x", "other", SHOP, at=199, until=9 * HOUR)
    assert claim("x", "other", SHOP, at=200, until=300)  # the clock was set back since
    assert not claim("x", "other", SHOP, at=201, until=301)
    observation = Observation("other", True, "", None, 250, 999)
    store.states.keep_observation("x", observation, SHOP)
    assert claim("x", "other", SHOP, at=251, until=300)
    assert store.states.known(SHOP).observed == {"x": observation}  # it is used meanwhile
    assert claim("x", "another", SHOP, at=252, until=300)
    assert store.states.known(SHOP).observed["x"].until == 0


def test_a_change_of_states_is_counted_apart_from_catalogs() -> None:
    store = memory_store()
    changes: list[Callable[[], object]] = [
        lambda: store.states.advance(["a"], [], "", SHOP, 1),
        lambda: store.states.push({"a": 1}, {"a": 9}, SHOP, 1),
        lambda: store.states.keep_observation("x", Observation("m", True, "", None, 1, 9), SHOP),
    ]
    for change in changes:
        before = store.database.revision("states")
        change()
        assert store.database.revision("states") > before
    assert store.catalog.revision() == 0
