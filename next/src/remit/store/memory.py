"""Memory: artifacts in the projects of a repository, found by words and by the meaning of vectors."""

import json
import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from remit.decision import Workspace
from remit.store.database import Database, Row, Value, see_project

MANY = 5_000  # artifacts; a larger project probably has most of them
MOST_MATCHES = 8_000  # matching artifacts; words that match more carry little information
DEEP = 400  # artifacts by words, and as many by meaning: the best overall may be first in neither


class MemoryProject(NamedTuple):
    """A project of a repository's memory."""

    project_id: str
    created_at: int
    updated_at: int
    artifacts: int


class NewArtifact(NamedTuple):
    """An artifact to store."""

    key: str
    kind: str
    name: str  # searchable text, like the next
    body: str
    subject: str  # facts about one entity share it
    fingerprint: str  # of its content
    content: Mapping[str, Any]
    dated_at: int  # when it was last confirmed


class Artifact(NamedTuple):
    """A stored artifact."""

    key: str
    kind: str
    project_id: str
    focus: str  # empty: the project
    content: Mapping[str, Any]
    is_live: bool  # False: another artifact replaces it
    dated_at: int
    created_at: int
    updated_at: int


class Related(NamedTuple):
    """A relation between two artifacts."""

    source: str
    relation: str
    target: str
    properties: Mapping[str, Any]


class ArtifactHit(NamedTuple):
    """An artifact that shares words with a query, or is close to it in meaning."""

    id: int
    words: float
    meaning: float | None  # None: it has no vector yet


