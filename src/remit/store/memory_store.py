"""Stores memory as a graph of nodes and edges; each node belongs to a home."""

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, cast

from remit.approvals.call_binding import Binding
from remit.decision.projects import Project, Workspace
from remit.memory.artifacts import (
    Artifact,
    ArtifactKind,
    ArtifactStatus,
    EdgeRecord,
    FocusRecord,
    Home,
    ProjectRecord,
    Record,
    Related,
    Relation,
    StoredArtifact,
    artifact,
    content_json,
    fingerprint,
)
from remit.memory.decision_comparison import can_be_like, telling_words, words_of
from remit.memory.hygiene import HygieneNode
from remit.memory.memory_scopes import memory_id
from remit.search.documents import QueryTerms
from remit.search.ports import Vector
from remit.search.ranking import Hit
from remit.store.approval_store import use_up
from remit.store.database import Database, Row
from remit.store.sqlite.binary_vector_search import OpenSignIndex
from remit.store.sqlite.sqlite_memory_index import MANY, SqliteMemoryIndex, home_ids, searched_project

if TYPE_CHECKING:
    from remit.store.postgres.postgres_memory_index import PostgresMemoryIndex

Texts = Mapping[int, tuple[str, str]]  # names and bodies of artifacts
_GLOBAL = ""
_MOST_ALIKE = 50  # decisions that share the most words with a new one


