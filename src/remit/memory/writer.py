"""Writes plans to the store, after the scope gate and a comparison with known artifacts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from remit.errors import UnknownArtifactError
from remit.memory.artifacts import SHAPES, Artifact, ArtifactKind, ArtifactStatus, Home, Related, Relation
from remit.memory.decision_comparison import DedupOutcome, contradict, nearest, outcome, statement, words_of
from remit.memory.memory_scopes import MemoryScope, place_status
from remit.memory.results import BatchSaveResult, SaveResult, SaveStatus, blocked
from remit.memory.tool_permissions import MemoryPlace, Permission, scope_refusal

if TYPE_CHECKING:
    from remit.store.memory_store import SqlMemory

Written = SaveResult | BatchSaveResult
BoundProjects = frozenset[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedArtifact:
    """One artifact to save."""

    artifact: Artifact
    supersedes: Sequence[str] | None = None  # None: the caller did not decide
    related: Sequence[Related] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan:
    """The artifacts that a call saves, all or none."""

    tool: str
    project_id: str | None
    focus: str | None
    parts: Sequence[PlannedArtifact]
    token: str | None = None  # the id of the approval to use
    sizes: tuple[int, int] | None = None  # the number of decisions and patterns in a batch

    @property
    def is_global(self) -> bool:
        """Whether any part is visible in every project."""
        return any(part.artifact.scope is MemoryScope.GLOBAL for part in self.parts)


class WriteStamp(NamedTuple):
    """The id and time of one write; the ids of its artifacts derive from them."""

    id: str
    at: int

    def name(self, kind: ArtifactKind, number: int) -> str:
        """Return the id of an artifact by its position in the plan; it is the same on each retry."""
        return f"{kind}-{self.id}" + (f"-{number}" if number else "")


class _Assessment(NamedTuple):
    """What to do with an artifact after comparing it with known ones."""

    result: SaveResult | None  # set: there is nothing to write
    status: ArtifactStatus = ArtifactStatus.LIVE
    known: str | None = None  # the artifact with the same content
    replaced: Sequence[str] = ()
    rivals: Sequence[str] = ()
    near: str | None = None  # the similar artifact that makes a review necessary
    outcome: DedupOutcome = DedupOutcome.NEW


def find_place(
    store: "SqlMemory", project_id: str | None, focus: str | None, bound: BoundProjects
) -> MemoryPlace:
    """Look up a place; a project out of bounds counts as missing."""
    return _place(_known(store, project_id, bound), project_id, focus, bound)


def _known(store: "SqlMemory", project_id: str | None, bound: BoundProjects) -> Sequence[Home]:
    is_hidden = bound is not None and project_id is not None and project_id not in bound
    return () if project_id is None or is_hidden else store.homes(project_id)


def _place(
    homes: Sequence[Home], project_id: str | None, focus: str | None, bound: BoundProjects
) -> MemoryPlace:
    standing = place_status(
        project_id,
        focus,
        project_exists=bool(homes),
        focus_exists=any(home.focus == focus for home in homes if home.focus is not None),
    )
    return MemoryPlace(project_id, focus, standing, bound)


def combined(plan: WritePlan, results: Sequence[SaveResult]) -> Written:
    """Combine the results of the parts into the result of the tool."""
    if plan.sizes is None:
        return results[0]
    decisions = 1 + plan.sizes[0]
    return BatchSaveResult(session=results[0], decisions=results[1:decisions], patterns=results[decisions:])


class _Homes(NamedTuple):
    """The homes for the parts of a plan, by scope, and all homes of the project."""

    by_scope: Mapping[MemoryScope, Home]
    of_project: Sequence[Home]


class MemoryWriter:
    """Writes plans inside the caller's transaction."""

    def __init__(self, store: "SqlMemory") -> None:
        self._store = store

    def write(self, plan: WritePlan, turn: WriteStamp, bound: BoundProjects) -> tuple[Written, bool]:
        """Write a plan, and return whether it made anything visible in every project."""
        known = _known(self._store, plan.project_id, bound)
        where = _place(known, plan.project_id, plan.focus, bound)
        if where.permission(plan.tool) is Permission.BLOCKED or where.project_id is None:
            refusal = blocked(scope_refusal(where))
            return combined(plan, [refusal for _ in plan.parts]), False
        homes = self._homes(known, where.project_id, plan.focus, turn.at)
        results: list[SaveResult] = []
        is_seen_everywhere = False
        for number, part in enumerate(plan.parts):
            result, has_written = self._keep(part, turn, number, homes)
            results.append(result)
            is_seen_everywhere |= has_written and part.artifact.scope is MemoryScope.GLOBAL
        return combined(plan, results), is_seen_everywhere

    def _homes(self, known: Sequence[Home], project_id: str, focus: str | None, at: int) -> _Homes:
        """Return the homes of a place, and create missing ones."""
        every = list(known) or [self._store.create_project(project_id, at)]
        homes = {MemoryScope.PROJECT: every[0], MemoryScope.GLOBAL: self._store.global_home()}
        if focus is not None:
            area = next((home for home in known if home.focus == focus), None)
            if area is None:
                area = self._store.create_focus(every[0], focus, at)
                every.append(area)
            homes[MemoryScope.FOCUS] = area
        return _Homes(homes, every)

    def _keep(
        self, part: PlannedArtifact, turn: WriteStamp, number: int, homes: _Homes
    ) -> tuple[SaveResult, bool]:
        artifact = part.artifact
        id, home = turn.name(artifact.kind, number), homes.by_scope[artifact.scope]
        if self._store.owner(id) is not None:  # an earlier attempt wrote it, but the queue still has it
            return SaveResult(status=SaveStatus.SAVED, artifact_id=id), False
        if artifact.kind is ArtifactKind.ENTITY:
            return self._upsert(part, id, home, homes.by_scope[MemoryScope.PROJECT], turn.at), True
        judged = self._judge(part, home, homes) if SHAPES[artifact.kind].is_unique else _Assessment(None)
        if judged.result is not None:
            return judged.result, False
        if judged.known is None:
            self._store.add(id, artifact, home, judged.status, turn.at)
        else:
            id = judged.known
            self._store.set_status(id, home.project_id, ArtifactStatus.LIVE, turn.at)
        for other in judged.replaced:
            self._store.set_status(other, home.project_id, ArtifactStatus.SUPERSEDED, turn.at)
            self._relate(id, Relation.SUPERSEDES, other, home, turn.at)
        for rival in judged.rivals:
            self._relate(id, Relation.CONFLICTS_WITH, rival, home, turn.at)
        return _saved_result(id, judged), True

    def _judge(self, part: PlannedArtifact, home: Home, homes: _Homes) -> _Assessment:
        """Compare a decision or pattern with known ones in its home."""
        artifact = part.artifact
        same = self._store.same(artifact, home)
        if same is not None and part.supersedes is None:
            return _Assessment(_skipped_result(*same))
        if artifact.kind is not ArtifactKind.DECISION:
            return _Assessment(None)
        rivals = [id for id in self._rivals(part, home, homes) if same is None or id != same[0]]
        if part.supersedes is not None:
            replaced = [self._decision(id, at, home) for at, id in enumerate(part.supersedes)]
            replaced = [id for id in replaced if same is None or id != same[0]]
            left = [id for id in rivals if id not in replaced]
            is_new = DedupOutcome.SUPERSEDE if replaced else DedupOutcome.NEW
            return _Assessment(
                None, known=same[0] if same else None, replaced=replaced, rivals=left, outcome=is_new
            )
        known = [(id, words) for id, words in self._store.alike(artifact, home) if id not in rivals]
        near = nearest(words_of(f"{artifact.name} {artifact.body}"), known)
        found = outcome(near)
        if near is not None and found is DedupOutcome.MANUAL_REVIEW:
            return _Assessment(None, ArtifactStatus.HELD, near=near.id, outcome=found)
        return _Assessment(None, replaced=[] if near is None else [near.id], rivals=rivals, outcome=found)

    def _rivals(self, part: PlannedArtifact, home: Home, homes: _Homes) -> list[str]:
        """Return the visible decisions that contradict a new one."""
        subject = part.artifact.subject
        if not subject:
            return []
        if home.kind == "project":
            together = homes.of_project
        else:
            together = [home] if home.kind == "global" else [home, homes.by_scope[MemoryScope.PROJECT]]
        said = statement(part.artifact.name)
        return [
            id
            for id, title in self._store.on_subject(subject, together)
            if contradict(said, statement(title))
        ]

    def _decision(self, id: str, at: int, home: Home) -> str:
        found = self._store.find(id, home.project_id)
        if found is None or found.kind is not ArtifactKind.DECISION:
            where = "that is global" if home.kind == "global" else "of this project"
            raise UnknownArtifactError(f"supersedes[{at}]", f"the id of a decision {where}", "unknown")
        return id

    def _upsert(self, part: PlannedArtifact, id: str, home: Home, project: Home, at: int) -> SaveResult:
        artifact = part.artifact
        known = self._store.entity(artifact.subject, home)
        if known is None:
            self._store.add(id, artifact, home, ArtifactStatus.LIVE, at)
        else:
            id = known
            self._store.change(id, home.project_id, artifact, at)
        for number, related in enumerate(part.related):
            target = self._target(related, number, home, project)
            self._store.relate(id, replace(related, target=target), home.project_id, at)
        word = "added" if known is None else "updated"
        others = f", related to {len(part.related)} others" if part.related else ""
        return SaveResult(
            status=SaveStatus.SAVED,
            artifact_id=id,
            dedup_outcome=DedupOutcome.NEW if known is None else DedupOutcome.SUPERSEDE,
            message=f"{word} the entity{others}",
        )

    def _target(self, related: Related, number: int, home: Home, project: Home) -> str:
        """Find the target of a relation by id or entity name."""
        if self._store.find(related.target, home.project_id) is not None:
            return related.target
        subject = " ".join(related.target.lower().split())
        places = [home] if home.kind == "global" else [home, project]
        found = next((id for each in places if (id := self._store.entity(subject, each)) is not None), None)
        if found is None:
            raise UnknownArtifactError(
                f"related_entities[{number}].entity_id",
                "the id of an artifact of this project, or the name of an entity",
                "unknown",
                hint="save that entity first, with upsert_entity_with_deps",
            )
        return found

    def _relate(self, source: str, relation: Relation, target: str, home: Home, at: int) -> None:
        self._store.relate(
            source, Related(target=target, relation=relation, properties={}), home.project_id, at
        )


