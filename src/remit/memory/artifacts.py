"""The artifacts of memory: their kinds, their content and their age."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple, cast

from remit.memory.decision_comparison import statement
from remit.memory.memory_scopes import MemoryScope

Content = Mapping[str, object]  # as the caller sent it: JSON values

DAY = 86_400_000  # milliseconds
HYGIENE_EVERY = 30  # days
_CURRENT = 7  # days
_RECENT = 30


class ArtifactKind(StrEnum):
    """The kind of an artifact."""

    SESSION = "session"
    DECISION = "decision"
    PATTERN = "pattern"
    CONTEXT = "context"
    ENTITY = "entity"
    OBSERVATION = "observation"


class ObservationType(StrEnum):
    """The type of an observation."""

    CHANGE = "change"
    FINDING = "finding"
    REFERENCE = "reference"


class ArtifactStatus(StrEnum):
    """The status of an artifact."""

    LIVE = "live"
    SUPERSEDED = "superseded"  # replaced by another artifact; hidden, but stored
    HELD = "held"  # too similar to another artifact; hidden until reviewed


class Relation(StrEnum):
    """How one node is related to another."""

    BELONGS_TO = "BELONGS_TO"
    PRODUCED = "PRODUCED"
    MERGES_INTO = "MERGES_INTO"
    PRODUCES = "PRODUCES"
    CONSUMES = "CONSUMES"
    READS = "READS"
    WRITES = "WRITES"
    INVOLVES = "INVOLVES"
    CONFLICTS_WITH = "CONFLICTS_WITH"
    SUPERSEDES = "SUPERSEDES"


class Freshness(StrEnum):
    """The age of an artifact."""

    CURRENT = "current"
    RECENT = "recent"
    STALE = "stale"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How the content of one kind of artifact is searched, compared and shown."""

    name: str  # the field that names it
    body: tuple[str, ...]  # the fields with the rest of its text
    label: str
    subject: Callable[[str], str] = lambda _: ""  # derives the subject from the name
    dated_by: str | None = None  # the field with the date of its last validation
    is_unique: bool = False  # saving the same content again adds nothing


def _normalized(text: str) -> str:
    return " ".join(text.lower().split())


SHAPES: Mapping[ArtifactKind, Shape] = {
    ArtifactKind.SESSION: Shape(
        name="objective",
        body=("actions_taken", "decisions_made", "open_items", "next_actions"),
        label="Session",
    ),
    ArtifactKind.DECISION: Shape(
        name="title",
        body=("rationale",),
        label="Decision",
        subject=lambda title: statement(title).key,
        is_unique=True,
    ),
    ArtifactKind.PATTERN: Shape(
        name="trigger",
        body=("repeatable_steps", "exclusions"),
        label="Pattern",
        dated_by="last_validated_at",
        is_unique=True,
    ),
    ArtifactKind.CONTEXT: Shape(name="topic", body=("content",), label="Context"),
    ArtifactKind.ENTITY: Shape(name="entity_name", body=("fact",), label="EntityFact", subject=_normalized),
    ArtifactKind.OBSERVATION: Shape(name="type", body=("text",), label="Observation", subject=str),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """An artifact to save."""

    kind: ArtifactKind
    scope: MemoryScope
    content: Content
    name: str  # for search
    body: str  # the rest of its text
    subject: str = ""  # groups decisions about one thing, and facts of one entity
    dated_at: int | None = None  # when it was last validated, if known


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredArtifact:
    """A saved artifact."""

    id: str
    kind: ArtifactKind
    project_id: str  # empty: global
    focus: str | None
    status: ArtifactStatus = ArtifactStatus.LIVE
    dated_at: int
    created_at: int
    updated_at: int
    content: Content

    @property
    def scope(self) -> MemoryScope:
        """The scope in which it is visible."""
        if not self.project_id:
            return MemoryScope.GLOBAL
        return MemoryScope.PROJECT if self.focus is None else MemoryScope.FOCUS

    @property
    def label(self) -> str:
        """The label of its kind."""
        return SHAPES[self.kind].label


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """A relation from a node to another."""

    target: str
    relation: Relation
    properties: Content


class Home(NamedTuple):
    """The node that artifacts belong to: a project, a focus area, or the global scope."""

    id: int
    kind: str
    project_id: str  # empty: global
    focus: str | None = None


class ProjectRecord(NamedTuple):
    """A project, and when its hygiene was last checked."""

    project_id: str
    created_at: int
    checked_at: int


class FocusRecord(NamedTuple):
    """A focus area."""

    project_id: str
    focus: str
    created_at: int


class EdgeRecord(NamedTuple):
    """A relation between two nodes."""

    source: str
    relation: Relation
    target: str
    project_id: str
    properties: Mapping[str, object]
    created_at: int


Record = ProjectRecord | FocusRecord | EdgeRecord | StoredArtifact


def artifact(kind: ArtifactKind, scope: MemoryScope, content: Content) -> Artifact:
    """Make an artifact from checked content."""
    name = name_of(kind, content)
    return Artifact(
        kind=kind,
        scope=scope,
        content=content,
        name=name,
        body=body_of(kind, content),
        subject=SHAPES[kind].subject(name),
        dated_at=_dated_at(kind, content),
    )


def name_of(kind: ArtifactKind, content: Content) -> str:
    """Return the name of an artifact."""
    return str(content.get(SHAPES[kind].name, ""))


def body_of(kind: ArtifactKind, content: Content) -> str:
    """Return the text of an artifact without its name."""
    return "\n".join(line for key in SHAPES[kind].body for line in _lines(content.get(key, ())))


def fingerprint(item: Artifact) -> str:
    """Hash the text of an artifact, ignoring case and whitespace."""
    text = "\n".join(map(_normalized, (item.name, item.body)))
    return sha256(f"{item.kind}\n{text}".encode()).hexdigest()


def content_json(content: Content) -> str:
    """Serialize content for the store."""
    return json.dumps(dict(content), ensure_ascii=False, separators=(",", ":"))


def _dated_at(kind: ArtifactKind, content: Content) -> int | None:
    field = SHAPES[kind].dated_by
    if field is None:
        return None
    dated = content.get(field)
    return moment(dated) if isinstance(dated, str) else 0  # 0: never


def freshness(dated_at: int, now: int) -> Freshness:
    """Return the freshness of a date."""
    days = (now - dated_at) / DAY
    if days <= _CURRENT:
        return Freshness.CURRENT
    return Freshness.RECENT if days <= _RECENT else Freshness.STALE


def is_hygiene_due(checked_at: int | None, now: int) -> bool:
    """Return whether a project's hygiene check is overdue."""
    return checked_at is None or now - checked_at > HYGIENE_EVERY * DAY


def moment(text: str) -> int:
    """Parse an ISO 8601 time into Unix milliseconds; a time without a zone is UTC.

    Raises:
        ValueError: the text is not a time.
    """
    read = datetime.fromisoformat(text)
    return int((read if read.tzinfo is not None else read.replace(tzinfo=UTC)).timestamp() * 1000)


def _lines(value: object) -> Sequence[str]:
    return [value] if isinstance(value, str) else [str(line) for line in cast("Sequence[object]", value)]