class ArtifactStore:
    """Stores the memory of the repository of one workspace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def projects(self, workspace: Workspace) -> list[MemoryProject]:
        """List the projects of a repository."""
        return [MemoryProject(*row) for row in self._rows("memory_projects", workspace)]

    def places(self, project_id: str, workspace: Workspace) -> dict[str, int]:
        """Return the places of a project by focus, its own under the empty name; none if it is unknown."""
        return {focus: id for id, focus in self._rows("places", workspace, project_id=project_id)}

    def create(self, project_id: str, focus: str, workspace: Workspace, at: int) -> int:
        """Return the place of a focus, or of a project if it is empty, creating what is missing."""
        see_project(self._database, workspace, at)
        self._rows("add_memory_project", workspace, project_id=project_id, at=at)
        for name in dict.fromkeys(("", focus)):
            self._rows("add_place", workspace, project_id=project_id, focus=name)
        return self.places(project_id, workspace)[focus]

    def take_over(self, owner: str, workspace: Workspace, at: int) -> None:
        """Make the memory of another repository, which has moved here, this one's."""
        with self._database.transaction():
            see_project(self._database, workspace, at)
            self._database.rows("take_over_memory", **{"from": owner}, project=workspace.project.hash)

    def delete_project(self, project_id: str, workspace: Workspace) -> None:
        """Erase a project with its artifacts."""
        with self._database.transaction():
            self._rows("delete_memory_project", workspace, project_id=project_id)
        self._database.erase()

    def add(self, artifact: NewArtifact, place: int, workspace: Workspace, at: int) -> None:
        """Add an artifact to a place."""
        self._rows("add_artifact", workspace, **_columns(artifact), place=place, at=at)

    def change(self, artifact: NewArtifact, workspace: Workspace, at: int) -> None:
        """Change what an artifact says."""
        values = _columns(artifact)
        del values["kind"], values["subject"]
        self._rows("change_artifact", workspace, **values, at=at)

    def replace(self, key: str, workspace: Workspace, at: int) -> None:
        """Hide an artifact that another replaces."""
        self._rows("replace_artifact", workspace, key=key, at=at)

    def delete(self, key: str, workspace: Workspace) -> None:
        """Erase an artifact."""
        with self._database.transaction():
            self._rows("delete_artifact", workspace, key=key)
        self._database.erase()

    def find(self, key: str, workspace: Workspace) -> Artifact | None:
        """Find an artifact, even one that another replaces."""
        return _first(self._rows("artifact_by_key", workspace, key=key))

    def same(self, artifact: NewArtifact, place: int, workspace: Workspace) -> Artifact | None:
        """Find a live artifact with the same content in a place."""
        sought = {"place": place, "fingerprint": artifact.fingerprint, "kind": artifact.kind}
        return _first(self._rows("same_artifact", workspace, **sought))

    def entity(self, subject: str, place: int, workspace: Workspace) -> Artifact | None:
        """Find an entity in a place."""
        return _first(self._rows("entity", workspace, place=place, subject=subject))

    def newest(
        self,
        places: Collection[int],
        kinds: Collection[str],
        limit: int,
        workspace: Workspace,
        *,
        since: int = 0,
        with_replaced: bool = False,
    ) -> list[Artifact]:
        """List the newest artifacts of some kinds in some places."""
        among = {"places": json.dumps(list(places)), "kinds": json.dumps(list(kinds))}
        is_live = int(not with_replaced)
        rows = self._rows("newest_artifacts", workspace, **among, is_live=is_live, since=since, most=limit)
        return [_artifact(row) for row in rows]

    def relate(self, related: Related, workspace: Workspace) -> None:
        """Relate two artifacts of a repository."""
        values = {**related._asdict(), "properties": json.dumps(related.properties)}
        self._rows("relate", workspace, **values)

    def relations(self, key: str, workspace: Workspace) -> list[Related]:
        """List the relations of an artifact."""
        rows = self._rows("relations_of", workspace, key=key)
        return [Related._make([*names, json.loads(properties)]) for *names, properties in rows]

    def by_id(self, ids: Iterable[int], workspace: Workspace) -> dict[int, Artifact]:
        """Read the artifacts of search hits, except those replaced since."""
        rows = self._rows("artifacts_by_id", workspace, ids=json.dumps(list(ids)))
        return {row[0]: _artifact(row[1:]) for row in rows}

    def hits(
        self,
        words: Sequence[str],
        vector: bytes | None,
        model: str | None,
        places: Collection[int],
        kinds: Collection[str],
        workspace: Workspace,
    ) -> list[ArtifactHit]:
        """Find artifacts that share words with a query, or are close to its vector in meaning.

        Call `enable_vectors` of the database first if there is a vector.
        """
        among = {"places": json.dumps(list(places)), "kinds": json.dumps(list(kinds)), "most": DEEP}
        telling = self._telling(words, among["places"], workspace)
        by_words: dict[int, float] = {}
        if telling:
            by_words = dict(self._rows("artifacts_by_words", workspace, **among, words=json.dumps(telling)))
        meanings: dict[int, float] = {}
        near: list[int] = []
        if vector is not None:
            near = [id for (id,) in self._rows("artifacts_by_code", workspace, **among, code=signs(vector))]
            ids = json.dumps([*by_words, *near])
            meanings = dict(self._rows("meanings", workspace, ids=ids, model=model, vector=vector))
        best = dict.fromkeys([*by_words, *(id for id in near if id in meanings)])
        return [ArtifactHit(id, by_words.get(id, 0.0), meanings.get(id)) for id in best]

    def unread(self, model: str, limit: int) -> dict[int, tuple[str, str]]:
        """List artifacts without a vector of a model, with their names and texts."""
        if set(self._database.rows("other_vectors")[0]) - {None, model}:
            with self._database.transaction():
                self._forget_vectors()
        return {id: (name, body) for id, name, body in self._database.rows("unread_artifacts", most=limit)}

    def add_vectors(self, model: str, vectors: Mapping[int, bytes]) -> None:
        """Store vectors of 32-bit floats, except of artifacts that are gone."""
        with self._database.transaction():
            for vector in islice(vectors.values(), 1):  # an endpoint may change the model behind a name
                if self._database.rows("vector_of_other_length", model=model, length=len(vector)):
                    self._forget_vectors()
            values: list[dict[str, Value]] = [
                {"artifact": id, "model": model, "vector": vector, "code": signs(vector)}
                for id, vector in vectors.items()
            ]
            for query in ("add_vector", "add_code", "mark_embedded"):
                self._database.run_each(query, values)

    def _forget_vectors(self) -> None:
        for query in ("forget_vectors", "forget_codes", "embed_all_again"):
            self._database.rows(query)

    def _telling(self, words: Sequence[str], places: Value, workspace: Workspace) -> Sequence[str]:
        """Return the words to search for: in a large memory, only the rarest."""
        size = self._rows("size_of_places", workspace, places=places, most=MANY + 1)[0][0]
        if size <= MANY:
            return words if size else ()
        return rarest(dict(self._database.rows("word_counts", words=json.dumps(list(words)))))

    def _rows(self, query: str, workspace: Workspace, **values: Value) -> list[Row]:
        return self._database.rows(query, project=workspace.project.hash, **values)


def rarest(counts: Mapping[str, int]) -> list[str]:
    """Return the rarest words: at least one, and more while few artifacts contain them."""
    kept: list[str] = []
    total = 0
    for word in sorted(counts, key=lambda word: counts[word]):
        total += counts[word]
        if kept and total > MOST_MATCHES:
            break
        if counts[word]:
            kept.append(word)
    return kept


def signs(vector: bytes) -> bytes:
    """Pack the signs of a vector into bits."""
    numbers = struct.unpack(f"<{len(vector) // 4}f", vector)
    code = sum(1 << at for at, number in enumerate(numbers) if number > 0)
    return code.to_bytes((len(numbers) + 7) // 8, "little")


def _columns(artifact: NewArtifact) -> dict[str, Value]:
    return {**artifact._asdict(), "content": json.dumps(dict(artifact.content))}


def _artifact(row: Row) -> Artifact:
    key, kind, project_id, focus, content, is_live, *times = row
    return Artifact(key, kind, project_id, focus, json.loads(content), bool(is_live), *times)


def _first(rows: list[Row]) -> Artifact | None:
    return _artifact(rows[0]) if rows else None
