"""Artifacts of a repository's memory, found by words and by meaning; vectors of tools."""

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from remit.decision import Workspace
from remit.store import NewArtifact, Related, Store, open_store
from support.builders import BLOG, SHOP
from support.stores import memory_store, sql

KINDS = ("session", "decision", "pattern", "context", "entity")


def saved(
    store: Store,
    key: str,
    name: str,
    body: str = "",
    *,
    kind: str = "decision",
    focus: str = "",
    project: str = "app",
    workspace: Workspace = SHOP,
    at: int = 1,
) -> NewArtifact:
    artifact = NewArtifact(
        key, kind, name, body, name.lower(), f"print of {name} {body}", {"title": name}, at
    )
    place = store.artifacts.create(project, focus, workspace, at)
    store.artifacts.add(artifact, place, workspace, at)
    return artifact


def found(
    store: Store,
    *words: str,
    vector: bytes | None = None,
    kinds: Sequence[str] = KINDS,
    places: Sequence[int] | None = None,
    workspace: Workspace = SHOP,
    project: str = "app",
) -> list[str]:
    places = [*store.artifacts.places(project, workspace).values()] if places is None else places
    hits = store.artifacts.hits(words, vector, "model", places, kinds, workspace)
    kept = store.artifacts.by_id([hit.id for hit in hits], workspace)
    return [kept[hit.id].key for hit in hits]


