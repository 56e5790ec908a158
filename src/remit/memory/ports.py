"""The store interface of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:  # annotations only
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from remit.approvals.call_binding import Binding
    from remit.decision.projects import Workspace
    from remit.memory.artifacts import Artifact, ArtifactKind, ArtifactStatus, Record, Related, StoredArtifact
    from remit.memory.hygiene import HygieneNode
    from remit.search.documents import QueryTerms
    from remit.search.ports import Vector
    from remit.search.ranking import Hit

    Texts = Mapping[int, tuple[str, str]]  # names and bodies of artifacts


class Home(NamedTuple):
    """The node that artifacts belong to: a project, a focus area, or the global scope."""

    id: int
    kind: str
    project_id: str  # empty: global
    focus: str | None = None


class MemoryStore(Protocol):
    """Stores memory as a graph; callers pass the homes that they may read."""

    def transaction(self) -> AbstractContextManager[None]: ...

    def within(self, seconds: float) -> AbstractContextManager[None]: ...

    def homes(self, project_id: str) -> Sequence[Home]: ...  # empty: no such project

    def global_home(self) -> Home: ...

    def projects(self) -> Sequence[tuple[str, int, int, int]]: ...  # id, created, updated, artifacts

    def create_project(self, project_id: str, at: int) -> Home: ...

    def create_focus(self, project: Home, focus: str, at: int) -> Home: ...

    def add(self, id: str, artifact: Artifact, home: Home, status: ArtifactStatus, at: int) -> None: ...

    def restore(self, kept: StoredArtifact, home: Home) -> None: ...

    def owner(self, id: str) -> str | None: ...  # the project that uses an id

    def find(self, id: str, project_id: str) -> StoredArtifact | None: ...

    def same(self, artifact: Artifact, home: Home) -> tuple[str, ArtifactStatus] | None: ...

    def alike(self, artifact: Artifact, home: Home) -> Sequence[tuple[str, frozenset[str]]]: ...

    def on_subject(self, subject: str, homes: Sequence[Home]) -> Sequence[tuple[str, str]]: ...

    def set_status(self, id: str, project_id: str, status: ArtifactStatus, at: int) -> None: ...

    def entity(self, subject: str, home: Home) -> str | None: ...

    def change(self, id: str, project_id: str, artifact: Artifact, at: int) -> None: ...

    def relate(self, source: str, related: Related, project_id: str, at: int) -> None: ...

    def relations(self, id: str) -> Sequence[tuple[str, str, str, Mapping[str, object]]]: ...

    def conflicts(self, ids: Sequence[str], project_id: str) -> Sequence[tuple[str, str]]: ...

    def newest(
        self,
        home: Home,
        kind: ArtifactKind,
        limit: int,
        *,
        since: int = 0,
        subject: str | None = None,
    ) -> Sequence[StoredArtifact]: ...

    def artifacts(
        self, homes: Sequence[Home], limit: int, *, everything: bool = False
    ) -> Sequence[StoredArtifact]: ...

    def hits(
        self,
        query_terms: QueryTerms,
        vector: Vector | None,
        homes: Sequence[Home],
        kinds: Sequence[ArtifactKind],
        depth: int,
    ) -> Sequence[Hit]: ...

    def by_documents(
        self, documents: Sequence[int], homes: Sequence[Home]
    ) -> Mapping[int, StoredArtifact]: ...

    def unread(self, model: str, limit: int) -> Texts: ...

    def claimed(self, model: str, unread: Texts) -> AbstractContextManager[Texts]: ...  # but for other nodes'

    def add_vectors(self, model: str, vectors: Mapping[int, Vector]) -> None: ...

    def can_compare(self) -> bool: ...

    def delete_project(self, project_id: str) -> int: ...

    def delete_artifact(self, id: str, project_id: str) -> None: ...

    def withdraw(self, id: str, project_id: str) -> None: ...  # inside a transaction

    def checked(self, homes: Sequence[Home]) -> Sequence[HygieneNode]: ...

    def dangling(self, project_id: str) -> Sequence[str]: ...

    def checked_at(self, project_id: str) -> int | None: ...

    def mark_checked(self, project_id: str, at: int) -> None: ...

    def use_approval(self, binding: Binding, workspace: Workspace, at: int) -> bool: ...

    def records(self, project_id: str | None) -> Iterator[Record]: ...
