"""Finds stale, duplicated, dangling, held and untested artifacts in a project's memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from remit.memory.artifacts import DAY, ArtifactKind, ArtifactStatus, Freshness, freshness
from remit.memory.memory_scopes import MemoryScope

OUTDATED = 180  # days, for a decision
OBSOLETE = 90  # days since a pattern was last validated
MOST_LISTED = 100  # ids per category


class HygieneNode(NamedTuple):
    """The data of a node that the hygiene check needs."""

    id: str
    kind: ArtifactKind | None  # None: a focus area
    home: int
    status: ArtifactStatus
    subject: str
    fingerprint: str
    dated_at: int
    members: int = 0  # of a focus area


class PendingWrite(NamedTuple):
    """A queued write."""

    id: str
    at: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HygieneReport:
    """The artifacts that need attention."""

    project_id: str
    scope: MemoryScope | None
    duplicates_found: int
    outdated_decisions: int
    obsolete_patterns: int
    never_validated: int
    entity_drift_count: int
    dangling: int
    held_for_review: int
    unresolved_saves: int
    candidate_ids: dict[str, list[str]]
    stale_items: Sequence[str]
    checked_at: int
    oldest_pending_at: int | None
    pending_artifact_ids: Sequence[str]
    pending_only: bool
    next_step: str


def hygiene(
    nodes: Iterable[HygieneNode],
    dangling: Sequence[str],
    waiting: Sequence[PendingWrite],
    *,
    project_id: str,
    scope: MemoryScope | None,
    now: int,
    pending_only: bool = False,
) -> HygieneReport:
    """Check a project's memory without changing it."""
    known = list(nodes)
    live = [node for node in known if node.status is ArtifactStatus.LIVE]
    found = {
        "duplicates": _duplicates(live),
        "outdated_decisions": _older(live, ArtifactKind.DECISION, OUTDATED, now),
        "obsolete_patterns": [
            it for it in _older(live, ArtifactKind.PATTERN, OBSOLETE, now) if it not in _untried(live)
        ],
        "never_validated": _untried(live),
        "entity_drift": _drifting(live),
        "dangling": [*dangling, *(node.id for node in known if node.kind is None and not node.members)],
        "held_for_review": [node.id for node in known if node.status is ArtifactStatus.HELD],
    }
    stale = [it.id for it in live if it.kind is not None and freshness(it.dated_at, now) is Freshness.STALE]
    return HygieneReport(
        project_id=project_id,
        scope=scope,
        duplicates_found=len(found["duplicates"]),
        outdated_decisions=len(found["outdated_decisions"]),
        obsolete_patterns=len(found["obsolete_patterns"]),
        never_validated=len(found["never_validated"]),
        entity_drift_count=len(found["entity_drift"]),
        dangling=len(found["dangling"]),
        held_for_review=len(found["held_for_review"]),
        unresolved_saves=len(waiting),
        candidate_ids={category: ids[:MOST_LISTED] for category, ids in found.items() if ids},
        stale_items=stale[:MOST_LISTED],
        checked_at=now,
        oldest_pending_at=min((each.at for each in waiting), default=None),
        pending_artifact_ids=[each.id for each in waiting],
        pending_only=pending_only,
        next_step=_next_step(found, waiting),
    )


def _duplicates(live: Iterable[HygieneNode]) -> list[str]:
    """Find artifacts that repeat an earlier one in the same home."""
    seen: set[tuple[int, str]] = set()
    found: list[str] = []
    for node in live:
        key = (node.home, node.fingerprint)
        if node.fingerprint and key in seen:
            found.append(node.id)
        seen.add(key)
    return found


def _older(live: Iterable[HygieneNode], kind: ArtifactKind, days: int, now: int) -> list[str]:
    return [node.id for node in live if node.kind is kind and now - node.dated_at > days * DAY]


def _untried(live: Iterable[HygieneNode]) -> list[str]:
    return [node.id for node in live if node.kind is ArtifactKind.PATTERN and node.dated_at == 0]


def _drifting(live: Iterable[HygieneNode]) -> list[str]:
    """Find entities whose facts differ between homes."""
    facts: dict[str, dict[str, str]] = {}
    for node in live:
        if node.kind is ArtifactKind.ENTITY:
            facts.setdefault(node.subject, {})[node.id] = node.fingerprint
    return [id for each in facts.values() if len(set(each.values())) > 1 for id in each]


def _next_step(found: dict[str, list[str]], waiting: Sequence[PendingWrite]) -> str:
    if waiting:
        return f"{len(waiting)} writes are pending: {waiting[0].reason}. `remit memory hygiene` retries them."
    if found["held_for_review"]:
        return (
            "Judge what is held: call save_decision again with the same decision and `supersedes`, "
            "the ids that it replaces, or [] to keep them all."
        )
    if any(found.values()):
        return "Look at the ids in candidate_ids; save what still holds again, and supersede the rest."
    return "Nothing to do."