def vector(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def embed(store: Store, **vectors: bytes) -> None:
    ids = {name: id for id, (name, _) in store.artifacts.unread("model", 99).items()}
    store.artifacts.add_vectors("model", {ids[name]: vector for name, vector in vectors.items()})


def test_a_project_is_another_one_in_each_repository() -> None:
    store = memory_store()
    saved(store, "a", "Use tabs", focus="ui")
    saved(store, "b", "Use spaces", workspace=BLOG)
    assert store.artifacts.projects(SHOP) == [("app", 1, 1, 1)]
    assert [*store.artifacts.places("app", SHOP)] == ["", "ui"]
    assert [*store.artifacts.places("app", BLOG)] == [""]
    assert store.artifacts.places("other", SHOP) == {}
    artifact = store.artifacts.find("a", SHOP)
    assert artifact is not None
    assert (artifact.project_id, artifact.focus, artifact.content) == ("app", "ui", {"title": "Use tabs"})


def test_no_query_reads_or_writes_the_memory_of_another_repository() -> None:
    store = memory_store()
    store.database.enable_vectors()
    mine = saved(store, "a", "Tabs", "secret")
    saved(store, "b", "Spaces", workspace=BLOG)
    embed(store, Tabs=vector(1, 1), Spaces=vector(1, 1))
    places = [*store.artifacts.places("app", SHOP).values()]
    memory = store.artifacts
    assert memory.find("a", BLOG) is None
    assert memory.same(mine, places[0], BLOG) is None
    assert memory.newest(places, KINDS, 9, BLOG) == []
    assert found(store, "secret", vector=vector(1, 1), places=places, workspace=BLOG) == []
    assert memory.by_id(range(9), BLOG).keys() == {2}
    memory.change(mine._replace(name="Changed"), BLOG, 2)
    memory.replace("a", BLOG, 2)
    memory.delete("a", BLOG)
    memory.add(mine._replace(key="c"), places[0], BLOG, 2)
    memory.relate(Related("b", "USES", "a", {}), BLOG)
    memory.delete_project("other", BLOG)
    kept = memory.find("a", SHOP)
    assert kept is not None
    assert (kept.is_live, kept.updated_at) == (True, 1)
    assert memory.find("c", SHOP) is None
    assert memory.relations("a", SHOP) == []


def test_what_looks_like_an_operator_searches_for_itself() -> None:
    store = memory_store()
    saved(store, "a", "Errors near the NOT operator")
    saved(store, "b", "Other")
    assert found(store, "not") == ["a"]
    assert found(store, "near") == ["a"]
    assert found(store, "terms") == []


def test_words_are_searched_in_the_given_places_and_kinds() -> None:
    store = memory_store()
    saved(store, "a", "Cache", "with redis", focus="api")
    saved(store, "b", "Queue", "with redis", kind="pattern")
    places = store.artifacts.places("app", SHOP)
    assert sorted(found(store, "redis")) == ["a", "b"]
    assert found(store, "redis", places=[places["api"]]) == ["a"]
    assert found(store, "redis", kinds=["pattern"]) == ["b"]
    assert found(store, "redis", places=[]) == []
    assert found(store, "redis", kinds=[]) == []


def test_a_name_counts_more_than_a_text_and_stems_are_words() -> None:
    store = memory_store()
    saved(store, "a", "Other", "caching of things")
    saved(store, "b", "Caches", "things")
    assert found(store, "cached") == ["b", "a"]


def test_what_is_replaced_or_changed_is_not_found_by_what_it_said() -> None:
    store = memory_store()
    store.database.enable_vectors()
    old = saved(store, "a", "Redis")
    saved(store, "b", "Kafka")
    embed(store, Redis=vector(1, -1), Kafka=vector(-1, 1))
    store.artifacts.change(old._replace(name="Valkey"), SHOP, 2)
    assert (found(store, "redis"), found(store, "valkey")) == ([], ["a"])
    assert [name for name, _ in store.artifacts.unread("model", 9).values()] == ["Valkey"]
    assert found(store, vector=vector(1, -1)) == ["b"]
    store.artifacts.replace("b", SHOP, 3)
    assert (found(store, "kafka"), found(store, vector=vector(1, -1))) == ([], [])
    kept = store.artifacts.find("b", SHOP)
    assert kept is not None
    assert not kept.is_live


def test_meaning_finds_the_nearest_first_and_both_kinds_of_hits_are_scored() -> None:
    store = memory_store()
    assert store.database.enable_vectors()
    saved(store, "a", "North")
    saved(store, "b", "East")
    saved(store, "c", "Later")
    embed(store, North=vector(1, 1, 1), East=vector(1, 1, -1))
    places = [*store.artifacts.places("app", SHOP).values()]
    hits = store.artifacts.hits(["later"], vector(1, 1, -1), "model", places, KINDS, SHOP)
    assert [(hit.id, hit.words > 0, hit.meaning) for hit in hits] == [
        (3, True, None),
        (2, False, pytest.approx(1)),
        (1, False, pytest.approx(1 / 3)),
    ]


def test_vectors_of_another_model_or_length_are_made_again() -> None:
    store = memory_store()
    store.database.enable_vectors()
    saved(store, "a", "North")
    saved(store, "b", "East")
    embed(store, North=vector(1, 1))
    assert [*store.artifacts.unread("model", 9)] == [2]
    store.artifacts.add_vectors("model", {2: vector(1, 1, 1)})  # an endpoint has changed its model
    assert [*store.artifacts.unread("model", 9)] == [1]
    assert [*store.artifacts.unread("another", 9)] == [1, 2]
    assert sql(store, "select count(*) from artifact_codes") == [(0,)]


def test_a_vector_that_arrives_after_its_artifact_is_gone_is_no_other_ones() -> None:
    store = memory_store()
    saved(store, "a", "North")
    (late,) = store.artifacts.unread("model", 9)
    store.artifacts.delete("a", SHOP)
    saved(store, "b", "East")
    store.artifacts.add_vectors("model", {late: vector(1, 1)})
    assert [name for name, _ in store.artifacts.unread("model", 9).values()] == ["East"]
    assert sql(store, "select count(*) from artifact_vectors") == [(0,)]


def test_only_the_rarest_words_count_in_a_large_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.store.memory.MANY", 3)
    monkeypatch.setattr("remit.store.memory.MOST_MATCHES", 3)
    store = memory_store()
    for number in range(4):
        saved(store, str(number), f"common {'rare' if number == 2 else 'other'}{number}")
    assert found(store, "common", "rare2", "absent") == ["2"]
    assert len(found(store, "common")) == 4


def test_the_same_content_and_entity_are_per_place() -> None:
    store = memory_store()
    first = saved(store, "a", "Tabs")
    saved(store, "b", "Ada", kind="entity", focus="ui")
    places = store.artifacts.places("app", SHOP)
    same = store.artifacts.same(first, places[""], SHOP)
    assert same is not None
    assert same.key == "a"
    assert store.artifacts.same(first, places["ui"], SHOP) is None
    assert store.artifacts.entity("ada", places[""], SHOP) is None
    assert store.artifacts.entity("ada", places["ui"], SHOP) is not None
    store.artifacts.replace("a", SHOP, 2)
    assert store.artifacts.same(first, places[""], SHOP) is None


def test_the_newest_come_first_and_replaced_ones_only_if_asked_for() -> None:
    store = memory_store()
    for at, key in enumerate("abc", start=1):
        saved(store, key, key, at=at)
    store.artifacts.replace("b", SHOP, 9)
    places = [*store.artifacts.places("app", SHOP).values()]
    assert [item.key for item in store.artifacts.newest(places, KINDS, 9, SHOP)] == ["c", "a"]
    assert [item.key for item in store.artifacts.newest(places, KINDS, 1, SHOP, since=2)] == ["c"]
    every = store.artifacts.newest(places, KINDS, 9, SHOP, with_replaced=True)
    assert [item.key for item in every] == ["c", "b", "a"]


def test_relations_go_with_their_artifacts() -> None:
    store = memory_store()
    saved(store, "a", "A")
    saved(store, "b", "B")
    related = Related("a", "SUPERSEDES", "b", {"why": "newer"})
    store.artifacts.relate(related, SHOP)
    assert store.artifacts.relations("b", SHOP) == store.artifacts.relations("a", SHOP) == [related]
    assert store.artifacts.relations("b", BLOG) == []
    store.artifacts.delete("b", SHOP)
    assert store.artifacts.relations("a", SHOP) == []


def test_a_memory_moves_with_its_repository_except_what_exists_there() -> None:
    store = memory_store()
    saved(store, "a", "Tabs")
    saved(store, "b", "Spaces", project="both")
    saved(store, "c", "Blog", project="both", workspace=BLOG)
    store.artifacts.take_over(SHOP.project.hash, BLOG, 2)
    assert [project.project_id for project in store.artifacts.projects(BLOG)] == ["app", "both"]
    assert [project.project_id for project in store.artifacts.projects(SHOP)] == ["both"]
    assert found(store, "tabs", workspace=BLOG) == ["a"]


def test_a_forgotten_project_takes_its_memory_and_its_words_with_it() -> None:
    store = memory_store()
    saved(store, "a", "Tabs", focus="ui")
    saved(store, "b", "Spaces", project="other")
    store.artifacts.delete_project("app", SHOP)
    assert store.artifacts.find("a", SHOP) is None
    assert sql(store, "select rowid from artifacts_by_word('tabs OR spaces')") == [(2,)]
    store.catalog.forget(SHOP.project)
    assert sql(store, "select rowid from artifacts_by_word('tabs OR spaces')") == []


def test_the_words_of_an_erased_artifact_are_in_no_file(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "remit.sqlite"))
    saved(store, "a", "Zebra")
    saved(store, "b", "Yak")
    store.artifacts.delete("a", SHOP)
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"zebra" not in content.lower()
    assert b"yak" in content.lower()
    store.close()


def test_vectors_of_tools_are_known_by_model_and_content() -> None:
    store = memory_store()
    store.documents.keep("m", {"a": vector(1, 2), "b": vector(3, 4)})
    assert store.documents.vectors("m", ["a", "x"]) == {"a": vector(1, 2)}
    assert store.documents.vectors("other", ["a"]) == {}
    store.documents.keep("m", {"c": vector(1, 2, 3)})  # an endpoint has changed the model behind its name
    assert store.documents.vectors("m", ["a", "b", "c"]) == {"c": vector(1, 2, 3)}
