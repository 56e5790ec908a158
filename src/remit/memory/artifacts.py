"""Artifacts: what memory keeps, as it is given, stored and shown."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import cast

from remit.memory.contradictions import statement
from remit.memory.scope_gate import MemoryScope

Content = Mapping[str, object]  # as it was given: what JSON can write


class Kind(StrEnum):
    """What an artifact is."""

    SESSION = "session"
    DECISION = "decision"
    PATTERN = "pattern"
    CONTEXT = "context"
    ENTITY = "entity"
    OBSERVATION = "observation"


class Observed(StrEnum):
    """What an observation is of."""

    CHANGE = "change"
    FINDING = "finding"
    REFERENCE = "reference"


class Status(StrEnum):
    """Whether an artifact counts."""

    LIVE = "live"
    SUPERSEDED = "superseded"  # another says it better; hidden, but kept
    HELD = "held"  # so like another that somebody has to judge; hidden until then


class Relation(StrEnum):
    """How one node is related to another; the last two are the gate's own."""

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


LABELS = {kind: kind.value.capitalize() for kind in Kind} | {Kind.ENTITY: "EntityFact"}
# Nobody has to repeat what is known: the same once more says nothing new.
KEPT_ONCE = frozenset({Kind.DECISION, Kind.PATTERN})


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """An artifact to be kept."""

    kind: Kind
    scope: MemoryScope
    content: Content
    name: str  # what it is called, for search
    body: str  # the rest of its words
    subject: str = ""  # what it is about: decisions on the same, facts of the same entity
    dated_at: int | None = None  # when it was last so, where it says


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An artifact as it is kept."""

    id: str
    kind: Kind
    project_id: str  # empty: global
    focus: str | None
    content: Content
    status: Status = Status.LIVE
    dated_at: int
    created_at: int
    updated_at: int

    @property
    def scope(self) -> MemoryScope:
        """How far it is seen."""
        if not self.project_id:
            return MemoryScope.GLOBAL
        return MemoryScope.PROJECT if self.focus is None else MemoryScope.FOCUS

    @property
    def label(self) -> str:
        """What its kind is called where it is shown."""
        return LABELS[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """That a node is related to another."""

    target: str
    relation: Relation
    properties: Content


def artifact(kind: Kind, scope: MemoryScope, content: Content) -> Artifact:
    """Read what was checked before."""
    name, body = _words(kind, content)
    return Artifact(
        kind=kind,
        scope=scope,
        content=content,
        name=name,
        body=body,
        subject=_subject(kind, content),
        dated_at=_dated_at(kind, content),
    )


def name_of(kind: Kind, content: Content) -> str:
    """What an artifact is called."""
    return _words(kind, content)[0]


def body_of(kind: Kind, content: Content) -> str:
    """What an artifact says, beyond its name."""
    return _words(kind, content)[1]


def fingerprint(item: Artifact) -> str:
    """Tell what an artifact says from what others do, whatever its letters' case and spaces."""
    text = "\n".join(" ".join(each.lower().split()) for each in (item.name, item.body))
    return sha256(f"{item.kind}\n{text}".encode()).hexdigest()


def written(content: Content) -> str:
    """Write a content the one way in which it is kept."""
    return json.dumps(dict(content), ensure_ascii=False, separators=(",", ":"))


def _words(kind: Kind, content: Content) -> tuple[str, str]:
    match kind:
        case Kind.SESSION:
            fields = ("actions_taken", "decisions_made", "open_items", "next_actions")
            return _text(content, "objective"), "\n".join(
                line for key in fields for line in _lines(content, key)
            )
        case Kind.DECISION:
            return _text(content, "title"), _text(content, "rationale")
        case Kind.PATTERN:
            steps = (*_lines(content, "repeatable_steps"), *_lines(content, "exclusions"))
            return _text(content, "trigger"), "\n".join(steps)
        case Kind.CONTEXT:
            return _text(content, "topic"), _text(content, "content")
        case Kind.ENTITY:
            return _text(content, "entity_name"), _text(content, "fact")
        case _:  # an observation
            return _text(content, "type"), _text(content, "text")


def _subject(kind: Kind, content: Content) -> str:
    if kind is Kind.DECISION:
        return statement(_text(content, "title")).key
    if kind is Kind.ENTITY:
        return " ".join(_text(content, "entity_name").lower().split())
    return _text(content, "type") if kind is Kind.OBSERVATION else ""


def _dated_at(kind: Kind, content: Content) -> int | None:
    if kind is not Kind.PATTERN:
        return None
    validated = content.get("last_validated_at")
    return moment(validated) if isinstance(validated, str) else 0  # 0: never


def moment(text: str) -> int:
    """Read a time, in Unix milliseconds; one without a zone is in UTC.

    Raises:
        ValueError: it is none.
    """
    read = datetime.fromisoformat(text)
    return int((read if read.tzinfo is not None else read.replace(tzinfo=UTC)).timestamp() * 1000)


def _text(content: Content, key: str) -> str:
    return str(content.get(key, ""))


def _lines(content: Content, key: str) -> Sequence[str]:
    return [str(line) for line in cast("Sequence[object]", content.get(key, ()))]
