"""What in memory should be looked at."""

from remit.memory.artifacts import DAY, ArtifactKind, ArtifactStatus
from remit.memory.hygiene import HygieneNode, HygieneReport, PendingWrite, hygiene

NOW = 1000 * DAY


def node(
    id: str,
    kind: ArtifactKind | None = ArtifactKind.DECISION,
    *,
    home: int = 1,
    status: ArtifactStatus = ArtifactStatus.LIVE,
    subject: str = "",
    says: str | None = None,
    days: float = 0,
    members: int = 0,
) -> HygieneNode:
    return HygieneNode(
        id, kind, home, status, subject, id if says is None else says, int(NOW - days * DAY), members
    )


def report(
    *nodes: HygieneNode, dangling: tuple[str, ...] = (), waiting: tuple[PendingWrite, ...] = ()
) -> HygieneReport:
    return hygiene(nodes, dangling, waiting, project_id="shop", scope=None, now=NOW)


def test_a_clean_memory_has_nothing_to_do() -> None:
    found = report(node("a"), node("f", None, members=1))
    assert (found.candidate_ids, found.stale_items, found.next_step) == ({}, [], "Nothing to do.")


def test_what_is_said_twice_in_one_place_is_a_duplicate() -> None:
    found = report(
        node("a", says="x"),
        node("b", says="x"),
        node("c", says="x", home=2),
        node("d", says=""),
        node("e", says=""),
    )
    assert (found.duplicates_found, found.candidate_ids) == (1, {"duplicates": ["b"]})
    assert found.next_step.startswith("Look at the ids")


def test_what_is_old_is_stale_outdated_or_obsolete() -> None:
    found = report(
        node("a", days=181),
        node("b", days=180),
        node("c", ArtifactKind.PATTERN, days=91),
        node("d", ArtifactKind.PATTERN, days=90),
        node("e", ArtifactKind.CONTEXT, days=5),
        node("f", days=999, status=ArtifactStatus.SUPERSEDED),
    )
    assert found.candidate_ids == {"outdated_decisions": ["a"], "obsolete_patterns": ["c"]}
    assert found.stale_items == ["a", "b", "c", "d"]


def test_a_pattern_that_was_never_tried_is_named_as_such() -> None:
    found = report(node("a", ArtifactKind.PATTERN, days=1000))
    assert found.candidate_ids == {"never_validated": ["a"]}


def test_facts_that_drift_apart_are_named() -> None:
    found = report(
        node("a", ArtifactKind.ENTITY, subject="store", says="x"),
        node("b", ArtifactKind.ENTITY, subject="store", says="y", home=2),
        node("c", ArtifactKind.ENTITY, subject="scan", says="x", home=3),
    )
    assert found.candidate_ids == {"entity_drift": ["a", "b"]}


def test_what_hangs_and_what_is_held_is_named() -> None:
    found = report(node("f", None), node("h", status=ArtifactStatus.HELD), dangling=("d",))
    assert found.candidate_ids == {"dangling": ["d", "f"], "held_for_review": ["h"]}
    assert "supersedes" in found.next_step


def test_writes_that_wait_come_first() -> None:
    found = report(waiting=(PendingWrite("w", 5, "the disk is full"), PendingWrite("v", 4, "x")))
    assert (found.unresolved_saves, found.oldest_pending_at, found.pending_artifact_ids) == (2, 4, ["w", "v"])
    assert "the disk is full" in found.next_step
