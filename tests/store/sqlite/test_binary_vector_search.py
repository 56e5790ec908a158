"""A large place that is searched again: held in memory, it has the same to say as the store itself."""

import random
import struct
from collections.abc import Generator
from pathlib import Path

import pytest

from remit.memory.artifacts import ArtifactKind, ArtifactStatus, Home, artifact
from remit.memory.memory_scopes import MemoryScope
from remit.search.binary_vector_index import NumpySignIndex
from remit.search.documents import parse_query
from remit.search.ports import Vector
from remit.search.ranking import Hit
from remit.store.memory_store import SqlMemory
from remit.store.sqlite.sqlite_database import SqliteDatabase
from support.databases import run_sql

WIDTH = 16
MODEL = "m"


class Place:
    """A project in a store, searched by one who holds its codes and by one who never does."""

    def __init__(self, path: Path) -> None:
        self.chance = random.Random(8)  # noqa: S311 - the same each time
        self.opened: list[int] = []
        self.path = path
        self.database = SqliteDatabase(str(path))
        self.other = SqliteDatabase(str(path))
        self.holding = SqlMemory(self.database, self.open, many=0)
        self.plain = SqlMemory(self.other)
        assert self.holding.can_compare()
        assert self.plain.can_compare()
        self.home = self.holding.create_project("shop", 1)
        self.count = 0

    def open(self, width: int) -> NumpySignIndex:
        self.opened.append(width)
        return NumpySignIndex(width)

    def vector(self, width: int = WIDTH) -> Vector:
        return struct.pack(f"<{width}f", *(self.chance.uniform(-1, 1) for _ in range(width)))

    def add(self, count: int, store: SqlMemory | None = None, home: Home | None = None) -> list[str]:
        """Save artifacts, through the other connection unless told."""
        ids = [f"context-{self.count + number}" for number in range(count)]
        self.count += count
        for id in ids:
            said = artifact(
                ArtifactKind.CONTEXT,
                MemoryScope.PROJECT,
                {"topic": "tea", "content": self.chance.choice("abcde")},
            )
            (store or self.plain).add(id, said, home or self.home, ArtifactStatus.LIVE, 1)
        return ids

    def read(self, model: str = MODEL, width: int = WIDTH) -> None:
        """Give vectors to what has none."""
        self.plain.add_vectors(model, {node: self.vector(width) for node in self.plain.unread(model, 1000)})

    def agree(self, width: int = WIDTH, homes: list[Home] | None = None) -> list[Hit]:
        """Search several times, and see that holding codes makes no difference."""
        found: list[Hit] = []
        for kinds in ([ArtifactKind.DECISION], [ArtifactKind.CONTEXT], list(ArtifactKind)):
            asked = parse_query("tea a"), self.vector(width), homes or [self.home], kinds, 3
            found = sorted(self.holding.hits(*asked))
            assert found == sorted(self.plain.hits(*asked))
        return found


@pytest.fixture
def place(tmp_path: Path) -> Generator[Place]:
    made = Place(tmp_path / "remit.db")
    yield made
    made.database.close()
    made.other.close()


def test_a_place_is_held_when_it_is_searched_a_second_time(place: Place) -> None:
    place.add(30)
    place.read()
    asked = parse_query("tea"), place.vector(), [place.home], list(ArtifactKind), 3
    first = place.holding.hits(*asked)
    assert place.opened == []
    assert sorted(place.holding.hits(*asked)) == sorted(first)
    assert place.opened == [WIDTH // 8]


def test_a_small_place_is_never_held(place: Place) -> None:
    small = SqlMemory(place.database, place.open, many=30)
    place.add(30)
    place.read()
    for _ in range(3):
        assert small.hits(parse_query("tea"), place.vector(), [place.home], list(ArtifactKind), 3)
    assert place.opened == []


@pytest.mark.long
def test_what_others_save_change_and_erase_is_noticed(place: Place) -> None:
    ids = place.add(500)
    place.read()
    place.agree()
    ids += place.add(20)
    place.agree()  # by words alone, so far
    place.read()
    assert len(place.agree()) > 400
    said = artifact(ArtifactKind.CONTEXT, MemoryScope.PROJECT, {"topic": "tea", "content": "x"})
    for id in ids[:40]:
        place.plain.change(id, "shop", said, 2)
    place.agree()
    place.read()
    place.agree()
    for id in ids[100:200]:
        place.plain.delete_artifact(id, "shop")
    place.agree()
    for id in ids[200:300]:
        place.plain.set_status(id, "shop", ArtifactStatus.SUPERSEDED, 3)
    place.agree()
    assert place.opened == [WIDTH // 8]
    place.plain.delete_project("shop")
    assert place.agree() == []


def test_each_place_is_held_by_itself(place: Place) -> None:
    area = place.plain.create_focus(place.home, "auth", 1)
    place.add(50)
    place.read()
    place.agree()
    inside = place.add(50, home=area)
    place.read()
    place.agree(homes=[area])
    both = place.agree(homes=[place.home, area])
    place.add(5, home=area)
    place.add(5)
    place.read()
    assert len(place.agree(homes=[place.home, area])) == len(both) + 10
    assert len(place.agree(homes=[area])) == len(inside) + 5


def test_another_model_starts_anew(place: Place) -> None:
    place.add(40)
    place.read()
    place.agree()
    place.read("other", 32)
    place.agree(32)
    assert place.opened == [WIDTH // 8, 32 // 8]
    place.read("third", 32)
    place.agree(32)
    place.read("third", 32)
    assert len(place.opened) == 3


def test_codes_that_came_before_rounds_were_counted_are_held_too(place: Place) -> None:
    place.add(40)
    place.read()
    run_sql(place.path, "update memory_codes set round = 0")
    run_sql(place.path, "update memory_model set round = 0")
    assert len(place.agree()) == 40