def _skipped_result(id: str, status: ArtifactStatus) -> SaveResult:
    held = " and is held for review" if status is ArtifactStatus.HELD else ""
    return SaveResult(
        status=SaveStatus.DUPLICATE_SKIP,
        artifact_id=id,
        dedup_outcome=DedupOutcome.DUPLICATE_SKIP,
        message=f"already known{held}: nothing was written",
        next_step=_JUDGE if held else None,
    )


_JUDGE = (
    "Call save_decision again with the same decision and `supersedes`: the ids of the decisions that it "
    "replaces, or [] to keep them all."
)


def _saved_result(id: str, judged: _Assessment) -> SaveResult:
    if judged.status is ArtifactStatus.HELD:
        return SaveResult(
            status=SaveStatus.PARTIAL,
            artifact_id=id,
            dedup_outcome=judged.outcome,
            message=f"kept, but held for review: it is similar to {judged.near}; hidden until then",
            next_step=_JUDGE,
        )
    message = f"replaces {', '.join(judged.replaced)}" if judged.replaced else None
    next_step = None
    if judged.rivals:
        message = f"contradicts {', '.join(judged.rivals)}" + (f"; {message}" if message else "")
        next_step = (
            f"If it replaces them, save it again with `supersedes`: {json.dumps(list(judged.rivals))}."
        )
    return SaveResult(
        status=SaveStatus.SAVED,
        artifact_id=id,
        dedup_outcome=judged.outcome,
        message=message,
        next_step=next_step,
    )