class SqlMemory:
    """Stores memory."""

    def __init__(
        self, database: Database, open_sign_index: OpenSignIndex | None = None, many: int = MANY
    ) -> None:
        self._database = database
        self._index = _open_index(database, open_sign_index, many)

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Run several operations atomically."""
        with self._database.transaction():
            yield
            self._index.add_words()

    def within(self, seconds: float) -> AbstractContextManager[None]:
        """Limit how long reading may take."""
        return self._database.time_limit(seconds)

    def homes(self, project_id: str) -> list[Home]:
        """List the homes of a project's artifacts, starting with the project."""
        found = self._database.rows("memory_homes", project=project_id)
        return [Home(id, kind, project_id, focus) for id, kind, focus in found]

    def global_home(self) -> Home:
        """Return the home of global artifacts."""
        return Home(self._database.rows("memory_root", project=_GLOBAL)[0][0], "global", _GLOBAL)

    def projects(self) -> list[tuple[str, int, int, int]]:
        """List the projects with creation time, last change and number of artifacts."""
        return [
            (id, made, changed, count) for id, made, changed, count in self._database.rows("memory_projects")
        ]

    def create_project(self, project_id: str, at: int) -> Home:
        """Create a project."""
        values = {**_node(f"project:{project_id}", "project", project_id, at), "dated_at": 0}
        id = self._database.rows("memory_add", **values, home=None, home_kind=None, name="")[0][0]
        return Home(id, "project", project_id)

    def create_focus(self, project: Home, focus: str, at: int) -> Home:
        """Create a focus area in a project."""
        id = self._database.rows(
            "memory_add",
            **_node(f"focus:{project.project_id}/{focus}", "focus", project.project_id, at),
            **_homed(project),
            name=focus,
        )[0][0]
        return Home(id, "focus", project.project_id, focus)

    def add(self, id: str, artifact: Artifact, home: Home, status: ArtifactStatus, at: int) -> None:
        """Add an artifact."""
        dated_at = at if artifact.dated_at is None else artifact.dated_at
        self._add(id, artifact, home, status, dated_at=dated_at, created_at=at, updated_at=at)

    def restore(self, kept: StoredArtifact, home: Home) -> None:
        """Add an artifact from an export."""
        self._add(
            kept.id,
            artifact(kept.kind, kept.scope, kept.content),
            home,
            kept.status,
            dated_at=kept.dated_at,
            created_at=kept.created_at,
            updated_at=kept.updated_at,
        )

    def owner(self, id: str) -> str | None:
        """Return the project that an id belongs to; None if the id is unknown."""
        found = self._database.rows("memory_key_known", key=id)
        return found[0][0] if found else None

    def find(self, id: str, project_id: str) -> StoredArtifact | None:
        """Find an artifact of a project, whatever its status."""
        found = self._database.rows("memory_by_key", key=id, project=project_id)
        return kept(found[0]) if found else None

    def same(self, artifact: Artifact, home: Home) -> tuple[str, ArtifactStatus] | None:
        """Find an artifact with the same content in the same home."""
        found = self._database.rows(
            "memory_same",
            home=home.id,
            project=home.project_id,
            fingerprint=fingerprint(artifact),
            kind=artifact.kind,
        )
        return (found[0][0], ArtifactStatus(found[0][1])) if found else None

    def alike(self, artifact: Artifact, home: Home) -> list[tuple[str, frozenset[str]]]:
        """List the decisions in a home that may be similar to a new one, with their words."""
        words = words_of(f"{artifact.name} {artifact.body}")
        telling = json.dumps(telling_words(words))
        sharing = self._database.rows("memory_sharing", **_place(home), words=telling, most=_MOST_ALIKE)
        near = [node for node, shared, known in sharing if can_be_like(len(words), shared, known)]
        found = (
            self._database.rows("memory_live_texts", project=home.project_id, nodes=json.dumps(near))
            if near
            else []
        )
        return [(key, words_of(text)) for key, text in found]

    def on_subject(self, subject: str, homes: Sequence[Home]) -> list[tuple[str, str]]:
        """List the decisions on a subject in a project's homes, with their titles."""
        found = self._database.rows(
            "memory_on_subject", subject=subject, project=homes[0].project_id, homes=home_ids(homes)
        )
        return [(key, name) for key, name in found]

    def set_status(self, id: str, project_id: str, status: ArtifactStatus, at: int) -> None:
        """Set the status of an artifact."""
        self._database.run("memory_set_status", key=id, project=project_id, status=status, at=at)

    def entity(self, subject: str, home: Home) -> str | None:
        """Find an entity by its name."""
        found = self._database.rows("memory_entity", **_place(home), subject=subject)
        return found[0][0] if found else None

    def change(self, id: str, project_id: str, artifact: Artifact, at: int) -> None:
        """Change the content of an artifact."""
        self._database.run("memory_change", key=id, project=project_id, **_said(artifact), at=at)

    def relate(self, source: str, related: Related, project_id: str, at: int) -> None:
        """Relate two nodes of a project."""
        self._database.run(
            "memory_relate",
            source=source,
            relation=related.relation,
            target=related.target,
            project=project_id,
            properties=content_json(related.properties),
            at=at,
        )

    def relations(self, id: str) -> list[tuple[str, str, str, Mapping[str, object]]]:
        """List the relations of an artifact."""
        found = self._database.rows("memory_edges_of", key=id, project=self.owner(id))
        return [(source, relation, target, json.loads(text)) for source, relation, target, text, _ in found]

    def conflicts(self, ids: Sequence[str], project_id: str) -> list[tuple[str, str]]:
        """List the contradictions between the given decisions and others."""
        found = self._database.rows("memory_conflicts", keys=json.dumps(list(ids)), project=project_id)
        return [(one, other) for one, other in found]

    def newest(
        self, home: Home, kind: ArtifactKind, limit: int, *, since: int = 0, subject: str | None = None
    ) -> list[StoredArtifact]:
        """List the newest artifacts of a kind in a home."""
        found = self._database.rows(
            "memory_newest", **_place(home), kind=kind, since=since, subject=subject, most=limit
        )
        return [kept(row) for row in found]

    def artifacts(
        self, homes: Sequence[Home], limit: int, *, everything: bool = False
    ) -> list[StoredArtifact]:
        """List the artifacts of a project's homes, newest first; with `everything`, hidden ones too."""
        if not homes:
            return []
        found = self._database.rows(
            "memory_artifacts",
            project=homes[0].project_id,
            homes=home_ids(homes),
            everything=int(everything),
            most=limit,
        )
        return [kept(row) for row in found]

    def hits(
        self,
        query_terms: QueryTerms,
        vector: Vector | None,
        homes: Sequence[Home],
        kinds: Sequence[ArtifactKind],
        depth: int,
    ) -> list[Hit]:
        """Find artifacts that share words with a query or are close to it in meaning."""
        if not homes or not kinds:
            return []
        by_words, meanings = self._index.scores(query_terms, vector, homes, kinds, depth)
        best = dict.fromkeys((*by_words, *meanings))
        scores = (by_words.get(id, 0.0) for id in best)
        return list(map(Hit, best, scores, map(meanings.get, best)))

    def by_documents(self, documents: Sequence[int], homes: Sequence[Home]) -> dict[int, StoredArtifact]:
        """Read the artifacts of search hits in some homes, except those hidden since."""
        nodes = json.dumps(list(documents))
        found = self._database.rows("memory_by_ids", nodes=nodes, project=searched_project(homes))
        return {row[0]: kept(row[1:]) for row in found}

    def unread(self, model: str, limit: int) -> dict[int, tuple[str, str]]:
        """List artifacts without a vector, with their names and texts; after a model change, all of them."""
        if self._database.rows("memory_model") != [(model,)]:
            with self._database.transaction():
                self._index.forget_vectors()
                self._database.run("memory_change_model", model=model)
        return {id: (name, body) for id, name, body in self._database.rows("memory_unread", most=limit)}

    @contextmanager
    def claimed(self, model: str, unread: Texts) -> Generator[Texts]:
        """Claim artifacts to embed, except those that another node embeds or has embedded."""
        with self._database.claimed(f"memory {model}", unread) as own:
            still = self.unread(model, len(unread)) if own else {}
            yield {id: texts for id, texts in still.items() if id in own}

    def add_vectors(self, model: str, vectors: Mapping[int, Vector]) -> None:
        """Store vectors, unless the model has changed."""
        self._index.add_vectors(model, vectors)

    def can_compare(self) -> bool:
        """Return whether vectors can be compared here."""
        return self._database.can_compare()

    def delete_project(self, project_id: str) -> int:
        """Erase a project and its artifacts, and return their number."""
        with self._database.transaction():
            count = self._database.rows("memory_count", project=project_id)[0][0]
            self._database.run("memory_delete_project", project=project_id)
        self._database.erase()
        return count

    def forget(self, project: Project) -> None:
        """Erase the memory of a repository, inside a transaction."""
        self._database.run("memory_delete_project", project=memory_id(project))

    def delete_artifact(self, id: str, project_id: str) -> None:
        """Erase an artifact."""
        with self._database.transaction():
            self._database.run("memory_delete_artifact", key=id, project=project_id)
        self._database.erase()

    def withdraw(self, id: str, project_id: str) -> None:
        """Delete an artifact that another replaces, inside a transaction."""
        self._database.run("memory_delete_artifact", key=id, project=project_id)

    def checked(self, homes: Sequence[Home]) -> list[HygieneNode]:
        """List the artifacts that hygiene checks."""
        if not homes:
            return []
        found = self._database.rows("memory_checked", project=homes[0].project_id, homes=home_ids(homes))
        return [
            HygieneNode(
                key, None if kind is None else ArtifactKind(kind), home, ArtifactStatus(status), *others
            )
            for key, kind, home, status, *others in found
        ]

    def dangling(self, project_id: str) -> list[str]:
        """List the nodes with relations to hidden artifacts."""
        return [key for (key,) in self._database.rows("memory_dangling", project=project_id)]

    def checked_at(self, project_id: str) -> int | None:
        """Return the time of a project's last hygiene check; None if there was none."""
        found = self._database.rows("memory_checked_at", project=project_id)
        return found[0][0] or None if found else None

    def mark_checked(self, project_id: str, at: int) -> None:
        """Store the time of a project's hygiene check."""
        self._database.run("memory_mark_checked", project=project_id, at=at)

    def use_approval(self, binding: Binding, workspace: Workspace, at: int) -> bool:
        """Use up an approval, in the transaction of the approved operation."""
        return use_up(self._database, binding, workspace, at) is not None

    def records(self, project_id: str | None) -> Iterator[Record]:
        """List all records in order of creation, of one project or of all."""
        for row in self._database.rows("memory_all_nodes", project=project_id):
            yield _record(row)
        for source, relation, target, project, properties, at in self._database.rows(
            "memory_all_edges", project=project_id
        ):
            yield EdgeRecord(source, Relation(relation), target, project, json.loads(properties), at)

    def _add(self, id: str, artifact: Artifact, home: Home, status: ArtifactStatus, **times: int) -> None:
        node = self._database.rows(
            "memory_add",
            key=id,
            kind=artifact.kind,
            project=home.project_id,
            subject=artifact.subject,
            status=status,
            **_homed(home),
            **_said(artifact),
            **times,
        )[0][0]
        if artifact.kind is ArtifactKind.DECISION:
            words = telling_words(words_of(f"{artifact.name} {artifact.body}"))
            self._database.run_each(
                "memory_add_word", [{"home": home.id, "word": word, "node": node} for word in words]
            )


