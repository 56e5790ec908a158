"""The results of the memory tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from remit.memory.artifacts import ArtifactKind, ArtifactStatus, StoredArtifact, freshness, name_of
from remit.memory.decision_comparison import DedupOutcome, contradicting
from remit.memory.memory_scopes import MemoryScope, ScopeState
from remit.memory.tool_permissions import ScopeRefusal

TEAM = "team"  # the scope that is shown for what all projects of a team share
LIMITS: Mapping[str, int] = {
    MemoryScope.FOCUS: 10,
    MemoryScope.PROJECT: 20,
    TEAM: 10,
    MemoryScope.GLOBAL: 5,
}
Item = dict[str, object]


class SaveStatus(StrEnum):
    """The outcome of a write."""

    SAVED = "saved"
    PARTIAL = "partial"  # only some parts; for a single decision: saved, but held for review
    PENDING_RETRY = "pending_retry"  # queued on disk until the store can be written
    FAILED = "failed"
    BLOCKED_SCOPE = "blocked_scope"
    DUPLICATE_SKIP = "duplicate_skip"


class RetrievalStatus(StrEnum):
    """The outcome of a search."""

    SUCCEEDED = "succeeded"
    EMPTY = "empty"
    TIMED_OUT = "timed_out"
    FAILED = "failed"
    CONFLICTED = "conflicted"  # succeeded, but some of the results contradict each other


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveResult:
    """The outcome of saving one artifact."""

    status: SaveStatus
    artifact_id: str | None = None
    dedup_outcome: DedupOutcome | None = None
    message: str | None = None
    next_step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSaveResult:
    """The outcome of saving a session with its decisions and patterns."""

    session: SaveResult
    decisions: Sequence[SaveResult]
    patterns: Sequence[SaveResult]

    @property
    def overall(self) -> SaveStatus:
        """The combined outcome."""
        return overall([self.session, *self.decisions, *self.patterns])


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeStateResult:
    """Whether a project and a focus area exist."""

    scope_state: ScopeState
    project_exists: bool
    project_id: str | None
    focus: str | None
    next_step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundArtifact:
    """An artifact with its search score."""

    kept: StoredArtifact
    score: float | None = None
    is_of_team: bool = False  # from the memory that the projects of a team share

    @property
    def scope(self) -> str:
        """The scope to show."""
        return TEAM if self.is_of_team else self.kept.scope


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBundle:
    """The result of `retrieve_context`."""

    items: Sequence[Item]
    retrieval_status: RetrievalStatus
    scope_state: ScopeState
    conflicts_found: bool = False
    conflicts: Sequence[Sequence[str]] = ()  # pairs of ids
    hygiene_due: bool = False
    truncated_scopes: Sequence[str] = ()
    next_step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceResult:
    """The result of `memory_surface`."""

    matches: Sequence[Item]
    query_used: str
    total_found: int
    retrieval_status: RetrievalStatus
    next_step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteResult:
    """The result of `delete_project`."""

    status: str
    project_id: str
    deleted: int
    message: str
    next_step: str | None = None


def blocked(objection: ScopeRefusal) -> SaveResult:
    """Return the result of a write that the scope gate refused."""
    return SaveResult(
        status=SaveStatus.BLOCKED_SCOPE, message=objection.message, next_step=objection.next_step
    )


def overall(results: Sequence[SaveResult]) -> SaveStatus:
    """Combine the outcomes of several writes without hiding a failure."""
    statuses = {result.status for result in results}
    if len(statuses) == 1:
        return statuses.pop()
    if statuses <= {SaveStatus.SAVED, SaveStatus.DUPLICATE_SKIP}:
        return SaveStatus.SAVED
    if statuses & {SaveStatus.SAVED, SaveStatus.PARTIAL, SaveStatus.PENDING_RETRY}:
        return SaveStatus.PARTIAL
    return SaveStatus.FAILED


def limited(
    found: Sequence[FoundArtifact], limits: Mapping[str, int]
) -> tuple[list[FoundArtifact], list[str]]:
    """Limit the artifacts per scope, nearest scope first, and list the scopes that had more."""
    kept: list[FoundArtifact] = []
    truncated: list[str] = []
    for scope, limit in limits.items():
        here = [item for item in found if item.scope == scope]
        kept += here[:limit]
        if len(here) > limit:
            truncated.append(scope)
    return kept, truncated


def conflicts_among(found: Sequence[FoundArtifact]) -> list[tuple[str, str]]:
    """List the pairs of found decisions that contradict each other."""
    decisions = [item.kept for item in found if item.kept.kind is ArtifactKind.DECISION]
    live = [each for each in decisions if each.status is ArtifactStatus.LIVE]
    return contradicting((each.id, name_of(each.kind, each.content)) for each in live)


def shown(found: FoundArtifact, now: int) -> Item:
    """Format an artifact for `retrieve_context`."""
    kept = found.kept
    item: Item = {
        "id": kept.id,
        "_label": kept.label,
        **kept.content,
        "scope": found.scope,
        "project_id": kept.project_id or None,
        "focus": kept.focus,
        "created_at": kept.created_at,
        "updated_at": kept.updated_at,
        "_freshness": freshness(kept.dated_at, now),
    }
    return item if found.score is None else {**item, "_score": round(found.score, 3)}
