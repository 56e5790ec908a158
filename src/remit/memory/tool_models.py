"""The memory tools as pydantic models: one model gives a tool its schema, its description and its checks."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, cast

from pydantic import ConfigDict, Field

from remit.errors import ArtifactError
from remit.memory.artifact_models import (
    ArtifactModel,
    ContextModel,
    DecisionModel,
    EntityModel,
    PatternModel,
    SessionModel,
)
from remit.memory.artifacts import Related
from remit.memory.checked_model import (
    ArtifactId,
    CheckedModel,
    Flag,
    Identifier,
    Kinds,
    Limit,
    Name,
    Properties,
    Query,
    RelationType,
    Scope,
    items,
)
from remit.memory.memory_scopes import MemoryScope
from remit.memory.value_checks import MAX_BATCH, MAX_RELATED
from remit.memory.writer import PlannedArtifact, WritePlan


class RelatedEntity(CheckedModel):
    """A relation from an entity to another node."""

    entity_id: Name = Field(description="The id of an artifact of this project, or the name of an entity.")
    relationship_type: RelationType = Field(description="How the entity is related to it.")
    properties: Properties = Field(default_factory=dict[str, object], description="Details of the relation.")

    def related(self) -> Related:
        """Make the relation."""
        return Related(target=self.entity_id, relation=self.relationship_type, properties=self.properties)


ProjectId = Annotated[
    Identifier | None, Field(description="The project's id, as the session context states it.")
]
Focus = Annotated[
    Identifier | None,
    Field(
        description="A focus area of the project, such as `auth-refactor`; a new one is created by saving."
    ),
]
Token = Annotated[
    ArtifactId | None,
    Field(description="The id of a person's approval of this very call; only for the scope `global`."),
]


class ToolArguments(CheckedModel):
    """The arguments of a tool; the docstring of each tool's model is the tool's description."""

    is_read_only: ClassVar[bool] = False
    is_destructive: ClassVar[bool] = False
    example: ClassVar[Mapping[str, object]] = {}

    # Optional for every tool: the scope gate answers calls without a project and says what to do.
    project_id: ProjectId = None


class WriteArguments(ToolArguments):
    """The arguments of a tool that saves."""

    focus: Focus = None
    governance_token: Token = None

    def parts(self) -> Sequence[PlannedArtifact]:
        """List the artifacts to save: by default, the one that an argument describes."""
        described = (given for _, given in self if isinstance(given, ArtifactModel))
        return [PlannedArtifact(artifact=each.artifact()) for each in described]

    def plan(self, tool: str) -> WritePlan:
        """Plan the write.

        Raises:
            ArtifactError: an artifact belongs to a focus area, but the call names none.
        """
        parts = self.parts()
        if self.focus is None and any(part.artifact.scope is MemoryScope.FOCUS for part in parts):
            raise ArtifactError("focus", "given, because the scope is `focus`", "missing")
        return WritePlan(
            tool=tool,
            project_id=self.project_id,
            focus=self.focus,
            token=self.governance_token,
            parts=parts,
            sizes=self.sizes(),
        )

    def sizes(self) -> tuple[int, int] | None:
        """Count the decisions and patterns of a batch; None for a single artifact."""
        return None


class GetScopeState(ToolArguments):
    """Tell whether a project, and a focus area of it, have a memory: resolved, uncertain or unresolved."""

    is_read_only = True

    focus: Focus = None


class SaveSession(WriteArguments):
    """Keep what a session was about. Creates the project when it has no memory yet: call this first."""

    example: ClassVar[Mapping[str, object]] = {"session": SessionModel.example}

    session: SessionModel = Field(description="The session.")


class SaveDecision(WriteArguments):
    """Keep a decision. A known one is skipped, one that says nearly the same replaces the old one, a similar
    one is held for review, and one that contradicts another is reported.
    """

    example: ClassVar[Mapping[str, object]] = {"decision": DecisionModel.example}

    decision: DecisionModel = Field(description="The decision.")
    supersedes: Annotated[list[ArtifactId], items(MAX_RELATED)] | None = Field(
        default=None,
        description="Ids of the decisions that this one replaces; [] keeps all that are like it.",
    )

    def parts(self) -> Sequence[PlannedArtifact]:
        """List the artifacts to save."""
        return [PlannedArtifact(artifact=self.decision.artifact(), supersedes=self.supersedes)]


class SavePattern(WriteArguments):
    """Keep what to do when something comes up again."""

    example: ClassVar[Mapping[str, object]] = {"pattern": PatternModel.example}

    pattern: PatternModel = Field(description="The pattern.")


class SaveContext(WriteArguments):
    """Keep something worth knowing."""

    example: ClassVar[Mapping[str, object]] = {"context": ContextModel.example}

    context: ContextModel = Field(description="The context.")


class UpsertEntity(WriteArguments):
    """Save a fact about a named thing and what it is related to; it replaces the earlier fact."""

    example: ClassVar[Mapping[str, object]] = {"entity": EntityModel.example}

    entity: EntityModel = Field(description="The entity.")
    related_entities: Annotated[list[RelatedEntity], items(MAX_RELATED)] | None = Field(
        default=None, description="What it is related to."
    )

    def parts(self) -> Sequence[PlannedArtifact]:
        """List the artifacts to save."""
        related = [each.related() for each in self.related_entities or ()]
        return [PlannedArtifact(artifact=self.entity.artifact(), related=related)]


class StoreSession(WriteArguments):
    """Keep a session with its decisions and patterns, all at once."""

    example: ClassVar[Mapping[str, object]] = {
        "session": SessionModel.example,
        "decisions": [DecisionModel.example],
        "patterns": [PatternModel.example],
    }

    session: SessionModel = Field(description="The session.")
    decisions: Annotated[list[DecisionModel], items(MAX_BATCH)] | None = Field(
        default=None, description="Its decisions."
    )
    patterns: Annotated[list[PatternModel], items(MAX_BATCH)] | None = Field(
        default=None, description="Its patterns."
    )

    def parts(self) -> Sequence[PlannedArtifact]:
        """List the artifacts to save."""
        saved = (self.session, *(self.decisions or ()), *(self.patterns or ()))
        return [PlannedArtifact(artifact=each.artifact()) for each in saved]

    def sizes(self) -> tuple[int, int] | None:
        """Count the decisions and patterns of a batch; None for a single artifact."""
        return len(self.decisions or ()), len(self.patterns or ())


class RetrieveContext(ToolArguments):
    """Recall what is kept, from a scope outward: focus, project, global. With a keyword, what answers it, by
    words and by meaning; else the newest.
    """

    is_read_only = True
    example: ClassVar[Mapping[str, object]] = {"scope": "project", "keyword": "storage"}

    scope: Scope = Field(description="Where to begin.")
    focus: Focus = None
    categories: Kinds | None = Field(default=None, description="Only these kinds.")
    keyword: Query | None = Field(default=None, description="What to look for, in your own words.")
    topic: Query | None = Field(default=None, description="The same as keyword.")


class MemorySurface(ToolArguments):
    """Search all of a project's memory, its focus areas and what is global for what answers a query."""

    is_read_only = True
    example: ClassVar[Mapping[str, object]] = {"query": "where do tokens live"}

    query: Query = Field(description="What to look for, in your own words.")
    limit: Limit | None = Field(default=None, description="The most artifacts to return.")