def _open_index(
    database: Database, open_sign_index: OpenSignIndex | None, many: int
) -> "SqliteMemoryIndex | PostgresMemoryIndex":
    if database.has_full_text_index:
        return SqliteMemoryIndex(database, open_sign_index, many)
    from remit.store.postgres.postgres_memory_index import PostgresMemoryIndex  # not everywhere installed

    return PostgresMemoryIndex(database, many)


def kept(row: Row) -> StoredArtifact:
    """Read an artifact from its row."""
    id, kind, project, focus, content, status, dated_at, created_at, updated_at = row[:9]
    return StoredArtifact(
        id=id,
        kind=ArtifactKind(kind),
        project_id=project,
        focus=focus,
        content=cast("dict[str, object]", json.loads(content)),
        status=ArtifactStatus(status),
        dated_at=dated_at,
        created_at=created_at,
        updated_at=updated_at,
    )


def _record(row: Row) -> Record:
    key, kind, project, focus, name, content, status, dated_at, created_at, updated_at = row
    if kind == "project":
        return ProjectRecord(project, created_at, dated_at)
    if kind == "focus":
        return FocusRecord(project, name, created_at)
    return kept((key, kind, project, focus, content, status, dated_at, created_at, updated_at))


def _node(key: str, kind: str, project: str, at: int) -> dict[str, Any]:
    """Return the columns of a node that is not an artifact."""
    texts = {"body": "", "subject": "", "fingerprint": "", "content": "{}", "status": "live"}
    return {
        "key": key,
        "kind": kind,
        "project": project,
        "dated_at": at,
        "created_at": at,
        "updated_at": at,
        **texts,
    }


def _place(home: Home) -> dict[str, Any]:
    return {"home": home.id, "project": home.project_id}


def _homed(home: Home) -> dict[str, Any]:
    return {"home": home.id, "home_kind": home.kind}


def _said(artifact: Artifact) -> dict[str, str]:
    return {
        "name": artifact.name,
        "body": artifact.body,
        "fingerprint": fingerprint(artifact),
        "content": content_json(artifact.content),
    }
