"""The content of each artifact type, as pydantic models."""

from collections.abc import Mapping
from typing import ClassVar, cast

from pydantic import Field

from remit.memory.artifacts import Artifact, ArtifactKind, artifact
from remit.memory.checked_model import (
    CheckedModel,
    Day,
    Line,
    Lines,
    LongText,
    Name,
    ObservedType,
    Scope,
    Share,
    Time,
)
from remit.memory.memory_scopes import MemoryScope

_SCOPE = "Who sees it: this focus area, this project, or every project."


class ArtifactModel(CheckedModel):
    """The content of an artifact, with its scope."""

    kind: ClassVar[ArtifactKind]
    scope_field: ClassVar[str] = "scope"
    example: ClassVar[Mapping[str, object]] = {}

    def artifact(self) -> Artifact:
        """Make the artifact."""
        content = self.model_dump()
        scope = content.pop(self.scope_field)
        return artifact(self.kind, scope, content)


class SessionModel(ArtifactModel):
    """A session."""

    kind = ArtifactKind.SESSION
    scope_field = "save_scope"
    example: ClassVar[Mapping[str, object]] = {
        "objective": "Move the login to OAuth",
        "actions_taken": ["replaced the password form"],
        "decisions_made": ["Use PKCE for every client"],
        "open_items": ["the mobile app still asks for passwords"],
        "next_actions": ["move the mobile app"],
        "save_scope": "project",
    }

    objective: Line = Field(description="What the session was for.")
    actions_taken: Lines = Field(description="What was done.")
    decisions_made: Lines = Field(description="What was decided.")
    open_items: Lines = Field(description="What is left.")
    next_actions: Lines = Field(description="What to do next.")
    save_scope: Scope = Field(description=_SCOPE)


class DecisionModel(ArtifactModel):
    """A decision."""

    kind = ArtifactKind.DECISION
    example: ClassVar[Mapping[str, object]] = {
        "title": "Use SQLite for storage",
        "rationale": "one file, no server",
        "owner": "ada",
        "date": "2026-11-15",
        "scope": "project",
    }

    title: Name = Field(description="What was decided, such as `Use SQLite for storage`.")
    rationale: LongText = Field(description="Why.")
    owner: Name = Field(description="Who decided.")
    date: Day = Field(description="YYYY-MM-DD")
    scope: Scope = Field(description=_SCOPE)
    confidence: Share = Field(default=1.0, description="How sure it is.")


class PatternModel(ArtifactModel):
    """A pattern."""

    kind = ArtifactKind.PATTERN
    example: ClassVar[Mapping[str, object]] = {
        "trigger": "a migration fails halfway",
        "repeatable_steps": ["restore the backup", "run it again with --verbose"],
        "scope": "project",
        "last_validated_at": None,
    }

    trigger: Line = Field(description="When it applies.")
    repeatable_steps: Lines = Field(description="What to do.")
    exclusions: Lines = Field(default_factory=list[str], description="When not to.")
    scope: Scope = Field(description=_SCOPE)
    last_validated_at: Time = Field(description="When it last worked; null: never tried.")


class ContextModel(ArtifactModel):
    """A context."""

    kind = ArtifactKind.CONTEXT
    example: ClassVar[Mapping[str, object]] = {
        "content": "Tokens live for 15 minutes.",
        "topic": "auth",
        "scope": "project",
    }

    content: LongText = Field(description="What to remember.")
    topic: Name = Field(description="What it is about, such as `auth`.")
    scope: Scope = Field(description=_SCOPE)
    relevance_score: Share = Field(default=1.0, description="How much it matters.")


class EntityModel(ArtifactModel):
    """An entity, with a fact about it."""

    kind = ArtifactKind.ENTITY
    example: ClassVar[Mapping[str, object]] = {
        "entity_name": "login",
        "fact": "is served by auth.py",
        "scope": "project",
    }

    entity_name: Name = Field(description="Its name, such as `login`.")
    fact: LongText = Field(description="What is true of it.")
    scope: Scope = Field(description=_SCOPE)


class ObservationModel(ArtifactModel):
    """An observation; only hooks create them."""

    kind = ArtifactKind.OBSERVATION

    type: ObservedType
    text: LongText
    scope: Scope = Field(description=_SCOPE)


ARTIFACTS: Mapping[ArtifactKind, type[ArtifactModel]] = {
    model.kind: model
    for model in (SessionModel, DecisionModel, PatternModel, ContextModel, EntityModel, ObservationModel)
}


def checked_content(kind: ArtifactKind, scope: MemoryScope, content: object) -> Mapping[str, object]:
    """Check the content of an exported artifact, and fill in its defaults.

    Raises:
        ArtifactError: the content breaks a rule.
    """
    model = ARTIFACTS[kind]
    given = (
        dict(cast("Mapping[str, object]", content)) if isinstance(content, Mapping) else dict[str, object]()
    )
    return model.read({**given, model.scope_field: scope.value}, kind.value).artifact().content