class RunHygiene(ToolArguments):
    """Look a project's memory through for what is stale, said twice, left hanging, held or never tried.
    Changes nothing.
    """

    is_read_only = True

    scope: Scope | None = Field(default=None, description="Only this scope.")
    check_pending_only: Flag | None = Field(default=None, description="Only what is held for review.")


class DeleteProject(ToolArguments):
    """Erase a project's memory for good, with its focus areas and all that belongs to them."""

    model_config = ConfigDict(json_schema_extra={"required": ["project_id"]})
    is_destructive = True


TOOL_MODELS: Mapping[str, type[ToolArguments]] = {
    "get_scope_state": GetScopeState,
    "save_session": SaveSession,
    "save_decision": SaveDecision,
    "save_pattern": SavePattern,
    "save_context": SaveContext,
    "upsert_entity_with_deps": UpsertEntity,
    "store_session_with_learnings": StoreSession,
    "retrieve_context": RetrieveContext,
    "memory_surface": MemorySurface,
    "run_hygiene": RunHygiene,
    "delete_project": DeleteProject,
}


def example_call(tool: str, project_id: str) -> str:
    """Write a valid call of a tool, to show to a model whose call failed."""
    given = {**TOOL_MODELS[tool].example, "project_id": project_id}
    return f"{tool}({json.dumps(given, ensure_ascii=False)})"


def plan(tool: str, arguments: Mapping[str, object]) -> WritePlan:
    """Check the arguments of a tool that saves, and plan the write.

    Raises:
        ArtifactError: the arguments break a rule.
    """
    model = cast("type[WriteArguments]", TOOL_MODELS[tool])
    return model.read(arguments).plan(tool)
